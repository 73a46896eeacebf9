"""What each data folder's checkpoints say of the logs in it: recovery points, high watermarks, log starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from broker_core.model import TopicPartition
from broker_core.storage.folder import names
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.log import PartitionLog
from broker_core.storage.placing import Placing

NAMES = (names.RECOVERY_POINT_CHECKPOINT, names.LOG_START_CHECKPOINT, names.REPLICATION_CHECKPOINT)
OffsetOf = Callable[[PartitionLog], int | None]


def _recovery_point(log: PartitionLog) -> int:
    return log.recovery.point


def _high_watermark(log: PartitionLog) -> int:
    return log.high_watermark


def _log_start(log: PartitionLog) -> int | None:
    """None where the first segment says it."""
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


class Checkpointing:
    """All of it raises `OSError` when the disk refuses; the old file stays then."""

    def __init__(self, placing: Placing) -> None:
        self._placing = placing

    async def recovery_points(self, folder: DataFolder) -> None:
        await self._write(folder, names.RECOVERY_POINT_CHECKPOINT, _recovery_point)

    async def high_watermarks(self, folder: DataFolder) -> None:
        await self._write(folder, names.REPLICATION_CHECKPOINT, _high_watermark)

    async def log_starts(self, folder: DataFolder) -> None:
        await self._write(folder, names.LOG_START_CHECKPOINT, _log_start)

    async def _write(self, folder: DataFolder, name: str, offset_of: OffsetOf) -> None:
        def offsets() -> Iterator[tuple[TopicPartition, int]]:
            for log in self._placing.inside(folder.path):
                offset = offset_of(log)
                if offset is not None:
                    yield log.topic_partition, offset

        await folder.write_checkpoint(name, offsets)

    @staticmethod
    def on_disk(folder: DataFolder, partition: TopicPartition) -> tuple[int | None, int | None, int | None]:
        """Recovery point, high watermark and log start of a log; None where a file does not name it."""
        return (
            folder.written(names.RECOVERY_POINT_CHECKPOINT, partition),
            folder.written(names.REPLICATION_CHECKPOINT, partition),
            folder.written(names.LOG_START_CHECKPOINT, partition),
        )
