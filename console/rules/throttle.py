"""Throttled replication around a reassignment (KIP-73): what would be set, and what is left of it afterwards. Pure.

A rate in bytes a second is set on each broker that takes part, once for what it sends and once for what it fetches; it counts only for the
replicas that are listed on their topic: the present ones of a partition as senders, the added ones as fetchers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

LEADER_RATE, FOLLOWER_RATE = RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
SENDERS, FETCHERS = LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
EVERY = "*"


def wanted(rows: Iterable[Mapping[str, Any]], online: Collection[int]) -> dict[str, Any]:
    """`{brokers: [id], topics: {topic: {setting: [partition:broker]}}}` for the rows {topic, partition, from, to} that copy something."""
    brokers: set[int] = set()
    topics: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        added = [b for b in row["to"] if b not in row["from"]]
        if added:
            brokers |= {*row["from"], *row["to"]} & set(online)
            lists = topics.setdefault(row["topic"], {SENDERS: [], FETCHERS: []})
            lists[SENDERS] += [f"{row['partition']}:{b}" for b in row["from"]]
            lists[FETCHERS] += [f"{row['partition']}:{b}" for b in added]
    return {"brokers": sorted(brokers), "topics": topics}


def joined(present: str | None, entries: Sequence[str]) -> str:
    """The list with the entries in it, each once; one that names every replica stays as it is."""
    now = _items(present)
    return ",".join(now if EVERY in now else dict.fromkeys([*now, *entries]))


def without(present: str | None, entries: Collection[str]) -> str | None:
    """The list without the entries; None where nothing else is in it, so that the setting goes too."""
    return ",".join(item for item in _items(present) if item not in entries) or None


def _items(text: str | None) -> list[str]:
    return [item for item in (text or "").split(",") if item]


def least_seconds(rows: Iterable[Mapping[str, Any]], rate: int) -> float | None:
    """No copying can take less: of the broker that sends or fetches most, at that rate. None while a size is not known."""
    sent, fetched = Counter[int](), Counter[int]()
    for row in rows:
        if row["copy_bytes"] is None:
            return None
        for broker in row["adding"]:
            fetched[broker] += row["copy_bytes"] // len(row["adding"])
        sent[row["leader"]] += row["copy_bytes"]
    return max([0, *sent.values(), *fetched.values()]) / rate
