"""One client's connection: a request frame in, the parts of its answer out (spec N1).

The listener reads frames, hands them in one at a time and writes what comes back, in their order; so a slow or broken connection
holds up nobody else.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable
from typing import Any

from broker_core.errors import CloseConnection, ProtocolViolation
from broker_core.handlers.registry import ANONYMOUS, ConnectionInfo, Later
from broker_core.protocol.api import ApiKey
from broker_core.protocol.deprecated import FIRST_KEPT
from broker_core.protocol.headers import RequestHeader, parse_request_header
from broker_core.quotas.toll import Toll
from broker_core.seams import FileRange, Part, Peer
from broker_core.server.loop_time import LoopTime
from broker_core.server.pipeline import Parts, Pipeline, api_name
from broker_core.telemetry.metrics import ApiMetrics, BrokerMetrics
from broker_core.telemetry.old_requests import NAME_CHARACTERS, Sender

log = logging.getLogger(__name__)

_PRODUCE = struct.pack(">h", ApiKey.PRODUCE)
UNKNOWN = "Unknown"
"""Stands in the metrics for all vendor keys that nobody serves."""


class Measured:
    """An exchange whose stages are counted once its answer has left."""

    __slots__ = ("_api", "_later", "_local_ms", "_metrics", "_monotonic_ms", "_parts", "_remote_ms", "_started_ms", "_toll")

    def __init__(self, metrics: BrokerMetrics, api: ApiMetrics, toll: Toll, monotonic_ms: Callable[[], float]) -> None:
        self._metrics = metrics
        self._api = api
        self._toll = toll
        self._monotonic_ms = monotonic_ms
        self._started_ms = monotonic_ms()
        self._local_ms = 0.0
        self._remote_ms = 0.0
        self._parts: list[Part] | None = None
        self._later: Later[list[Part]] | None = None

    @property
    def waits_for(self) -> asyncio.Future[Any] | None:
        return None if self._later is None else self._later.done

    @property
    def throttled_ms(self) -> int:
        return self._toll.throttled_ms

    def answer(self) -> list[Part] | None:
        later, self._later = self._later, None
        if later is not None:
            self._api.in_flight -= 1
            self._end(later.made())
        return self._parts

    def sent(self, waited_ms: float, sending_ms: float) -> None:
        self._api.stages.observe(waited_ms, self._local_ms, self._remote_ms, sending_ms)

    def handled(self, answer: Parts, local_ms: float) -> None:
        """`local_ms` it has been on the loop. While others are waited for it is in flight, until its answer is asked for."""
        self._local_ms = local_ms
        if isinstance(answer, Later):
            self._api.in_flight += 1
            self._later = answer
        else:
            self._end(answer)

    def _end(self, parts: list[Part] | None) -> None:
        duration_ms = self._monotonic_ms() - self._started_ms
        self._parts, self._remote_ms = parts, duration_ms - self._local_ms
        bytes_out = sum(part.length if isinstance(part, FileRange) else len(part) for part in parts or ())
        self._api.requests += 1
        self._api.bytes_out += bytes_out
        self._api.latency.observe(duration_ms)
        self._metrics.bytes_out += bytes_out


class Connection:
    """The `FrameHandler` of one accepted connection, whose principal its listener says: nobody has to prove who it is.

    Raises `ConnectionThrottled` where its address opens too many.
    """

    def __init__(self, pipeline: Pipeline, listener: str, peer: Peer) -> None:
        self._pipeline = pipeline
        now_ms = pipeline.services.node.clock.monotonic_ms()
        self._waits_until_ms = pipeline.services.quotas.opened(listener, peer.host, now_ms)
        self._is_waiting = self._waits_until_ms > now_ms
        self._metrics = pipeline.services.metrics
        self._metrics.connections_total += 1
        self._metrics.connections += 1
        self._info = ConnectionInfo(self._metrics.connections_total, peer, listener, ANONYMOUS)

    async def handle(self, frame: memoryview) -> Measured:
        """What becomes of one request; `ProtocolViolation` when there can be no answer."""
        if self._is_waiting:
            await self._its_turn()
        try:
            header = parse_request_header(frame)
            return await self._measured(header, frame)
        except ProtocolViolation as error:
            self._metrics.protocol_violations += not isinstance(error, CloseConnection)
            log.warning("connection closed", extra={"peer": f"{self._info.peer.host}:{self._info.peer.port}", "reason": str(error)})
            raise

    def may_follow(self, frame: memoryview) -> bool:
        """Produce alone may be begun behind a Produce that waits for its replicas: nothing else would see the same as after its answer.
        Where there are quotas its answer may tell the client to wait, so that none may."""
        return frame[:2] == _PRODUCE and not self._pipeline.services.quotas.is_set

    def closed(self) -> None:
        self._metrics.connections -= 1

    def _note_old(self, header: RequestHeader) -> None:
        info, client_id = self._info, header.client_id or ""
        sender = Sender(
            api_name(header.api_key), header.api_version, info.software_name, info.software_version, client_id[:NAME_CHARACTERS]
        )
        self._metrics.old_requests.note(sender, info.peer.host, self._pipeline.services.node.clock.now_ms())

    async def _its_turn(self) -> None:
        """More connections were opened than the broker may take at a time."""
        clock = self._pipeline.services.node.clock
        await clock.sleep(max(0.0, self._waits_until_ms - clock.monotonic_ms()))
        self._is_waiting = False

    async def _measured(self, header: RequestHeader, frame: memoryview) -> Measured:
        services = self._pipeline.services
        is_named = isinstance(header.api_key, ApiKey) or header.api_key in services.registry
        api = self._metrics.api(api_name(header.api_key) if is_named else UNKNOWN)
        monotonic_ms = services.node.clock.monotonic_ms
        on_loop = LoopTime(monotonic_ms)
        if header.api_version < FIRST_KEPT.get(header.api_key, 0):
            self._note_old(header)
        toll = self._pipeline.toll(header, self._info, on_loop.so_far_ms)
        measured = Measured(self._metrics, api, toll, monotonic_ms)
        api.in_flight += 1
        try:
            answer = await on_loop.run(self._pipeline.answer(header, frame, self._info, toll))
        except Exception:
            api.failures += 1
            raise
        finally:
            api.in_flight -= 1
        api.bytes_in += len(frame)
        self._metrics.bytes_in += len(frame)
        measured.handled(answer, on_loop.spent_ms)
        return measured
