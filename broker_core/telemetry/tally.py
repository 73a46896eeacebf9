"""What all hosted partitions come to together, kept without walking over all of them for each answer.

Each partition's part is counted anew when it tells that it changed. What changes without a word (a compaction makes a log
smaller) is found by a round over all parts, a few at each question.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct

from broker_core.model import TopicPartition
from broker_core.replication.partition import Partition

ROUND_PARTS_PER_LOOK = 64
"""Parts that are counted anew at each look though nothing was told of them."""


class Part(Struct, frozen=True, gc=False):
    """What one partition adds; `log_bytes` is 0 without a log."""

    leads: bool
    under_replicated: bool
    under_min_isr: bool
    log_bytes: int


NOTHING = Part(False, False, False, 0)


class Tally:
    """Sums over the partitions that `hosted` gives; `changed` is to be called for each that changed, came or went."""

    def __init__(self, hosted: Callable[[TopicPartition], Partition | None], known: Iterable[TopicPartition] = ()) -> None:
        self.leaders = 0
        self.under_replicated = 0
        self.under_min_isr = 0
        self.log_bytes = 0
        self._hosted = hosted
        self._parts: dict[TopicPartition, Part] = {}
        self._round: deque[TopicPartition] = deque()
        self._changed: dict[TopicPartition, None] = dict.fromkeys(known)

    def changed(self, tp: TopicPartition) -> None:
        self._changed[tp] = None

    def look(self) -> None:
        """Brings the sums up to date."""
        changed, self._changed = self._changed, {}
        for tp in changed:
            self._count(tp)
        for _ in range(min(ROUND_PARTS_PER_LOOK, len(self._round))):
            tp = self._round.popleft()
            if self._count(tp):
                self._round.append(tp)

    def _count(self, tp: TopicPartition) -> bool:
        """Whether the partition is here."""
        partition = self._hosted(tp)
        before = self._parts.get(tp)
        if partition is None:
            self._parts.pop(tp, None)
        else:
            self._parts[tp] = _part_of(partition)
            if before is None:
                self._round.append(tp)
        self._add(self._parts.get(tp, NOTHING), before or NOTHING)
        return partition is not None

    def _add(self, now: Part, before: Part) -> None:
        self.leaders += now.leads - before.leads
        self.under_replicated += now.under_replicated - before.under_replicated
        self.under_min_isr += now.under_min_isr - before.under_min_isr
        self.log_bytes += now.log_bytes - before.log_bytes


def _part_of(partition: Partition) -> Part:
    size_bytes = 0 if partition.log is None else partition.log.segments.size_bytes
    return Part(partition.is_leader, partition.under_replicated, partition.under_min_isr, size_bytes)
