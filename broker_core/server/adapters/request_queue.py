"""How many requests have been read and not begun, over all connections (`queued.max.requests`).

Kafka's network threads stop reading while the queue to its handler threads is full. Here one loop reads in one turn and
begins in the next what it read, so the queue holds the frames that are complete and whose handling has not begun. As in
Kafka, a request in a purgatory is not in it, nor is what a client sent behind an unanswered request: nothing in the queue
waits for anything but the loop, so a full one cannot keep out the request that would empty it. What the limit saves is
memory: frames that come in one read are not held back by the memory budget, however many sockets are ready in a turn.

While the queue is full, a connection with something to read takes one byte, the least a transport takes (so a frame that
lacked just this byte is one too many), and pauses. Each turn as many go on as there is room for, in the order they came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class RequestQueue:
    """`full` says that nothing more may be read now; `pauses` counts the connections that stopped reading for it."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self.size = 0
        self.full = False
        self.pauses = 0
        self._limit = limit
        self._waiting: deque[Callable[[], None]] = deque()

    def enter(self) -> None:
        """A frame is complete."""
        self.size += 1
        self.full = self.size >= self._limit()

    def leave(self) -> None:
        """Its handling begins."""
        self.size -= 1
        self.full = False

    def wait(self, go_on: Callable[[], None]) -> None:
        """Calls `go_on` once, in a later turn of the loop, when there is room."""
        self.pauses += 1
        self._waiting.append(go_on)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._let_go_on)

    def _let_go_on(self) -> None:
        for _ in range(min(len(self._waiting), self._limit() - self.size)):
            self._waiting.popleft()()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._let_go_on)
