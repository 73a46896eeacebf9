"""One connection to one bootstrap server, asked one question after another until a deadline: for the test of a cluster's registration.

What goes wrong is raised as it is (`OSError`, `ssl.SSLError`, `kafka.errors.KafkaError`); `introduction.py` says what it means. Blocking.
"""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Any

import kafka.errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from console.gateway.connection import Connection, tls_context

ANSWER_BYTES_LIMIT = 2_000_000
METADATA, SASL_HANDSHAKE = 3, 17
METADATA_VERSION_MAX = 7
"""Later ones have nothing that is wanted here."""
ApiVersions = dict[int, tuple[int, int]]


class NotKafka(Exception):
    """The answer is none of Kafka's; `first` are its first bytes."""

    def __init__(self, first: bytes) -> None:
        super().__init__("not Kafka's protocol")
        self.first = first


class WrongPassword(Exception):
    """The server took the question and refused the user; the message is its own."""


class NoSuchMechanism(Exception):
    """`offered` are the ways to sign in that the server has."""

    def __init__(self, offered: list[str]) -> None:
        super().__init__("the mechanism is not offered")
        self.offered = offered


class Line:
    """Opened by `with`; `deadline` is of `time.monotonic`."""

    def __init__(self, connection: Connection, host: str, port: int, deadline: float) -> None:
        self._connection, self._host, self._port, self._deadline = connection, host, port, deadline
        self._protocol = KafkaProtocol(client_id="highwater-console", receive_message_max_bytes=ANSWER_BYTES_LIMIT)

    def __enter__(self) -> Line:
        self._socket = socket.create_connection((self._host, self._port), timeout=self._left_s())
        try:
            if self._connection.is_encrypted:
                self._socket = tls_context(self._connection).wrap_socket(self._socket, server_hostname=self._host)
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def _left_s(self) -> float:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("no answer in time")
        return left_s

    def ask(self, request: Any) -> Any:
        """The decoded answer."""
        self._protocol.send_request(request)
        self._socket.settimeout(self._left_s())
        self._socket.sendall(self._protocol.send_bytes())
        first = b""
        while True:
            self._socket.settimeout(self._left_s())
            received = self._socket.recv(65_536)
            if not received:
                raise ConnectionResetError("the connection was ended")
            first = first or received[:16]
            if answers := self._decoded(received, first):
                return answers[0][1]

    def _decoded(self, received: bytes, first: bytes) -> list[Any]:
        try:
            return list(self._protocol.receive_bytes(received))
        except (kafka.errors.KafkaError, ValueError, IndexError, TypeError) as error:
            raise NotKafka(first) from error

    def api_versions(self) -> ApiVersions:
        answer = self.ask(ApiVersionsRequest(version=0))
        if answer.error_code:
            raise kafka.errors.for_code(answer.error_code)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def mechanisms(self) -> list[str]:
        """Ways to sign in that the server has."""
        return list(self.ask(SaslHandshakeRequest(mechanism="?", version=1)).mechanisms)

    def sign_in(self) -> None:
        wanted = self._connection.sasl_mechanism or ""
        answer = self.ask(SaslHandshakeRequest(mechanism=wanted, version=1))
        if wanted not in answer.mechanisms:
            raise NoSuchMechanism(list(answer.mechanisms))
        mechanism = get_sasl_mechanism(wanted)(
            sasl_mechanism=wanted,
            sasl_plain_username=self._connection.sasl_username,
            sasl_plain_password=self._connection.sasl_password,
        )
        while not mechanism.is_done():
            answer = self.ask(SaslAuthenticateRequest(mechanism.auth_bytes(), version=0))
            if answer.error_code:
                raise WrongPassword(answer.error_message or "")
            _take(mechanism, answer.auth_bytes)

    def metadata(self, versions: ApiVersions) -> Any:
        """Brokers, controller and the cluster's id; of no topic."""
        least, most = versions[METADATA]
        return self.ask(MetadataRequest(topics=[], version=max(min(most, METADATA_VERSION_MAX), least)))


def _take(mechanism: Any, proof: bytes) -> None:
    try:
        mechanism.receive(proof)
    except (ValueError, KeyError) as error:
        raise WrongPassword("the server could not prove that it knows the password") from error
