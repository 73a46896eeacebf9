"""One client's connection: a request frame in, the parts of its answer out (spec N1).

The listener reads frames, hands them in one at a time and writes what comes back; so a connection has one request in
flight, and a slow or broken one holds up nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker_core.errors import CloseConnection, ErrorCode, ProtocolViolation
from broker_core.handlers import api_versions
from broker_core.handlers.registry import Answer, ApiHandler, ConnectionInfo, Request
from broker_core.handlers.services import BrokerServices
from broker_core.protocol.api import CONTROL_KEYS, VENDOR_KEY_MIN, ApiKey
from broker_core.protocol.codec import decode_request, encode_response
from broker_core.protocol.headers import RequestHeader, parse_request_header, response_header
from broker_core.seams import FileRange, Part
from broker_core.server.loop_time import LoopTime
from broker_core.server.strangers import Strangers
from broker_core.telemetry.metrics import ApiMetrics, BrokerMetrics

log = logging.getLogger(__name__)

UNKNOWN = "Unknown"
"""Stands in the metrics for all vendor keys that nobody serves."""


class Connection:
    """The `FrameHandler` of one accepted connection."""

    def __init__(
        self,
        services: BrokerServices,
        info: ConnectionInfo,
        metrics: BrokerMetrics,
        strangers: Strangers,
        on_closed: Callable[[], None],
    ) -> None:
        self._services = services
        self._strangers = strangers
        self._info = info
        self._metrics = metrics
        self._on_closed = on_closed
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
        self._on_closed()

    async def _measured(self, header: RequestHeader, frame: memoryview) -> list[Part] | None:
        is_named = isinstance(header.api_key, ApiKey) or header.api_key in self._services.registry
        api = self._metrics.api(_api_name(header.api_key) if is_named else UNKNOWN)
        clock = self._services.node.clock
        started_ms = clock.monotonic_ms()
        on_loop = LoopTime(clock.monotonic_ms)
        api.in_flight += 1
        try:
            answer = await on_loop.run(self._answer(header, frame))
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

    async def _answer(self, header: RequestHeader, frame: memoryview) -> list[Part] | None:
        self._info.client_id = header.client_id
        if header.api_key in CONTROL_KEYS:
            self._strangers.note(ApiKey(header.api_key), header.client_id, self._info.peer, self._services.feed.add_event)
        entry = self._services.registry.find(header.api_key, header.api_version)
        if entry is None:
            return self._unsupported(header)
        body = _body(header, frame)
        answer = await self._run(entry, Request(header, body, header.api_version, self._services, self._info))
        if answer is None or isinstance(answer, list):
            return answer
        encoded = encode_response(header.api_key, header.api_version, answer)
        return [response_header(header.api_key, header.api_version, header.correlation_id), encoded]

    async def _run(self, entry: ApiHandler, request: Request) -> Answer:
        try:
            return await entry(request)
        except ProtocolViolation:
            raise
        except Exception as error:
            log.exception("request failed unexpectedly", extra={"api": _api_name(entry.key), "client": request.client_id})
            raise CloseConnection(f"{_api_name(entry.key)} failed unexpectedly: {type(error).__name__}") from error

    def _unsupported(self, header: RequestHeader) -> list[Part]:
        """ApiVersions of any version is answered (KIP-511); everything else unknown ends the connection, as in Kafka."""
        if header.api_key != ApiKey.API_VERSIONS:
            raise ProtocolViolation(f"{_api_name(header.api_key)} version {header.api_version} is not served")
        payload = api_versions.payload(self._services.registry, ErrorCode.UNSUPPORTED_VERSION)
        return [response_header(ApiKey.API_VERSIONS, 0, header.correlation_id), encode_response(ApiKey.API_VERSIONS, 0, payload)]


def _body(header: RequestHeader, frame: memoryview) -> object:
    if header.api_key >= VENDOR_KEY_MIN:
        return frame[header.body_offset :]
    return decode_request(header.api_key, header.api_version, frame, header.body_offset)


def _api_name(key: int) -> str:
    return "".join(part.capitalize() for part in key.name.split("_")) if isinstance(key, ApiKey) else f"Vendor{int(key)}"
