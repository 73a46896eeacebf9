"""Where each log of a broker is: by partition, and by data folder.

A partition has one log, and while it moves to another folder a future one there, which takes the place of the first once it has all
that the first has (KIP-113). So a folder has at most one log of a partition, of either kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker_core.model import TopicPartition
from broker_core.storage.log import PartitionLog

PREFERRED_MAX = 10_000


class Placing:
    """`current` and `future` logs by partition."""

    def __init__(self) -> None:
        self.current: dict[TopicPartition, PartitionLog] = {}
        self.future: dict[TopicPartition, PartitionLog] = {}
        self._by_folder: dict[str, dict[TopicPartition, PartitionLog]] = {}
        self._preferred: dict[TopicPartition, str] = {}

    def put(self, log: PartitionLog, *, future: bool) -> None:
        (self.future if future else self.current)[log.topic_partition] = log
        self._by_folder.setdefault(log.data_folder, {})[log.topic_partition] = log

    def drop(self, log: PartitionLog) -> None:
        tp = log.topic_partition
        for logs in (self.current, self.future, self._by_folder.get(log.data_folder, {})):
            if logs.get(tp) is log:
                del logs[tp]

    def promote(self, future: PartitionLog) -> None:
        """The future log is the partition's log from now on."""
        self.drop(self.current[future.topic_partition])
        del self.future[future.topic_partition]
        self.current[future.topic_partition] = future

    def inside(self, folder: str) -> list[PartitionLog]:
        """The logs in a data folder, future ones too."""
        return list(self._by_folder.get(folder, {}).values())

    def count(self, folder: str) -> int:
        return len(self._by_folder.get(folder, ()))

    def every(self) -> Iterator[PartitionLog]:
        """Current ones, then future ones, by partition."""
        for logs in (self.current, self.future):
            yield from [logs[partition] for partition in sorted(logs)]

    def prefer(self, tp: TopicPartition, folder: str) -> None:
        """Where the partition's log is to be made, should it come to that; of too many wishes the oldest are forgotten."""
        self._preferred.pop(tp, None)
        self._preferred[tp] = folder
        if len(self._preferred) > PREFERRED_MAX:
            del self._preferred[next(iter(self._preferred))]

    def preferred(self, tp: TopicPartition) -> str | None:
        return self._preferred.get(tp)

    def satisfied(self, tp: TopicPartition) -> None:
        """The log is made: the wish has done its service."""
        self._preferred.pop(tp, None)
