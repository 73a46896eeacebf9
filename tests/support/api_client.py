"""Calls a handler as a client would: request and response go through the codec of the given version."""

from __future__ import annotations

from typing import Any, cast

from broker_core.errors import KafkaError
from broker_core.handlers.refusal import refused
from broker_core.handlers.registry import ApiHandler, ConnectionInfo, Request
from broker_core.protocol.codec import decode_request, decode_response, encode_request, encode_response
from broker_core.protocol.headers import RequestHeader
from broker_core.seams import Peer


class ApiClient:
    """`broker` has the services that the handlers under test use."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.connection = ConnectionInfo(1, Peer("127.0.0.1", 50_000), "PLAINTEXT")

    async def call(self, handler: ApiHandler, version: int, **fields: Any) -> Any:
        """The decoded response."""
        body = decode_request(handler.key, version, encode_request(handler.key, version, fields), 0)
        header = RequestHeader(handler.key, version, 7, "client", 0)
        request = Request(header, body, version, cast(Any, self.broker), self.connection)
        try:
            answer = await handler(request)
        except KafkaError as error:
            answer = refused(request, error)
        assert isinstance(answer, dict)
        return decode_response(handler.key, version, encode_response(handler.key, version, answer), 0)
