"""The same in words, a row a topic: who leads it, which copies are not in sync, and who reads it."""

from __future__ import annotations

from typing import NamedTuple

from console.rules.words import whole
from console.topology.chosen import PARTITIONS_MAX
from console.topology.model import TopicNode, Topology


class Amiss(NamedTuple):
    broker_id: int
    words: str
    level: str


class Row(NamedTuple):
    """`leads`: brokers with how many of its partitions they lead; `readers`: groups with their lag in words, `more_readers` those that are
    not shown. `is_part`: there are brokers or partitions that are not shown, so that what is not said may be so all the same."""

    topic: TopicNode
    leads: list[tuple[int, int]]
    amiss: list[Amiss]
    readers: list[tuple[str, str]]
    more_readers: int = 0
    is_part: bool = False


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
    return [_told(row, found) for row in rows.values()]


def _told(row: Row, found: Topology) -> Row:
    looked_at = PARTITIONS_MAX // len(found.topics)
    is_part = found.more_brokers > 0 or (found.focus or "").startswith("broker:") or (row.topic.partitions or 0) > looked_at
    return row._replace(more_readers=max(row.topic.groups - len(row.readers), 0), is_part=is_part)
