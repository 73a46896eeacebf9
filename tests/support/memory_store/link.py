"""How messages travel between a client of the in-memory store and its ensemble."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from broker_core.seams import Clock


class Link(Protocol):
    """Carries calls between one client and the ensemble; each direction keeps their order."""

    def to_server(self, callback: Callable[..., None], *args: object) -> None: ...

    def to_client(self, callback: Callable[..., None], *args: object) -> None: ...


class LoopLink:
    """The running loop as a link; `delay_ms` holds messages sent from now on for that long (needs a clock)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._queues: tuple[deque[Callable[[], None]], deque[Callable[[], None]]] = (deque(), deque())
        self.delay_ms = 0.0

    def to_server(self, callback: Callable[..., None], *args: object) -> None:
        self._send(self._queues[0], callback, args)

    def to_client(self, callback: Callable[..., None], *args: object) -> None:
        self._send(self._queues[1], callback, args)

    def _send(self, queue: deque[Callable[[], None]], callback: Callable[..., None], args: tuple[object, ...]) -> None:
        """Each turn takes the oldest message, whichever timer brought it up: that keeps the order."""
        queue.append(partial(callback, *args))
        if self.delay_ms > 0 and self._clock is not None:
            self._clock.call_later(self.delay_ms, _take_turn, queue)
        else:
            asyncio.get_running_loop().call_soon(_take_turn, queue)


def _take_turn(queue: deque[Callable[[], None]]) -> None:
    queue.popleft()()
