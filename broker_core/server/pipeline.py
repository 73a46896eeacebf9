"""The way of every request, a stage after the other; all of them see the one `Request`.

authenticate  when a connection is accepted: who comes by this listener (`connection.py`)
admit         while a frame arrives: its bytes have room in the memory budget, its turn in the queue (`adapters/`)
authorize     its principal may do what the key's handler needs, and this broker is the one to serve it
handle        the handler of the key; a `KafkaError` from here or before is told in a whole answer (`handlers/refusal.py`)
throttle      what its client's quotas make of it: how long the client is to wait before its next request (`quotas/toll.py`). The answer
              tells it and leaves at once; its connection takes nothing more for that time (`adapters/server_connection.py`)
respond       the answer with that time as the parts of a frame, which the listener's transport sends (`adapters/response_writer.py`)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, partial

from broker_core.errors import CloseConnection, ErrorCode, KafkaError, ProtocolViolation
from broker_core.handlers import api_versions
from broker_core.handlers.access import Authorizer
from broker_core.handlers.refusal import refused
from broker_core.handlers.registry import Answer, ApiHandler, ConnectionInfo, Later, Request, Scope
from broker_core.handlers.services import BrokerServices
from broker_core.protocol.api import CONTROL_KEYS, VENDOR_KEY_MIN, ApiKey
from broker_core.protocol.codec import decode_request, encode_response
from broker_core.protocol.headers import RequestHeader, response_header
from broker_core.quotas.toll import FREE, Toll
from broker_core.seams import Part
from broker_core.server.strangers import Strangers

log = logging.getLogger(__name__)

UNTHROTTLED_MS = 0
BROKERS_KEYS = CONTROL_KEYS | {ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_PARTITION}
"""Are exempt from quotas, as they are in Kafka."""

MANY_NAMES_BYTES = 32 << 10
"""A request from this size on is decoded beside the loop: 10 000 partitions in UpdateMetadata take 100 ms of CPU. Of Produce the bytes
are records, which are not decoded here."""


Parts = list[Part] | Later[list[Part]] | None
"""Of an answer, now or once others have done their part; None where no answer is due."""


class Pipeline:
    """Of one broker, for the connections of all its listeners."""

    def __init__(self, services: BrokerServices, authorizer: Authorizer, strangers: Strangers) -> None:
        self.services = services
        self._authorizer = authorizer
        self._strangers = strangers

    def toll(self, header: RequestHeader, connection: ConnectionInfo, spent_ms: Callable[[], float]) -> Toll:
        """What the request costs its client, given how long it has been on the loop."""
        services = self.services
        if not services.quotas.is_set or header.api_key in BROKERS_KEYS or header.api_key >= VENDOR_KEY_MIN:
            return FREE
        return services.quotas.toll(connection.principal, header.client_id, services.node.clock.monotonic_ms, spent_ms)

    async def answer(self, header: RequestHeader, frame: memoryview, connection: ConnectionInfo, toll: Toll = FREE) -> Parts:
        """The answer to one request; `ProtocolViolation` when there can be none."""
        entry = self.services.registry.find(header.api_key, header.api_version)
        if entry is None:
            return self._unsupported(header)
        request = Request(header, await self._body(header, frame), header.api_version, self.services, connection, toll)
        answer = await self._handled(entry, request)
        return respond(header, answer, UNTHROTTLED_MS) if toll.is_free else _throttled(request, answer, len(frame))

    async def _body(self, header: RequestHeader, frame: memoryview) -> object:
        if header.api_key >= VENDOR_KEY_MIN:
            return frame[header.body_offset :]
        decode = partial(decode_request, header.api_key, header.api_version, frame, header.body_offset)
        if len(frame) < MANY_NAMES_BYTES or header.api_key == ApiKey.PRODUCE:
            return decode()
        return await self.services.node.aside(partial(decode, beside_the_loop=True))

    async def _handled(self, entry: ApiHandler, request: Request) -> Answer:
        try:
            self._authorize(entry, request)
            return await entry(request)
        except KafkaError as error:
            return refused(request, error)
        except ProtocolViolation:
            raise
        except Exception as error:
            log.exception("request failed unexpectedly", extra={"api": api_name(entry.key), "client": request.client_id})
            raise CloseConnection(f"{api_name(entry.key)} failed unexpectedly: {type(error).__name__}") from error

    def _authorize(self, entry: ApiHandler, request: Request) -> None:
        if entry.key in CONTROL_KEYS:
            self._strangers.note(ApiKey(entry.key), request.client_id, request.connection.peer, self.services.feed.add_event)
        denied = self._authorizer.denied(request, entry.needs)
        if denied is not None:
            raise KafkaError(denied.resource.value)
        if entry.scope is Scope.CLUSTER and not self.services.controller.is_active:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, f"broker {self.services.broker_id} is not the controller")

    def _unsupported(self, header: RequestHeader) -> Parts:
        """ApiVersions of any version is answered (KIP-511); everything else unknown ends the connection, as in Kafka."""
        if header.api_key != ApiKey.API_VERSIONS:
            raise ProtocolViolation(f"{api_name(header.api_key)} version {header.api_version} is not served")
        payload = api_versions.payload(self.services.registry, ErrorCode.UNSUPPORTED_VERSION)
        return respond(header._replace(api_version=0), payload, UNTHROTTLED_MS)


def _throttled(request: Request, answer: Answer, frame_bytes: int) -> Parts:
    """The answer's parts with what the client has to wait, which is counted when there is an answer."""
    header, toll = request.header, request.toll
    is_produce = header.api_key == ApiKey.PRODUCE
    settle = partial(toll.produced, frame_bytes, is_answered=request.body.acks != 0) if is_produce else toll.settled
    if isinstance(answer, Later):
        made = answer.made
        return Later(answer.done, lambda: made()(settle()))
    return respond(header, answer, settle())


def respond(header: RequestHeader, answer: Answer, throttle_ms: int) -> Parts:
    """The answer's parts with its throttle time."""
    if answer is None:
        return None
    if callable(answer):
        return answer(throttle_ms)
    if isinstance(answer, Later):
        made = answer.made
        return Later(answer.done, lambda: made()(throttle_ms))
    encoded = encode_response(header.api_key, header.api_version, {**answer, "throttle_time": throttle_ms})
    return [response_header(header.api_key, header.api_version, header.correlation_id), encoded]


@cache
def api_name(key: int) -> str:
    return "".join(part.capitalize() for part in key.name.split("_")) if isinstance(key, ApiKey) else f"Vendor{int(key)}"
