"""The health report: eight numbered checks over a cluster's facts, and what changed since the last one.

1. offline partitions   2. under min ISR   3. under-replicated   4. leader imbalance   5. group lag   6. "no loss" settings (spec O2)
7. data folders: offline, filling up, nearly full (disk.py has the thresholds)
8. clients of our own
A check is {id, title, level, sentence, items}; its items are sentences that stay the same while the finding does, so that
two reports can be compared by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.contract.groups import Group
from broker_core.contract.live import Broker, SilentClient
from broker_core.contract.partitions import Partition, PartitionState, Topic
from console.rules import disk, imbalance, no_loss
from console.rules.partitions import OFFLINE, UNDER_MIN_ISR, UNDER_REPLICATED, UNKNOWN, partition_sentence
from console.rules.verdict import LEVELS
from console.rules.words import whole

ITEMS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """What is judged: partitions that are not safe, brokers that run, topics that are not being deleted."""

    trouble: Sequence[Partition] = ()
    brokers: Sequence[Broker] = ()
    topics: Sequence[Topic] = ()
    groups: Sequence[Group] = ()
    clients: Sequence[SilentClient] = ()


def report(facts: Facts) -> dict[str, Any]:
    trouble = facts.trouble
    leaders, preferred = ({b.broker_id: getattr(b, name) or 0 for b in facts.brokers} for name in ("leaders", "preferred"))
    checks = [
        _partitions("offline", "Partitions without a leader", OFFLINE, "bad", trouble),
        _partitions("under_min_isr", "Partitions under min ISR", UNDER_MIN_ISR, "bad", trouble),
        _partitions("under_replicated", "Under-replicated partitions", UNDER_REPLICATED, "warn", trouble),
        _partitions("unknown", "Partitions of unknown state", UNKNOWN, "warn", trouble),
        _check("leader_imbalance", "Leader balance", "notice", imbalance.leader_findings(leaders, preferred)),
        _lag(facts.groups),
        _check("no_loss", "Settings against loss", "notice", no_loss.findings(facts.topics, _acks(facts.brokers))),
        _folders(facts.brokers),
        _check("clients", "Clients of our own", "warn", [f"The client {c.doing} gets nothing done." for c in facts.clients]),
    ]
    level = max((check["level"] for check in checks), key=LEVELS.index)
    return {"level": level, "sentence": _sentence(checks), "checks": checks}


def _check(identity: str, title: str, level: str, items: Sequence[str]) -> dict[str, Any]:
    said = "Nothing found." if not items else f"{whole(len(items))} found."
    if len(items) > ITEMS_LIMIT:
        said = f"{whole(len(items))} found; the first {ITEMS_LIMIT} are listed."
    return {"id": identity, "title": title, "level": level if items else "ok", "sentence": said, "items": list(items)[:ITEMS_LIMIT]}


def _partitions(identity: str, title: str, state: PartitionState, level: str, trouble: Iterable[Partition]) -> dict[str, Any]:
    return _check(identity, title, level, [partition_sentence(one) for one in trouble if one.state == state])


def _lag(groups: Iterable[Group]) -> dict[str, Any]:
    return _check("lag", "Group lag", "warn", [f"Group {g.group} is behind." for g in groups if g.attention])


def _acks(online: Iterable[Broker]) -> Mapping[str, int]:
    """Requests to produce by their acks, on all brokers together."""
    return sum((Counter(broker.produce_by_acks or {}) for broker in online), Counter[str]())


def _folders(online: Sequence[Broker]) -> dict[str, Any]:
    found = disk.report_items(online)
    level = max((level for level, _ in found), key=LEVELS.index, default="ok")
    return _check("data_folders", "Data folders", level, [sentence for _, sentence in found])


def _sentence(checks: Sequence[Mapping[str, Any]]) -> str:
    found = [check["title"].lower() for check in checks if check["level"] != "ok"]
    return "All checks are clean." if not found else "Look at: " + ", ".join(found) + "."


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Items that are new and items that are gone since the report before (none before: nothing changed)."""
    if before is None:
        return {"new": [], "gone": []}
    old, new = _items(before), _items(after)
    return {"new": [i for i in new if i not in old], "gone": [i for i in old if i not in new]}


def _items(report_: Mapping[str, Any]) -> dict[str, None]:
    return {item: None for check in report_["checks"] for item in check["items"]}
