"""The controller's bounded inbox, with the times events waited in it."""

from __future__ import annotations

import asyncio
from collections import deque

from broker_core.controller.events import Answered, Call, Event
from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Clock

CALLS_LIMIT = 1_000
"""Calls waiting at once. Other events need no limit of their own: "look again" waits once, brokers answer one by one."""

WAITS_KEPT = 256


class Inbox:
    """First in, first out; an event that is waiting already is not added again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queue: deque[tuple[Event, float]] = deque()
        self._waiting: set[Event] = set()
        self._calls = 0
        self._filled = asyncio.Event()
        self._waits_ms: deque[float] = deque(maxlen=WAITS_KEPT)

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, event: Event) -> None:
        """Raises `KafkaError` REQUEST_TIMED_OUT for a call that finds too many before it."""
        if isinstance(event, Call):
            if self._calls >= CALLS_LIMIT:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"The controller has {self._calls} requests waiting.")
            self._calls += 1
        elif not isinstance(event, Answered):
            if event in self._waiting:
                return
            self._waiting.add(event)
        self._queue.append((event, self._clock.monotonic_ms()))
        self._filled.set()

    async def get(self) -> Event:
        while not self._queue:
            self._filled.clear()
            await self._filled.wait()
        event, put_ms = self._queue.popleft()
        self._waiting.discard(event)
        self._calls -= isinstance(event, Call)
        self._waits_ms.append(self._clock.monotonic_ms() - put_ms)
        return event

    def drain(self) -> list[Event]:
        """Takes out all that is waiting."""
        events = [event for event, _ in self._queue]
        self._queue.clear()
        self._waiting.clear()
        self._calls = 0
        return events

    def longest_wait_ms(self) -> float:
        """Of the last events."""
        return max(self._waits_ms, default=0.0)
