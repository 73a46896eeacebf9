"""One of a broker's data folders as a whole: whose it is, how it was left, whether it serves, and the checkpoints of all its logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from broker_core.errors import CorruptData
from broker_core.model import TopicPartition
from broker_core.seams import Node
from broker_core.storage.folder import names
from broker_core.storage.folder.checkpoints import (
    CHECKPOINT_LIMIT_BYTES,
    check_meta_properties,
    decode_offsets,
    encode_clean_shutdown,
    encode_meta_properties,
    encode_offsets,
)
from broker_core.storage.folder.headroom import Headroom
from broker_core.storage.folder.log_dir import LogDir
from broker_core.storage.slices import Slices, in_slices

logger = logging.getLogger(__name__)

META_LIMIT_BYTES = 64 * 1024


class DataFolder:
    """Small files at the top of the folder; a checkpoint is written only when it has changed."""

    def __init__(self, node: Node, path: str) -> None:
        self._node = node
        self._disk = node.disk
        self.path = path
        self.state = LogDir(path, node.clock)
        self.headroom = Headroom()
        self.lost: int | None = None
        """How many logs it had when it went offline; None where it was at the start."""
        self._writing = asyncio.Lock()
        """One checkpoint at a time: whoever asks returns when the offsets as they were at its turn are on disk, never older ones."""
        self._written: dict[str, Mapping[TopicPartition, int]] = {}
        self.current_ms: dict[str, float] = {}
        """When (monotonic) each checkpoint was last seen to be as it should; `Upkeep` begins it."""

    @property
    def abandoned(self) -> bool:
        """Offline: what is known of the logs is not to be written over any more."""
        return self.state.failure is not None

    async def claim(self, broker_id: int, cluster_id: str) -> None:
        """Makes the folder this broker's; `ConfigError` when it is another broker's, cluster's or format's."""
        self._disk.make_dirs(self.path)
        path = f"{self.path}/{names.META_PROPERTIES}"
        if self._disk.exists(path):
            check_meta_properties(self._disk.read_bytes(path, limit_bytes=META_LIMIT_BYTES), path, broker_id, cluster_id)
        else:
            await self._disk.write_atomic(path, encode_meta_properties(broker_id, cluster_id))

    def take_clean_mark(self) -> bool:
        """Whether the last stop was clean. The mark goes before any log is opened: a crash while loading is not clean (KAFKA-10471)."""
        path = f"{self.path}/{names.CLEAN_SHUTDOWN}"
        if not self._disk.exists(path):
            return False
        self._disk.remove_now(path)
        return True

    async def leave_clean_mark(self, broker_epoch: int) -> None:
        await self._disk.write_atomic(f"{self.path}/{names.CLEAN_SHUTDOWN}", encode_clean_shutdown(broker_epoch))

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """A checkpoint's offsets; none where the file is missing or unreadable (the logs are then checked from their start)."""
        path = f"{self.path}/{name}"
        if not self._disk.exists(path):
            return {}
        try:
            offsets = decode_offsets(self._disk.read_bytes(path, limit_bytes=CHECKPOINT_LIMIT_BYTES), path)
        except CorruptData as error:
            logger.warning("checkpoint is unreadable, going on without it", extra={"file": path, "error": str(error)})
            return {}
        self._written[name] = dict(offsets)
        return offsets

    def written(self, name: str, partition: TopicPartition) -> int | None:
        """What the checkpoint says of a log on disk; None where it does not name it."""
        return self._written.get(name, {}).get(partition)

    async def write_checkpoint(self, name: str, offsets: Callable[[], Iterable[tuple[TopicPartition, int]]]) -> None:
        """Writes what `offsets` gives when it is this call's turn; `OSError` when the disk refuses, the old file stays then.

        Of ten thousand logs it takes a tenth of a second, so others have their turns meanwhile.
        """
        async with self._writing:
            if self.abandoned:
                return
            slices = Slices(self._node)
            found: dict[TopicPartition, int] = {}
            for partition, offset in offsets():
                found[partition] = offset
                await slices.breathe()
            if self._written.get(name) != found and not self.abandoned:
                await self._disk.write_atomic(f"{self.path}/{name}", await in_slices(self._node, encode_offsets(found)))
                self._written[name] = found
            self.current_ms[name] = self._node.clock.monotonic_ms()

    async def forget(self, name: str, gone: Collection[TopicPartition]) -> None:
        """Writes the checkpoint as it was written last, without these partitions, if it has any of them; `OSError` when the disk refuses.

        Nobody has to be asked about the others: a topic's ten thousand partitions are forgotten a hundred at a time. `gone` is looked
        at when it is this call's turn.
        """
        async with self._writing:
            written = self._written.get(name, {})
            found = [partition for partition in gone if partition in written]
            if self.abandoned or not found:
                return
            left = dict(written)
            for partition in found:
                del left[partition]
            await self._disk.write_atomic(f"{self.path}/{name}", await in_slices(self._node, encode_offsets(left)))
            self._written[name] = left
