"""Health checks tell what serves from what only exists."""

from __future__ import annotations

import http.server
import json
import os
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker_core.cli import health


@contextmanager
def serving(handler: type[socketserver.BaseRequestHandler]) -> Iterator[int]:
    with socketserver.TCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class Broker(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert self.request.recv(100) == health.API_VERSIONS
        self.request.sendall(b"\0\0\0\x06" + health.CORRELATION_ID.to_bytes(4, "big") + b"\0\0")


class Stranger(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(100)
        self.request.sendall(b"SSH-2.0-x\r\n")


class Unavailable(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/good" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Keeper(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(4)
        self.request.sendall(b"Zookeeper version: x\nMode: standalone\n")


def test_a_broker_is_ready_and_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(["broker", str(tmp_path)]) == 1
    assert "not ready" in capsys.readouterr().err
    with serving(Broker) as port:
        (tmp_path / ".ready").write_text(json.dumps({"port": port}))
        assert health.main(["broker", str(tmp_path)]) == 0
    assert health.main(["broker", str(tmp_path)]) == 1, "nobody listens any more"
    with serving(Stranger) as port:
        (tmp_path / ".ready").write_text(json.dumps({"port": port}))
        assert health.main(["broker", str(tmp_path)]) == 1
    assert "does not answer as a broker" in capsys.readouterr().err


def test_zookeeper_serves_clients() -> None:
    with serving(Keeper) as port:
        assert health.main(["zookeeper", str(port)]) == 0
    assert health.main(["zookeeper", str(port)]) == 1


def test_a_page_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Unavailable) as port:
        assert health.main(["http", f"http://127.0.0.1:{port}/good"]) == 0
        assert health.main(["http", f"http://127.0.0.1:{port}/healthz"]) == 1
    assert "503" in capsys.readouterr().err
    assert health.main(["http", f"http://127.0.0.1:{port}/good"]) == 1


def test_a_file_is_fresh(tmp_path: Path) -> None:
    pattern = str(tmp_path / "beat*")
    assert health.main(["fresh", pattern, "60"]) == 1
    (tmp_path / "beat.db").write_text("")
    assert health.main(["fresh", pattern, "60"]) == 0
    os.utime(tmp_path / "beat.db", (1, 1))
    assert health.main(["fresh", pattern, "60"]) == 1


def test_what_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(["nothing"]) == 2
    assert "fresh PATTERN SECONDS" in capsys.readouterr().err
