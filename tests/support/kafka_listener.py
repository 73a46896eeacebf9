"""A listener that introduces itself as Kafka does, with TLS and sign-in as a test wants them: nothing else is answered."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

API_VERSIONS, METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 3, 17, 36
VERSIONS = {METADATA: (0, 12), API_VERSIONS: (0, 3), SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 2), 0: (0, 9), 1: (0, 12)}


class Certificate:
    """Self-signed, for these names and addresses; `path` has certificate and key."""

    def __init__(self, folder: Path, *names: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        plain = serialization.NoEncryption()
        self.pem = made.public_bytes(serialization.Encoding.PEM).decode()
        self.key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
        locked = serialization.BestAvailableEncryption(b"passphrase")
        self.locked_key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked).decode()
        self.path = folder / f"{names[0]}.pem"
        self.path.write_text(self.pem + self.key_pem)

    def context(self) -> ssl.SSLContext:
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(self.path)
        return found


def _general(name: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(name))
    return x509.DNSName(name)


class Listener:
    """`users` are names with their passwords, for PLAIN; without them anybody is answered. `brokers` are what it tells of; by itself."""

    def __init__(self, tls: ssl.SSLContext | None = None, users: dict[str, str] | None = None, kafka_id: str = "listener") -> None:
        self.tls, self.users, self.kafka_id = tls, users, kafka_id
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.brokers = {1: ("127.0.0.1", self.port)}
        self._ended = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._ended = True
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        while True:
            found, _ = self._socket.accept()
            if self._ended:
                found.close()
                return
            found.settimeout(30)
            threading.Thread(target=self._serve, args=[found]).start()

    def _serve(self, found: socket.socket) -> None:
        with contextlib.suppress(OSError), found:
            stream = self.tls.wrap_socket(found, server_side=True) if self.tls else found
            with stream:
                self._answer_all(stream)

    def _answer_all(self, stream: socket.socket) -> None:
        signed_in = self.users is None
        while len(head := stream.recv(4, socket.MSG_WAITALL if not self.tls else 0)) == 4:
            (size,) = struct.unpack(">i", head)
            if not 0 < size < 100_000:
                return
            body = b""
            while len(body) < size:
                if not (received := stream.recv(size - len(body))):
                    return
                body += received
            self.heard.append(body)
            key, _version, correlation, client = struct.unpack(">hhih", body[:10])
            rest = body[10 + max(client, 0) :]
            if key == SASL_AUTHENTICATE:
                signed_in = self._knows(rest)
            answer = self._answer(key, signed_in)
            if answer is None:
                return
            stream.sendall(struct.pack(">ii", len(answer) + 4, correlation) + answer)

    def _knows(self, rest: bytes) -> bool:
        _, name, password = rest[4:].split(b"\0")
        return (self.users or {}).get(name.decode()) == password.decode()

    def _answer(self, key: int, signed_in: bool) -> bytes | None:
        if key == API_VERSIONS:
            return struct.pack(">hi", 0, len(VERSIONS)) + b"".join(struct.pack(">hhh", k, *v) for k, v in VERSIONS.items())
        if key == SASL_HANDSHAKE:
            offered = ["PLAIN"] if self.users is not None else []
            return struct.pack(">hi", 33, len(offered)) + b"".join(_text(name) for name in offered)
        if key == SASL_AUTHENTICATE:
            return struct.pack(">h", 0 if signed_in else 58) + _text(None if signed_in else "Invalid credentials") + struct.pack(">i", 0)
        return self._metadata() if key == METADATA and signed_in else None

    def _metadata(self) -> bytes:
        rows = b"".join(
            struct.pack(">i", n) + _text(host) + struct.pack(">i", port) + _text(None) for n, (host, port) in self.brokers.items()
        )
        return struct.pack(">ii", 0, len(self.brokers)) + rows + _text(self.kafka_id) + struct.pack(">ii", min(self.brokers), 0)


def _broker(broker_id: int, host: str, port: int) -> bytes:
    return struct.pack(">i", broker_id) + _text(host) + struct.pack(">i", port) + _text(None)


def _text(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text.encode())) + text.encode()


@contextlib.contextmanager
def listening(**options: Any) -> Iterator[Listener]:
    found = Listener(**options)
    try:
        yield found
    finally:
        found.close()
