"""One client's connection: a request frame in, the parts of its answer out (spec N1).

The listener reads frames, hands them in one at a time and writes what comes back; so a connection has one request in
flight, and a slow or broken one holds up nobody else.
"""

from __future__ import annotations

import logging

from broker_core.errors import CloseConnection, ProtocolViolation
from broker_core.handlers.registry import ANONYMOUS, ConnectionInfo
from broker_core.protocol.api import ApiKey
from broker_core.protocol.headers import RequestHeader, parse_request_header
from broker_core.seams import FileRange, Part, Peer
from broker_core.server.loop_time import LoopTime
from broker_core.server.pipeline import Pipeline, api_name
from broker_core.telemetry.metrics import ApiMetrics

log = logging.getLogger(__name__)

UNKNOWN = "Unknown"
"""Stands in the metrics for all vendor keys that nobody serves."""


class Connection:
    """The `FrameHandler` of one accepted connection, whose principal its listener says: nobody has to prove who it is."""

    def __init__(self, pipeline: Pipeline, listener: str, peer: Peer) -> None:
        self._pipeline = pipeline
        self._metrics = pipeline.services.metrics
        self._metrics.connections_total += 1
        self._metrics.connections += 1
        self._info = ConnectionInfo(self._metrics.connections_total, peer, listener, ANONYMOUS)
        self._handled: tuple[ApiMetrics, float, float] | None = None
        """The last answered request: its metrics, its milliseconds on the loop and those it waited for others."""

    async def handle(self, frame: memoryview) -> list[Part] | None:
        """The answer to one request; `ProtocolViolation` when there can be none."""
        try:
            header = parse_request_header(frame)
            return await self._measured(header, frame)
        except ProtocolViolation as error:
            self._metrics.protocol_violations += not isinstance(error, CloseConnection)
            log.warning("connection closed", extra={"peer": f"{self._info.peer.host}:{self._info.peer.port}", "reason": str(error)})
            raise

    def sent(self, waited_ms: float, sending_ms: float) -> None:
        """Counts the last request's stages: only now is the last of them known."""
        if self._handled is not None:
            api, local_ms, remote_ms = self._handled
            api.stages.observe(waited_ms, local_ms, remote_ms, sending_ms)

    def closed(self) -> None:
        self._metrics.connections -= 1

    async def _measured(self, header: RequestHeader, frame: memoryview) -> list[Part] | None:
        services = self._pipeline.services
        is_named = isinstance(header.api_key, ApiKey) or header.api_key in services.registry
        api = self._metrics.api(api_name(header.api_key) if is_named else UNKNOWN)
        clock = services.node.clock
        started_ms = clock.monotonic_ms()
        on_loop = LoopTime(clock.monotonic_ms)
        api.in_flight += 1
        try:
            answer = await on_loop.run(self._pipeline.answer(header, frame, self._info))
        except Exception:
            api.failures += 1
            raise
        finally:
            api.in_flight -= 1
        duration_ms = clock.monotonic_ms() - started_ms
        self._handled = api, on_loop.spent_ms, duration_ms - on_loop.spent_ms
        self._count(api, len(frame), answer, duration_ms)
        return answer

    def _count(self, api: ApiMetrics, bytes_in: int, answer: list[Part] | None, duration_ms: float) -> None:
        bytes_out = sum(part.length if isinstance(part, FileRange) else len(part) for part in answer or ())
        api.requests += 1
        api.bytes_in += bytes_in
        api.bytes_out += bytes_out
        api.latency.observe(duration_ms)
        self._metrics.bytes_in += bytes_in
        self._metrics.bytes_out += bytes_out
