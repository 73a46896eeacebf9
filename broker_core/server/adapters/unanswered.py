"""The exchanges of one connection whose answers have not left yet, in the order of their requests (spec N1, P1).

What waits for other brokers holds up the answers behind it, not the requests: a producer's next batches are in the log, and on
their way to the followers with one fetch, while the first one's acknowledgement is still out. Kafka begins no request of a
connection before the last one is answered; a client cannot tell, since answers keep their order, but by how long it waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker_core.seams import Exchange

UNANSWERED_MAX = 64
"""What one connection may have begun and not answered: a small struct each, as their frames are not kept."""


class Unanswered(NamedTuple):
    """`waited_ms`: see `Exchange.sent`."""

    exchange: Exchange
    waited_ms: float


class AnswerLine:
    """`leave` is told of those who may leave, all that may at once; also of those whose connection has gone meanwhile, as they count as
    waiting until they are asked for their answers."""

    def __init__(self, leave: Callable[[Sequence[Unanswered]], None]) -> None:
        self._leave = leave
        self._line: deque[Unanswered] = deque()
        self._emptied: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def count(self) -> int:
        return len(self._line)

    @property
    def full(self) -> bool:
        return len(self._line) >= UNANSWERED_MAX

    def add(self, one: Unanswered) -> None:
        """At the end; it leaves as soon as its answer is there and all before it have left."""
        self._line.append(one)
        awaited = one.exchange.waits_for
        if awaited is not None:
            awaited.add_done_callback(self._look)
        elif len(self._line) == 1:
            self._look()

    async def emptied(self) -> None:
        """Once all have left, or the line was closed; for one at a time."""
        while self._line and not self._closed:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    def close(self) -> None:
        """The connection is gone: nobody waits until all have left."""
        self._closed = True
        self._tell()

    def _look(self, _: object = None) -> None:
        leaving: list[Unanswered] = []
        while self._line and _is_done(self._line[0].exchange):
            leaving.append(self._line.popleft())
        if leaving:
            self._leave(leaving)
        if not self._line:
            self._tell()

    def _tell(self) -> None:
        emptied, self._emptied = self._emptied, None
        if emptied is not None and not emptied.done():
            emptied.set_result(None)


def _is_done(exchange: Exchange) -> bool:
    awaited = exchange.waits_for
    return awaited is None or awaited.done()
