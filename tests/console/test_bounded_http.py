"""What an HTTP server that an admin named may do to the console: at worst it gives no answer, in the time and size that were set."""

from __future__ import annotations

import gc
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest

from console.gateway.bounded_http import NotHad, get

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMIT_S = 0.5
"""What a server here may take; it goes on for `DRIPS` times as long."""
DRIPS = 100


class Server:
    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self._listener, self._answer = socket.create_server(("127.0.0.1", 0)), answer
        self.port = self._listener.getsockname()[1]
        self.ended = Event()
        self.asked: list[bytes] = []
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                way, _ = self._listener.accept()
                with way, suppress(OSError):
                    self.asked.append(way.recv(4096))
                    self._answer(way)
                self.ended.set()

    def close(self) -> None:
        self._listener.close()


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[Server]:
    made = Server(answer)
    try:
        yield made
    finally:
        made.close()


def dripping(head: bytes) -> Callable[[socket.socket], None]:
    def answer(way: socket.socket) -> None:
        way.sendall(head)
        for _ in range(DRIPS):
            way.settimeout(LIMIT_S / 2)
            try:
                if not way.recv(1):
                    return
            except TimeoutError:
                way.sendall(b"\0")

    return answer


def had(url: str, bytes_max: int = 100, within_s: float = 30.0) -> tuple[int, bytes]:
    return get(url, "/path", {"X-Kind": "test"}, "", within_s=within_s, bytes_max=bytes_max)


def test_an_answer_is_had_by_address_and_by_name() -> None:
    with server(lambda way: way.sendall(ANSWER)) as one:
        assert had(f"http://127.0.0.1:{one.port}") == (200, b"ok")
        assert had(f"http://localhost:{one.port}") == (200, b"ok"), "of the name's addresses the one that answers"
        assert one.asked[0].startswith(b"GET /path HTTP/1.1\r\nHost: 127.0.0.1:") and b"X-Kind: test" in one.asked[0]


def test_a_redirect_is_not_followed() -> None:
    with server(lambda way: way.sendall(ANSWER)) as other:
        away = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{other.port}/\r\nContent-Length: 0\r\n\r\n".encode()
        with server(lambda way: way.sendall(away)) as one:
            assert had(f"http://127.0.0.1:{one.port}") == (302, b"")
        assert not other.asked


@pytest.mark.parametrize(
    ("scheme", "head"),
    [("http", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n"), ("http", b"HTTP/1.1 200"), ("https", b"\x16\x03\x03\x40\x00\x02")],
    ids=["body", "head", "handshake"],
)
def test_who_drips_is_left(scheme: str, head: bytes) -> None:
    with server(dripping(head)) as one:
        with pytest.raises(NotHad, match=r"does not answer within 3 s"):
            had(f"{scheme}://127.0.0.1:{one.port}", within_s=6 * LIMIT_S)  # a busy machine needs some of it before it connects
        assert one.ended.wait(DRIPS * LIMIT_S / 4), "it was left long before it had done"


@pytest.mark.parametrize("late_s", [0.0, 0.2])
def test_a_slow_beginning_of_tls_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch, late_s: float) -> None:
    """The time is up before the handshake has begun."""
    make = ssl.create_default_context

    def slowly(**given: Any) -> ssl.SSLContext:
        time.sleep(LIMIT_S + late_s)
        return make(**given)

    monkeypatch.setattr(ssl, "create_default_context", slowly)
    with server(dripping(b"\x16\x03\x03\x40\x00\x02")) as one, pytest.raises(NotHad, match=r"does not answer within 0\.5 s"):
        had(f"https://127.0.0.1:{one.port}", within_s=LIMIT_S)
    gc.collect()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200, "answers with more than"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nless", "breaks off in the middle"),
        (b"SSH-2.0-OpenSSH\r\n", "does not answer: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5000, "does not answer: HTTPException"),
        (b"", "does not answer: RemoteDisconnected"),
    ],
    ids=["large", "short", "other", "heads", "nothing"],
)
def test_what_is_no_answer_is_told(answer: bytes, said: str) -> None:
    with server(lambda way: way.sendall(answer)) as one, pytest.raises(NotHad, match=said):
        had(f"http://127.0.0.1:{one.port}")


def test_tls_on_a_plain_port_is_told() -> None:
    with server(lambda way: way.sendall(ANSWER)) as one, pytest.raises(NotHad, match="cannot be spoken to by TLS"):
        had(f"https://127.0.0.1:{one.port}")


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.1.1]", "0.0.0.0", "224.0.0.1"])
def test_a_clouds_own_addresses_are_not_asked(host: str) -> None:
    with pytest.raises(NotHad, match="link-local"):
        had(f"http://{host}:1")


def test_a_name_without_address_is_told() -> None:
    with pytest.raises(NotHad, match="no address is known"):
        had("http://nowhere.invalid")
