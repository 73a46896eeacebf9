"""Records that are in a log and must not be acknowledged before they are on disk: what `flush.messages` asks for (spec S5).

Kafka flushes inside the append, so nobody hears of the append before that. Here a flush runs off the loop, and what it covers
is *held* meanwhile: the replica neither answers the producer nor counts towards the high watermark with it.

    … settled …│first            held            due│ appended since, not asked for … │log end
"""

from __future__ import annotations

import asyncio

from broker_core.errors import ErrorCode, KafkaError


class HeldRecords:
    """Exists from an append that asks for a flush until everything below `due` is flushed; `first` ≤ `due` ≤ the log's end."""

    __slots__ = ("_waiting", "due", "first", "flushing")

    def __init__(self, first: int, due: int) -> None:
        self.first = first
        self.due = due
        self.flushing = False
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def wait(self, end_offset: int) -> asyncio.Future[None]:
        """Done once nothing below `end_offset` is held; it raises what keeps that from coming true."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((end_offset, done))
        return done

    def release(self, end_offset: int) -> None:
        """Everything below the offset may be acknowledged."""
        self.first = max(self.first, end_offset)
        waiting, self._waiting = self._waiting, []
        for end, done in waiting:
            if end > end_offset:
                self._waiting.append((end, done))
            elif not done.done():
                done.set_result(None)

    def fail(self, error: KafkaError) -> None:
        """The flush failed: whoever waits is told, the records stay held."""
        waiting, self._waiting = self._waiting, []
        for _, done in waiting:
            if not done.done():
                done.set_exception(error)

    def take_over(self, other: HeldRecords) -> None:
        """Who waits for the same records in another copy of the log waits for them in this one."""
        self.first, self.due = min(self.first, other.first), max(self.due, other.due)
        self._waiting += other._waiting
        other._waiting = []

    def cut(self, end_offset: int) -> None:
        """The log was cut at the offset: what lay above will never be on disk."""
        self.first, self.due = min(self.first, end_offset), min(self.due, end_offset)
        waiting, self._waiting = self._waiting, []
        for end, done in waiting:
            if end <= end_offset:
                self._waiting.append((end, done))
            elif not done.done():
                done.set_exception(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"offset {end - 1} was cut off before it was flushed"))
