"""A group's committed offsets: the cache, commits still on their way into the log, and what has expired. Pure.

Invariant: the cache holds, for every partition, the commit with the highest offset of its record in `__consumer_offsets`, so that
it equals what a reload of the compacted log would give. A commit is `pending` from its append until its replicas have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from broker_core.groups.records import OffsetCommit
from broker_core.model import TopicPartition


class Committed(NamedTuple):
    """A commit and the base offset of the batch that holds its record."""

    record_offset: int
    commit: OffsetCommit


class GroupOffsets:
    def __init__(self) -> None:
        self._committed: dict[str, dict[int, Committed]] = {}
        self._pending: dict[TopicPartition, OffsetCommit] = {}
        self._open_transactions: dict[int, dict[TopicPartition, Committed]] = {}

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self._committed.values())

    def __iter__(self) -> Iterator[tuple[TopicPartition, Committed]]:
        for topic, partitions in self._committed.items():
            for partition, committed in partitions.items():
                yield TopicPartition(topic, partition), committed

    @property
    def topics(self) -> list[str]:
        """All topics with an offset, committed, on its way into the log or in a transaction."""
        return list(dict.fromkeys([*self._committed, *(tp.topic for tp in (*self._pending, *self._staged()))]))

    def having(self, topics: Iterable[str]) -> set[str]:
        """Those of the topics with an offset, committed, on its way into the log or in a transaction."""
        pending = {tp.topic for tp in (*self._pending, *self._staged())}
        return {topic for topic in topics if topic in self._committed or topic in pending}

    def _staged(self) -> Iterator[TopicPartition]:
        return (tp for commits in self._open_transactions.values() for tp in commits)

    def get(self, tp: TopicPartition) -> OffsetCommit | None:
        committed = self._committed.get(tp.topic, {}).get(tp.partition)
        return None if committed is None else committed.commit

    def is_unstable(self, tp: TopicPartition) -> bool:
        """Whether a commit for this partition may still turn out either way (OffsetFetch with `require_stable`)."""
        return tp in self._pending or any(tp in commits for commits in self._open_transactions.values())

    def load(self, tp: TopicPartition, committed: Committed) -> None:
        self._committed.setdefault(tp.topic, {})[tp.partition] = committed

    @property
    def producers(self) -> list[int]:
        """The producers with commits in a transaction that has not ended."""
        return list(self._open_transactions)

    def stage(self, producer_id: int, commits: Mapping[TopicPartition, Committed]) -> None:
        """Commits in a transaction, whose records are in the log and whose marker is not; the later record of a partition counts."""
        self._open_transactions.setdefault(producer_id, {}).update(commits)

    def end_transaction(self, producer_id: int, *, commit: bool) -> list[TopicPartition]:
        """The marker is in the log: what was staged counts, or never did. Returns its partitions."""
        staged = self._open_transactions.pop(producer_id, {})
        for tp, committed in staged.items() if commit else ():
            current = self._committed.get(tp.topic, {}).get(tp.partition)
            if current is None or current.record_offset < committed.record_offset:
                self.load(tp, committed)
        return list(staged)

    def prepare(self, commits: Mapping[TopicPartition, OffsetCommit]) -> None:
        """The commits have been appended and wait for their replicas."""
        self._pending.update(commits)

    def succeeded(self, tp: TopicPartition, commit: OffsetCommit, record_offset: int) -> None:
        """A commit is replicated. One that was removed meanwhile stays removed; an older record never replaces a newer one."""
        if tp not in self._pending:
            return
        current = self._committed.get(tp.topic, {}).get(tp.partition)
        if current is None or current.record_offset < record_offset:
            self.load(tp, Committed(record_offset, commit))
        self.failed(tp, commit)

    def failed(self, tp: TopicPartition, commit: OffsetCommit) -> None:
        """The commit is no longer pending, unless a later one for this partition is."""
        if self._pending.get(tp) == commit:
            del self._pending[tp]

    def known(self) -> list[TopicPartition]:
        """All partitions with an offset, committed or on its way into the log."""
        return list(dict.fromkeys([*(tp for tp, _ in self), *self._pending]))

    def has_only(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether no other partition than these has an offset, committed, pending or in a transaction."""
        given = dict.fromkeys(partitions)
        return all(tp in given for tp in (*self.known(), *self._staged()))

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Forgets these partitions' offsets, those of commits under way included."""
        for tp in partitions:
            self._pending.pop(tp, None)
            for commits in self._open_transactions.values():
                commits.pop(tp, None)
            self._forget(tp)

    def _forget(self, tp: TopicPartition) -> None:
        of_topic = self._committed.get(tp.topic, {})
        of_topic.pop(tp.partition, None)
        if not of_topic:
            self._committed.pop(tp.topic, None)

    def expirable(
        self, retention_ms: int, since_ms: Callable[[OffsetCommit], int], kept_topics: frozenset[str]
    ) -> Iterator[tuple[TopicPartition, int]]:
        """Partitions whose offset may expire, with the time it does: its own, or `retention_ms` after `since_ms`."""
        for tp, (_, commit) in self:
            if tp.topic not in kept_topics and tp not in self._pending:
                yield tp, since_ms(commit) + retention_ms if commit.expire_ms is None else commit.expire_ms
