"""The controller's way to the brokers: for each an ordered queue, one request on its way at a time, retried until it is gone.

A lane belongs to one generation (broker epoch) of one broker; a broker that comes back gets a new one, and what waited for
the old generation is dropped, as the new one is told everything from the start.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from broker_core.controller.channels.requests import ControlRequest
from broker_core.model import BrokerInfo
from broker_core.seams import Clock, Spawn

log = logging.getLogger(__name__)

RETRY_MS = 100
QUEUE_LIMIT = 10_000
ROOM = 3
"""Requests in a lane up to which more work may be begun: a slice of a creation or deletion is told in as many at most."""


class ControlSender(Protocol):
    """Delivers requests to brokers: over the network in a broker (`sender`), by hand in tests."""

    async def send(self, info: BrokerInfo, request: ControlRequest) -> Any:
        """The decoded response; `ConnectionError` or `TimeoutError` when none came."""
        ...

    def hang_up(self, info: BrokerInfo) -> None:
        """This generation of the broker gets nothing more."""
        ...


class ControllerChannelManager:
    """One term's lanes; `on_response` and `on_overflow` are called on the loop."""

    def __init__(
        self,
        clock: Clock,
        spawn: Spawn,
        sender: ControlSender,
        on_response: Callable[[ControlRequest, Any], None],
        on_overflow: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._spawn = spawn
        self._sender = sender
        self._on_response = on_response
        self._on_overflow = on_overflow
        self._lanes: dict[int, _Lane] = {}
        self._ended = False

    def open(self, info: BrokerInfo) -> None:
        """A lane to this generation of the broker; one to an earlier generation is closed. None after the end: the event in whose
        midst the term ended goes on to the store's next answer."""
        if self._ended:
            return
        self.close(info.broker_id)
        lane = _Lane(info)
        lane.task = self._spawn(self._work(lane), name=f"control requests to broker {info.broker_id}")
        self._lanes[info.broker_id] = lane

    def close(self, broker_id: int) -> None:
        lane = self._lanes.pop(broker_id, None)
        if lane is not None and lane.task is not None:
            lane.closed = True
            lane.task.cancel()
            self._sender.hang_up(lane.info)

    def close_all(self) -> None:
        self._ended = True
        for broker_id in list(self._lanes):
            self.close(broker_id)

    def send(self, requests: Iterable[ControlRequest]) -> None:
        """Queues requests; those to brokers or generations without a lane are dropped."""
        for request in requests:
            lane = self._lanes.get(request.broker_id)
            if lane is None or lane.info.epoch != request.broker_epoch:
                continue
            if len(lane.queue) >= QUEUE_LIMIT:
                self.close(request.broker_id)
                self._on_overflow(request.broker_id)
                continue
            lane.queue.append(request)
            lane.filled.set()

    def waiting(self) -> dict[int, int]:
        """Requests queued or on their way, by broker."""
        return {broker_id: len(lane.queue) for broker_id, lane in sorted(self._lanes.items())}

    def has_room(self) -> bool:
        """Whether every broker has carried out most of what it was sent. One that cannot be asked, or did not answer in time, holds up
        no work that others wait for."""
        return all(len(lane.queue) <= ROOM or lane.failing for lane in self._lanes.values())

    async def _work(self, lane: _Lane) -> None:
        """Until it is cancelled, or closed: where the hang-up's error has come first, it is that which the task is told."""
        while not lane.closed:
            while not lane.queue:
                lane.filled.clear()
                await lane.filled.wait()
            request = lane.queue[0]
            try:
                response = await self._sender.send(lane.info, request)
            except (ConnectionError, TimeoutError) as error:
                await self._wait_to_retry(lane, request, error)
                continue
            lane.failing = False
            lane.queue.popleft()
            self._on_response(request, response)

    async def _wait_to_retry(self, lane: _Lane, request: ControlRequest, error: Exception) -> None:
        if lane.closed:
            return
        if not lane.failing:
            log.warning("Broker %d does not answer, request %d is retried: %s", lane.info.broker_id, request.api_key, error)
        lane.failing = True
        await self._clock.sleep(RETRY_MS)


class _Lane:
    """Requests for one generation of one broker, the first of them on its way."""

    __slots__ = ("closed", "failing", "filled", "info", "queue", "task")

    def __init__(self, info: BrokerInfo) -> None:
        self.info = info
        self.queue: deque[ControlRequest] = deque()
        self.filled = asyncio.Event()
        self.failing = False
        self.closed = False
        self.task: asyncio.Task[None] | None = None
