"""One log's recovery point: records below it survive a power loss, so only those above are checked after one.

It moves by flushes, of which several may run at once (a roll's, a periodic one, one that `flush.messages` asks for). No lock and
no owner keep them apart, for each stands for itself: after its wait the point goes to what this flush has covered or stays
where another has brought it, never back. Only a cut takes it back, and a flush that was under way then counts for nothing
(`truncations`): its bytes may be gone, and others stand at the same offsets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from broker_core.errors import KafkaError
from broker_core.seams import Node
from broker_core.storage.held_records import HeldRecords
from broker_core.storage.log_health import LogHealth
from broker_core.storage.segments.segment_store import SegmentStore
from broker_core.storage.side_files import SideFiles


class RecoveryPoint:
    """`log_end` gives the log's end at the time of asking."""

    __slots__ = (
        "_health",
        "_held",
        "_log_end",
        "_node",
        "_side_files",
        "_store",
        "_successor",
        "last_flush_ms",
        "lowest_cut",
        "on_save",
        "on_settled",
        "point",
        "truncations",
    )

    def __init__(
        self, point: int, node: Node, health: LogHealth, *, store: SegmentStore, side_files: SideFiles, log_end: Callable[[], int]
    ) -> None:
        self.point = point
        self._node = node
        self._health = health
        self._store = store
        self._side_files = side_files
        self._log_end = log_end
        self._held: HeldRecords | None = None
        self._successor: RecoveryPoint | None = None
        self.last_flush_ms = node.clock.now_ms()
        self.truncations = 0
        """How often records were cut off the log's end: what was read before the last time may not be in the log."""
        self.lowest_cut: int | None = None
        """Where the log was cut, at the lowest, since whoever copies it has looked (`take_cut`)."""
        self.on_save: Callable[[], Awaitable[None]] | None = None
        """Awaited when the point must be written down at once: after a truncation and before a compaction."""
        self.on_settled: Callable[[], None] | None = None
        """Called when the settled offset has moved without an append: a flush that was waited for is done."""

    @property
    def settled_offset(self) -> int:
        """The end of what this replica may acknowledge: the log's end, but for records that `flush.messages` wants flushed first."""
        return self._log_end() if self._held is None else self._held.first

    def has_settled(self, end_offset: int) -> bool:
        """Whether everything below `end_offset`, which is at most the log's end, may be acknowledged."""
        return self._held is None or end_offset <= self._held.first

    async def flush(self, up_to: int | None = None) -> None:
        """Makes all records below `up_to` (the log's end) survive a power loss and moves the recovery point there."""
        if not self._health.closed:
            await self._flush(self._log_end() if up_to is None else min(up_to, self._log_end()))

    async def _flush(self, target: int) -> None:
        if target <= self.point:
            return
        truncations, was_closed = self.truncations, self._health.closed
        try:
            # Epochs and producer snapshots go first: a start trusts what lies below the recovery point without a look, so what
            # belongs to those records must not be younger on disk than they are. A crash in between only leaves more than needed.
            await self._side_files.write()
            await self._store.sync(self.point, target)
        except OSError as error:
            if self._health.closed and not was_closed:
                return  # the files were taken away under this flush, which nobody waits for any more
            raise self._health.failed(error, "flush") from error
        if truncations == self.truncations:
            self.point = max(self.point, target)
            self.last_flush_ms = self._node.clock.now_ms()
            self._release_held()

    def is_due(self, now_ms: int, flush_ms: int) -> bool:
        """Whether `flush.ms` is over and anything is unflushed."""
        return self._log_end() > self.point and now_ms - self.last_flush_ms >= flush_ms

    async def settle(self, end_offset: int) -> None:
        """Returns once everything below `end_offset` is as durable as `flush.messages` asks: only then may it be acknowledged.

        `KafkaError` KAFKA_STORAGE_ERROR when the flush fails, NOT_LEADER_OR_FOLLOWER when the records were cut off meanwhile.
        """
        if self._successor is not None:
            return await self._successor.settle(end_offset)
        if self._held is None or end_offset <= self._held.first:
            return
        self._health.check_writable()
        self.flush_held()
        await self._held.wait(end_offset)

    def appended(self, first_offset: int, flush_messages: int) -> None:
        """After an append at `first_offset`: flushes once `flush_messages` records are unflushed and in no flush that was asked for."""
        end, held = self._log_end(), self._held
        covered = self.point if held is None else max(self.point, held.due)
        if end - covered < flush_messages:
            return
        if held is None:
            self._held = HeldRecords(first_offset, end)
        else:
            held.due = end
        self.flush_held()

    def flush_held(self) -> None:
        """Starts to flush what is held unless that is under way: one flush at a time takes along what came since the last began."""
        if self._held is not None and not self._held.flushing:
            self._held.flushing = True
            self._node.spawn(self._keep_flushing(self._held), name=f"flush {self._health.partition}")

    async def _keep_flushing(self, held: HeldRecords) -> None:
        try:
            while self._held is held and not self._health.closed:
                await self._flush(self._log_end())
        except KafkaError as error:
            held.fail(error)
        finally:
            held.flushing = False

    def _release_held(self) -> None:
        """After a flush or a cut: lets go of what the recovery point has passed, and tells the owner."""
        held = self._held
        if held is None:
            return
        if held.due <= self.point:
            self._held = None
        held.release(self._log_end() if self._held is None else self.point)
        if self.on_settled is not None:
            self.on_settled()

    def cut(self, end_offset: int) -> None:
        """The log has just been cut to end here: flushes under way count for nothing, whoever waits for what is gone is told."""
        self.truncations += 1
        self.lowest_cut = end_offset if self.lowest_cut is None else min(self.lowest_cut, end_offset)
        self.point = min(self.point, end_offset)
        if self._held is not None:
            self._held.cut(end_offset)
            self._release_held()

    def take_cut(self) -> int | None:
        """The lowest offset that the log was cut at since the last call; None where it was not."""
        cut, self.lowest_cut = self.lowest_cut, None
        return cut

    def take_over(self, other: RecoveryPoint) -> None:
        """This log takes the place of its copy `other`, which is given up: who waits for a flush there waits for this one's."""
        held, other._held, other._successor = other._held, None, self
        if held is None:
            return
        if self.point < self._log_end():
            self._held = self._held or HeldRecords(held.first, self._log_end())
            self._held.take_over(held)
            self.flush_held()
            return
        held.release(self._log_end())
        if self.on_settled is not None:
            self.on_settled()

    async def save(self) -> None:
        """Has the owner write the recovery point down now."""
        if self.on_save is not None:
            await self.on_save()

    async def flush_last(self) -> None:
        """`flush`, of a log that is being closed and takes no more."""
        await self._flush(self._log_end())

    def abandon(self, why: str) -> None:
        """Nothing is flushed any more: whoever waits for that is told why."""
        if self._held is not None:
            self._held.fail(self._health.refusal(why))

    def let_go(self) -> None:
        """Of the log, whose end stands now, and of its owner: a deleted log goes at once then, without a garbage collection."""
        end = self._log_end()
        self._log_end = lambda: end
        self.on_save = self.on_settled = None
