"""The files beside a log's segments: epoch checkpoint, producer snapshots, topic id."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

from broker_core.storage.folder import names
from broker_core.storage.folder.checkpoints import decode_epochs, encode_epochs, encode_partition_metadata
from broker_core.storage.folder.files import LogFolder
from broker_core.storage.leader_epoch_cache import LeaderEpochCache
from broker_core.storage.log_health import LogHealth
from broker_core.storage.producer_snapshot import encode_snapshot
from broker_core.storage.producer_state import ProducerStateManager
from broker_core.storage.recovery import snapshot_offsets


class SideFiles:
    """Writes them one at a time; `OSError` when the disk refuses, and then it is tried again at the next call.

    A lock, not an owner task, keeps the writes apart: they are rare (a new epoch, a roll, a cut), logs are many, and whoever
    writes has to hear how it went. Each takes the newest state when its turn comes, so their order does not matter.
    """

    __slots__ = ("_folder", "_health", "_lock", "_snapshots_due", "epochs", "latest_snapshot")

    def __init__(self, folder: LogFolder, epochs: LeaderEpochCache, health: LogHealth) -> None:
        self._folder = folder
        self._health = health
        self._lock: asyncio.Lock | None = None
        self._snapshots_due: dict[int, bytes] | None = None
        self.epochs = epochs
        self.latest_snapshot = max(snapshot_offsets(folder), default=0)

    def snapshot(self, state: ProducerStateManager) -> None:
        """Takes the producer state at its end, once for an offset; it is written with the next `write`.

        None is taken at 0: no producer has written yet, and thousands of empty logs are to close fast.
        """
        if state.end_offset <= self.latest_snapshot:
            return
        self._snapshots_due = {**(self._snapshots_due or {}), state.end_offset: encode_snapshot(state.entries.values())}
        self.latest_snapshot = state.end_offset

    @contextlib.asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """None of these files is being written meanwhile: their folder may be renamed."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            yield

    async def write(self) -> None:
        """Writes what is behind, durably."""
        if not self.epochs.dirty and not self._snapshots_due and self._lock is None:
            return
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            await self._write_epochs()
            await self._write_snapshots()

    async def save(self) -> None:
        """`write`, with a failure reported as the log's: `KafkaError` KAFKA_STORAGE_ERROR."""
        try:
            await self.write()
        except OSError as error:
            if not self._health.closed:
                raise self._health.failed(error, "checkpoint") from error

    async def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Notes that a leader epoch begins; durable when it returns, and only then may the epoch's first request be served."""
        self.epochs.assign(epoch, start_offset)
        await self.save()

    def read_epochs(self, limit_bytes: int) -> list[tuple[int, int]] | None:
        """The epoch checkpoint as it is on disk; None while there is none. `OSError` when it is longer than the limit, `CorruptData`."""
        path = f"{self._folder.path}/{names.EPOCH_CHECKPOINT}"
        disk = self._folder.node.disk
        return decode_epochs(disk.read_bytes(path, limit_bytes=limit_bytes), path) if disk.exists(path) else None

    async def _write_epochs(self) -> None:
        while self.epochs.dirty:
            self.epochs.dirty = False
            try:
                await self._folder.node.disk.write_atomic(
                    f"{self._folder.path}/{names.EPOCH_CHECKPOINT}", encode_epochs(self.epochs.entries)
                )
            except OSError:
                self.epochs.dirty = True
                raise

    async def _write_snapshots(self) -> None:
        while self._snapshots_due:
            offset, data = next(iter(self._snapshots_due.items()))
            await self._folder.node.disk.write_atomic(names.segment_path(self._folder.path, offset, names.SNAPSHOT), data)
            if self._snapshots_due:
                self._snapshots_due.pop(offset, None)

    async def drop_snapshots(self, low: int, high: int | None = None) -> None:
        """Removes the snapshots in [low, high), without an upper bound where `high` is None."""
        if self._snapshots_due:
            self._snapshots_due = {at: data for at, data in self._snapshots_due.items() if at < low or (high is not None and at >= high)}
        async with self._lock or contextlib.nullcontext():  # one that is being written goes as well
            gone = [at for at in snapshot_offsets(self._folder) if at >= low and (high is None or at < high)]
            for offset in gone:
                await self._folder.node.disk.remove(names.segment_path(self._folder.path, offset, names.SNAPSHOT))
        self.latest_snapshot = max([*snapshot_offsets(self._folder), *(self._snapshots_due or ())], default=0)

    async def write_topic_id(self, topic_id: uuid.UUID) -> None:
        await self._folder.node.disk.write_atomic(f"{self._folder.path}/{names.PARTITION_METADATA}", encode_partition_metadata(topic_id))
