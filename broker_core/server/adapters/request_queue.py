"""Whose requests are begun next, and how many may be read and not begun, over all connections (`queued.max.requests`).

Kafka's network threads stop reading while the queue to its handler threads is full. Here one loop reads and begins what it has
read, as far as that is not too much for one of its turns: the queue holds the complete frames whose handling has not begun. As in
Kafka, a request in a purgatory is not in it, nor is what a client sent behind an unanswered request: nothing in the queue
waits for anything but the loop, so a full one cannot keep out the request that would empty it. What the limit saves is
memory: frames that come in one read are not held back by the memory budget, however many sockets are ready in a turn.

A connection stands in the line once, with its next frame, and serves a few when it is its turn (`turn.py`). At most
`TURNS_AT_ONCE` connections begin in one turn of the loop, so timers and sockets are looked at however long the line is;
listeners take turns, and on each of them whoever came first is first. Where nobody waits a connection begins in the callback that
read its frame; one that has had its turn and goes on always comes after the others that are there.

While the queue is full, or others wait for room, a connection with something to read takes one byte, the least a transport
takes (so a frame that lacked just this byte is one too many), and pauses. Each turn as many go on as there is room for, in
the same order; one that finds the room taken goes first the next time. A connection that goes on with what it sent ahead
needs no room, since that has been read: it could not keep those out who have nothing in the queue yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker_core.server.adapters.fair_line import FairLine

TURNS_AT_ONCE = 16
"""Times a turn's milliseconds and one request, this is the longest that a turn of the loop takes for them."""

Callback = Callable[[], None]


class RequestQueue:
    """`full` says that nobody may read now, `pauses` counts the connections that stopped reading for it or for those before
    them, `yields` the turns that ended with requests left. `group` is a connection's listener."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self.size = 0
        self.full = False
        self.pauses = 0
        self.yields = 0
        self._limit = limit
        self._limit_seen = 0
        self._called = 0
        """How many since the line was last called; that may be more than one turn of the loop ago."""
        self._calls = False
        self._line: FairLine[Callback] = FairLine()
        self._readers: FairLine[Callback] = FairLine()

    # Turns.

    def enter(self, group: object, begin: Callback, *, new: bool) -> None:
        """A frame is complete, a new one or (not `new`) one sent ahead that the last turn left. `begin` is called once, now or in a
        later turn of the loop; that the handling begins is told by `begun`."""
        if new:
            self.size += 1
            self._limit_seen = self._limit()
            self.full = self.size >= self._limit_seen
        else:
            self.yields += 1
        if new and self._called < TURNS_AT_ONCE and not self._line.count:
            self._called += 1
            begin()
            return
        self._line.add(group, begin)
        if not self._calls:
            self._calls = True
            asyncio.get_running_loop().call_soon(self._call)

    def begun(self, *, new: bool) -> None:
        """The handling of such a frame begins."""
        if new:
            self.size -= 1
            self.full = self.size >= self._limit_seen

    def _call(self) -> None:
        """Those in the line, in a turn of their own."""
        self._called = 0
        while self._line.count and self._called < TURNS_AT_ONCE:
            self._called += 1
            self._line.take()()
        self._calls = self._line.count > 0
        if self._calls:
            asyncio.get_running_loop().call_soon(self._call)

    # Room.

    def may_read(self, *, was_let_on: bool) -> bool:
        """Whether a connection may read, which `was_let_on` if it has stood in line for this."""
        return not self.full and (was_let_on or not self._readers.count)

    def wait(self, group: object, go_on: Callback, *, first: bool) -> None:
        """Calls `go_on` once, in a later turn of the loop, when there is room; `first` for one that was let on and found none."""
        self.pauses += 1
        (self._readers.add_first if first else self._readers.add)(group, go_on)
        if self._readers.count == 1:
            asyncio.get_running_loop().call_soon(self._let_go_on)

    def _let_go_on(self) -> None:
        for _ in range(min(self._readers.count, self._limit() - self.size)):
            self._readers.take()()
        if self._readers.count:
            asyncio.get_running_loop().call_soon(self._let_go_on)
