"""Servers that notices are sent to, each in a thread: of HTTP, which answer as they are told, and of mail."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

OK, BROKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"
INWARD = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096


class Server:
    """`asked` is all that each connection said."""

    def __init__(self, serve: Callable[[socket.socket, Server], None]) -> None:
        self._listener, self._serve = socket.create_server(("127.0.0.1", 0)), serve
        self.port = self._listener.getsockname()[1]
        self.asked: list[bytes] = []
        self.ended = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                way, _ = self._listener.accept()
                way.settimeout(10)
                with way, suppress(OSError):
                    self._serve(way, self)

    def close(self) -> None:
        self.ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(15)


@contextmanager
def http(*answers: bytes | None) -> Iterator[Server]:
    """Gives these answers in turn, the last one again and again; None: it never answers, until it is closed."""
    left = list(answers)

    def serve(way: socket.socket, server: Server) -> None:
        server.asked.append(_request(way))
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer is None:
            server.ended.wait(10)
            return
        way.sendall(answer)
        while answer is ENDLESS and not server.ended.is_set():
            way.sendall(b"\r\n1000\r\n" + b"x" * 4096)

    server = Server(serve)
    try:
        yield server
    finally:
        server.close()


def _request(way: socket.socket) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += way.recv(65_536) or b"\r\n\r\n"
    head, _, body = raw.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < (lengths or [0])[0]:
        body += way.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextmanager
def mail(answers: dict[str, str] | None = None, *, hangs: bool = False, drips: bool = False) -> Iterator[Server]:
    """Takes a mail, but for what `answers` has by command; one that hangs says nothing at all, one that drips never ends its first line."""

    def serve(way: socket.socket, server: Server) -> None:
        if hangs:
            server.ended.wait(10)
            return
        while drips and not server.ended.wait(0.02):
            way.sendall(b"2")
        _take(way, server, answers or {})

    server = Server(serve)
    try:
        yield server
    finally:
        server.close()


def _take(way: socket.socket, server: Server, answers: dict[str, str]) -> None:
    way.sendall(b"220 here\r\n")
    lines, text, in_text = way.makefile("rb"), b"", False
    for line in lines:
        if in_text:
            text += line
            if line == b".\r\n":
                server.asked.append(text)
                way.sendall(b"250 kept\r\n")
                in_text = False
            continue
        command = line.split()[0].decode().upper()
        answer = answers.get(command) or {"DATA": "354 go on", "QUIT": "221 bye"}.get(command, "250 ok")
        way.sendall(f"{answer}\r\n".encode())
        in_text = command == "DATA" and answer.startswith("354")
