"""One answer of an HTTP server that an admin named: no redirect is followed, no proxy asked, and size and time are limited as a whole."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class NotHad(Exception):
    """There is no answer; the words say what the server does instead."""


def get(url: str, path: str, headers: Mapping[str, str], ca_pem: str, *, within_s: float, bytes_max: int) -> tuple[int, bytes]:
    """Status and body of the path at the url's server."""
    with _told(within_s), _cut_off(_connection(url), within_s) as connection:
        _connect(connection, ca_pem, time.monotonic() + within_s)
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        status, raw, lacking = answer.status, answer.read(bytes_max + 1), answer.length
    if len(raw) > bytes_max:
        raise NotHad(f"answers with more than {bytes_max:,} bytes")
    if lacking:
        raise NotHad("breaks off in the middle of its answer")
    return status, raw


def post(url: str, headers: Mapping[str, str], body: bytes, *, within_s: float, public_only: bool) -> int:
    """The status that the url's server answers; what else it says is not read, however much that is. With `public_only` no address of
    this machine or of a private network is connected to, whatever its name."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _told(within_s), _cut_off(_connection(url), within_s) as connection:
        _connect(connection, "", time.monotonic() + within_s, public_only=public_only)
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().status


@contextmanager
def _told(within_s: float) -> Iterator[None]:
    """What goes wrong on the way, in words."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise NotHad(f"shows a certificate that is not trusted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise NotHad(f"cannot be spoken to by TLS: {error.reason or 'the handshake failed'}") from None
    except socket.gaierror:
        raise NotHad("has a name that no address is known of") from None
    except TimeoutError:
        raise NotHad(f"does not answer within {within_s:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotHad(f"does not answer: {getattr(error, 'strerror', None) or type(error).__name__}") from None


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port)


def _connect(connection: http.client.HTTPConnection, ca_pem: str, end_s: float, *, public_only: bool = False) -> None:
    """Name, each of its addresses and the handshake share one limit; `connection.sock` is set before each wait: the timer finds it."""
    refused: OSError | None = None
    encrypted = ssl.create_default_context(cadata=ca_pem or None) if isinstance(connection, http.client.HTTPSConnection) else None
    for family, kind, protocol, _, address in socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM):
        refuse_own_link(str(address[0]))
        if public_only:
            _refuse_private(str(address[0]))
        connection.sock = _socket(encrypted, connection.host, socket.socket(family, kind, protocol))
        try:
            connection.sock.settimeout(_left(end_s))
            connection.sock.connect(address)
            break
        except OSError as error:
            connection.sock.close()
            refused = error
    else:
        raise refused or OSError("the name has no address")
    if isinstance(connection.sock, ssl.SSLSocket):
        connection.sock.settimeout(_left(end_s))
        connection.sock.do_handshake()
    connection.sock.settimeout(_left(end_s))


def _socket(encrypted: ssl.SSLContext | None, host: str, plain: socket.socket) -> socket.socket:
    """Encrypted before it is connected: of one that is cut off while it is being made so, nobody would know, nor close it."""
    return plain if encrypted is None else encrypted.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)


def _left(end_s: float) -> float:
    left = end_s - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def refuse_own_link(host: str) -> None:
    """Clouds tell a machine's secrets there to whoever asks from it; looked at once the name has become an address."""
    mapped = _address(host)
    if mapped.is_link_local or mapped.is_multicast or mapped.is_unspecified:
        raise NotHad("is at a link-local address, which is not asked")


def _refuse_private(host: str) -> None:
    if not _address(host).is_global:
        raise NotHad("is at an address of this machine or of a private network, which HIGHWATER_ALERTS_PRIVATE=1 would allow")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


@contextmanager
def _cut_off(connection: http.client.HTTPConnection, within_s: float) -> Iterator[http.client.HTTPConnection]:
    """A socket's own limit begins anew with every byte: who drips them is cut off by a timer, and raises `TimeoutError`."""
    is_over = threading.Event()

    def cut() -> None:
        is_over.set()
        with suppress(OSError, TypeError):  # none yet, or not connected: `_connect` has the same limit
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)  # not TLS's own, which takes the handshake away from under its feet

    timer = threading.Timer(within_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield connection
    except (OSError, http.client.HTTPException):
        if is_over.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        connection.close()
    if is_over.is_set():
        raise TimeoutError
