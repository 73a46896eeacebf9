"""The same in words, a row a topic: who leads it, which copies are not in sync, and who reads it."""

from __future__ import annotations

from typing import NamedTuple

from console.rules.words import whole
from console.topology.model import TopicNode, Topology


class Amiss(NamedTuple):
    broker_id: int
    words: str
    level: str


class Row(NamedTuple):
    """`leads`: brokers with how many of its partitions they lead; `readers`: groups with their lag in words."""

    topic: TopicNode
    leads: list[tuple[int, int]]
    amiss: list[Amiss]
    readers: list[tuple[str, str]]


def table(found: Topology) -> list[Row]:
    rows = {one.topic: Row(one, [], [], []) for one in found.topics}
    for stands in found.stands:
        row = rows[stands.topic]
        if stands.leads:
            row.leads.append((stands.broker_id, stands.leads))
        wrong = (("out of sync", stands.out_of_sync, "warn"), ("not there", stands.absent, "bad"))
        row.amiss.extend(Amiss(stands.broker_id, f"{whole(count)} {words}", level) for words, count, level in wrong if count)
    for reads in found.reads:
        rows[reads.topic].readers.append((reads.group, "lag unknown" if reads.lag is None else f"{whole(reads.lag)} behind"))
    for row in rows.values():
        row.leads.sort()
        row.amiss.sort()
    return list(rows.values())
