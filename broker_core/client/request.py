"""One connection to a broker: requests go out in order, answers come back in order.

States: new → connecting → open → closed, never back: who wants to go on after a failure makes a new channel (`ChannelPool`
does). Connecting starts with the first request. Every failure, a late answer included, closes the channel and fails all
requests on their way with `ConnectionError`, because none of them can be matched any more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from broker_core.errors import ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame, parse_response_header
from broker_core.seams import FrameConnection, Node, TimerHandle

MAX_IN_FLIGHT = 64
"""Requests that may be on their way on one connection; further ones wait."""

CONNECT_TIMEOUT_MS = 10_000
TIMER_MS = 1.0
"""The least that a channel's timer is set for: one that is called a little early is not set again for no time at all."""
MAX_CORRELATION_ID = (1 << 31) - 1


class _InFlight(Struct, frozen=True):
    correlation_id: int
    answer: asyncio.Future[memoryview]
    timeout_ms: float
    deadline_ms: float


class BrokerChannel:
    """Speaks to one broker. `client_id` is what its request log and quotas see."""

    def __init__(
        self,
        node: Node,
        host: str,
        port: int,
        client_id: str,
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        connect_timeout_ms: float = CONNECT_TIMEOUT_MS,
    ) -> None:
        self.host = host
        self.port = port
        self._node = node
        self._client_id = client_id
        self._max_in_flight = max_in_flight
        self._connect_timeout_ms = connect_timeout_ms
        self._connection: FrameConnection | None = None
        self._started = False
        self._opened = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._over = asyncio.Event()
        self._failure: str | None = None
        self._in_flight: deque[_InFlight] = deque()
        self._next_correlation_id = 0
        self._timer: TimerHandle | None = None
        self._timer_ms = 0.0

    @property
    def closed(self) -> bool:
        return self._failure is not None

    async def request(self, api_key: int, version: int, payload: Mapping[str, Any], timeout_ms: float) -> Any:
        """The decoded response. `ConnectionError` or `TimeoutError` when none came, `ProtocolViolation` for bytes that are none."""

        def build(correlation_id: int) -> bytes:
            return encode_request_frame(api_key, version, correlation_id, self._client_id, payload)

        frame = await self.request_raw(build, timeout_ms)
        try:
            return decode_response(api_key, version, frame, parse_response_header(api_key, version, frame)[1])
        except ProtocolViolation as error:
            self._close(f"unreadable answer: {error}")
            raise

    async def connect(self, timeout_ms: float) -> None:
        """Returns once a request could be sent; `ConnectionError` or `TimeoutError` when that is not to be."""
        await self._wait_for_room(self._node.clock.monotonic_ms() + timeout_ms)

    async def request_raw(self, build: Callable[[int], bytes], timeout_ms: float) -> memoryview:
        """The response frame, header included, to the request frame that `build` makes from a correlation id.

        The time runs from the call, so it covers connecting and waiting for room as well.
        """
        deadline_ms = self._node.clock.monotonic_ms() + timeout_ms
        if self._failure is not None or not self._opened.is_set() or len(self._in_flight) >= self._max_in_flight:
            await self._wait_for_room(deadline_ms)
        correlation_id = self._next_correlation_id
        self._next_correlation_id = 0 if correlation_id == MAX_CORRELATION_ID else correlation_id + 1
        waiting = _InFlight(correlation_id, asyncio.get_running_loop().create_future(), timeout_ms, deadline_ms)
        self._send(build(correlation_id), waiting)
        if self._timer is None or deadline_ms < self._timer_ms:
            self._set_timer(deadline_ms)
        return await waiting.answer

    async def api_versions(self, timeout_ms: float = CONNECT_TIMEOUT_MS) -> dict[int, tuple[int, int]]:
        """What the broker serves: (lowest, highest) version by key."""
        answer = await self.request(ApiKey.API_VERSIONS, 0, {}, timeout_ms)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def close(self) -> None:
        """Ends the connection; requests on their way fail with `ConnectionError`."""
        self._close("closed by this side")

    async def _wait_for_room(self, deadline_ms: float) -> None:
        self._raise_if_closed()
        if not self._started:
            self._started = True
            self._node.spawn(self._run(), name=f"channel to {self.host}:{self.port}")
        while not self._opened.is_set() or len(self._in_flight) >= self._max_in_flight:
            try:
                await self._node.clock.wait_for(self._until_room(), self._left_ms(deadline_ms))
            except TimeoutError:
                raise TimeoutError(f"{self.host}:{self.port} took no request in time") from None
        self._raise_if_closed()

    async def _until_room(self) -> None:
        await self._opened.wait()
        while len(self._in_flight) >= self._max_in_flight:
            self._room.clear()
            await self._room.wait()

    def _left_ms(self, deadline_ms: float) -> float:
        return max(0.0, deadline_ms - self._node.clock.monotonic_ms())

    def _send(self, frame: bytes, waiting: _InFlight) -> None:
        self._raise_if_closed()
        assert self._connection is not None
        try:
            self._connection.send(frame)
        except ConnectionError as error:
            self._close(str(error))
            raise
        self._in_flight.append(waiting)

    async def _run(self) -> None:
        """Connects, then has each answer handed to the oldest request on its way, until the channel is closed."""
        try:
            connection = await self._node.network.connect(self.host, self.port, timeout_ms=self._connect_timeout_ms)
            if self.closed:
                connection.close()
                return
            self._connection = connection
            self._opened.set()
            connection.hand_on(self._answered, self._close)
            await self._over.wait()
        except (ConnectionError, TimeoutError) as error:
            self._close(str(error) or type(error).__name__)
        finally:
            self._close("the broker is shutting down")

    def _set_timer(self, due_ms: float) -> None:
        """One timer for all that is on its way: answers as a rule come long before their time, and none is made and ended for each."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due_ms
        self._timer = self._node.clock.call_later(max(TIMER_MS, self._left_ms(due_ms)), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now_ms = self._node.clock.monotonic_ms()
        awaited = [waiting for waiting in self._in_flight if not waiting.answer.done()]
        late = [waiting for waiting in awaited if waiting.deadline_ms <= now_ms]
        for waiting in late:
            told = f"{self.host}:{self.port} did not answer within {waiting.timeout_ms:.0f} ms"
            waiting.answer.set_exception(TimeoutError(told))
        if late:
            self._close(f"no answer within {late[0].timeout_ms:.0f} ms")
        elif awaited:
            self._set_timer(min(waiting.deadline_ms for waiting in awaited))

    def _answered(self, frame: bytes | memoryview) -> None:
        try:
            correlation_id = int.from_bytes(frame[:4], "big", signed=True)
            expected = self._in_flight.popleft()
        except IndexError:
            self._close("an answer that nobody asked for")
            return
        if len(self._in_flight) + 1 >= self._max_in_flight:
            self._room.set()
        if len(frame) < 4 or correlation_id != expected.correlation_id:
            self._in_flight.appendleft(expected)
            self._close(f"answer {correlation_id} came where {expected.correlation_id} was due")
        elif not expected.answer.done():
            expected.answer.set_result(memoryview(frame))

    def _close(self, reason: str) -> None:
        if self.closed:
            return
        self._failure = reason
        if self._timer is not None:
            self._timer.cancel()
        if self._connection is not None:
            self._connection.close()
        while self._in_flight:
            answer = self._in_flight.popleft().answer
            if not answer.done():
                answer.set_exception(ConnectionError(self._describe_failure()))
        self._opened.set()
        self._room.set()
        self._over.set()

    def _raise_if_closed(self) -> None:
        if self.closed:
            raise ConnectionError(self._describe_failure())

    def _describe_failure(self) -> str:
        return f"channel to {self.host}:{self.port}: {self._failure}"
