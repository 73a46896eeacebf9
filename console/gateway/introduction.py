"""What a bootstrap server says of itself and of its cluster, or in words why it says nothing of use.

After a failure the server is asked once more in other ways, so that the words can say what would be right: without TLS, with TLS, with a
user, or whether it is a web server.
"""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass, replace

import kafka.errors
from kafka.protocol.broker_version_data import BrokerVersionData

from console.gateway.connection import Connection
from console.gateway.line import SASL_HANDSHAKE, ApiVersions, Line, NoSuchMechanism, NotKafka, WrongPassword

SECOND_LOOK_S = 1.5
NAME_MISMATCHES = (62, 64)
"""OpenSSL's codes for a host name and an address that the certificate is not for."""
BROKERS_LIMIT = 1_000
WORDS_LIMIT = 200
FAILURES = (OSError, NotKafka, WrongPassword, NoSuchMechanism, kafka.errors.KafkaError, LookupError, ValueError, TypeError)
"""The last three are what senseless answers end in."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """`version` is the newest Kafka whose protocol the server speaks; addresses are those that brokers advertise."""

    version: str
    kafka_id: str | None
    controller_id: int | None
    brokers: dict[int, tuple[str, int]]


class Unmet(Exception):
    """In words, which go on after the server's name."""


def introduce(connection: Connection, host: str, port: int, deadline: float) -> Introduction:
    """`Unmet` where it fails."""
    try:
        with Line(connection, host, port, deadline) as line:
            versions = line.api_versions()
            if connection.is_authenticated:
                line.sign_in()
            return _told(versions, line.metadata(versions))
    except FAILURES as error:
        raise _Looker(connection, host, port).explained(error) from error


def _told(versions: ApiVersions, answer: object) -> Introduction:
    found = {row.node_id: (row.host, row.port) for row in answer.brokers[:BROKERS_LIMIT]}  # type: ignore[attr-defined]
    controller = getattr(answer, "controller_id", -1)
    version = BrokerVersionData(api_versions=versions).broker_version
    said = ".".join(str(number) for number in version)
    return Introduction(said, getattr(answer, "cluster_id", None), controller if controller in found else None, found)


class _Looker:
    """Finds the words for a failure."""

    def __init__(self, connection: Connection, host: str, port: int) -> None:
        self._connection, self._host, self._port = connection, host, port

    def explained(self, error: Exception) -> Unmet:
        match error:
            case WrongPassword():
                words = self._wrong_password(error)
            case NoSuchMechanism():
                words = self._no_mechanism(error)
            case ssl.SSLCertVerificationError():
                words = self._untrusted(error)
            case socket.gaierror():
                words = "has a name that leads nowhere (DNS)"
            case ConnectionRefusedError():
                words = "refuses connections: nothing listens on this port"
            case _:
                words = self._second_look(error) if self._listens() else f"does not answer ({_said(error)})"
        return Unmet(words)

    def _wrong_password(self, error: Exception) -> str:
        said = f" ({str(error)[:WORDS_LIMIT]})" if str(error) else ""
        return f"refuses the user {self._connection.sasl_username!r} with this password{said}"

    def _no_mechanism(self, error: NoSuchMechanism) -> str:
        if not error.offered:
            return f"asks for no user and password: choose {'SSL' if self._connection.is_encrypted else 'PLAINTEXT'}"
        offered = ", ".join(error.offered)[:WORDS_LIMIT]
        return f"does not take {self._connection.sasl_mechanism}; it takes {offered}"

    def _untrusted(self, error: ssl.SSLCertVerificationError) -> str:
        if error.verify_code in NAME_MISMATCHES:
            return f"shows a certificate that is for another name than {self._host}: use the name in it, or do not check the name"
        return f"shows a certificate that is not trusted ({error.verify_message}): paste the certificate of who signed it"

    def _listens(self) -> bool:
        try:
            socket.create_connection((self._host, self._port), timeout=SECOND_LOOK_S).close()
        except OSError:
            return False
        return True

    def _second_look(self, error: Exception) -> str:
        first = error.first if isinstance(error, NotKafka) else b""
        if first.startswith(b"HTTP/") or self._is_web_server():
            return "is a web server (HTTP), not Kafka"
        # Who waits in silence is no Kafka with another protocol: that would end the connection.
        known = "" if isinstance(error, TimeoutError) else self._about_tls() or self._about_sign_in() or self._about_client(error)
        return known or f"listens and does not answer as Kafka does ({_said(error)})"

    def _about_tls(self) -> str:
        if not self._connection.is_encrypted:
            return "speaks TLS: choose SSL or SASL_SSL" if self._speaks_tls() else ""
        is_plain = self._versions(_plain(self._connection)) is not None
        return "speaks Kafka without TLS: choose PLAINTEXT or SASL_PLAINTEXT" if is_plain else ""

    def _about_sign_in(self) -> str:
        """Kafka answers strangers which versions it speaks, and ends the connection at the next question."""
        versions = self._versions(self._connection)
        if versions is None:
            return ""
        offered = self._offered() if SASL_HANDSHAKE in versions else []
        if self._connection.is_authenticated:
            return "" if offered else self._no_mechanism(NoSuchMechanism([]))
        protocol = "SASL_SSL" if self._connection.is_encrypted else "SASL_PLAINTEXT"
        return f"wants a user and a password: choose {protocol} with {', '.join(offered)[:WORDS_LIMIT]}" if offered else ""

    def _about_client(self, error: Exception) -> str:
        """TLS 1.3 takes the handshake first and ends the connection then, with or without a word."""
        is_ended = isinstance(error, (ssl.SSLError, ConnectionError)) and not self._connection.certificate_pem
        if not self._connection.is_encrypted or not is_ended or not self._speaks_tls():
            return ""
        return "takes TLS and ends the connection at once: it probably wants a certificate of the client, with its key"

    def _offered(self) -> list[str]:
        try:
            with Line(self._connection, self._host, self._port, time.monotonic() + SECOND_LOOK_S) as line:
                return line.mechanisms()
        except FAILURES:
            return []

    def _versions(self, connection: Connection) -> ApiVersions | None:
        try:
            with Line(connection, self._host, self._port, time.monotonic() + SECOND_LOOK_S) as line:
                return line.api_versions()
        except FAILURES:
            return None

    def _speaks_tls(self) -> bool:
        try:
            with self._plain_socket() as found, _unverified().wrap_socket(found):
                return True
        except OSError:
            return False

    def _is_web_server(self) -> bool:
        try:
            with self._plain_socket() as found:
                return _answers_http(found)
        except OSError:
            return False

    def _plain_socket(self) -> socket.socket:
        return socket.create_connection((self._host, self._port), timeout=SECOND_LOOK_S)


def _answers_http(found: socket.socket) -> bool:
    found.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return found.recv(16).startswith(b"HTTP/")


def _plain(connection: Connection) -> Connection:
    return replace(connection, security_protocol="PLAINTEXT")


def _unverified() -> ssl.SSLContext:
    """Nothing is sent to whoever shows a certificate here: it only tells whether there is one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _said(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "nothing came in time"
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (words or type(error).__name__)[:WORDS_LIMIT]
