"""`highwater records export` against a console that the test plays: Ctrl-C, and a file that breaks off."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.commands import searches
from cli.main import main

RUNNING = {"id": "e1", "state": "running", "sentence": "Half is read.", "reason": "", "found": 2, "file_bytes": 4, "next": None}
DONE = {**RUNNING, "state": "done", "sentence": "All is read."}


class Console(ThreadingHTTPServer):
    """Has one export; `asked` is what it was asked, `states` what it says of it from one look to the next."""

    def __init__(self, *states: dict[str, Any], file: bytes = b"a\nb\n") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.states, self.file, self.asked = list(states), file, list[str]()


class Handler(BaseHTTPRequestHandler):
    server: Console

    def do_GET(self) -> None:
        self.server.asked.append(f"GET {self.path}")
        if self.path.endswith("/file"):
            self._answer(self.server.file, 4)
        else:
            states = self.server.states
            self._answer(json.dumps(states.pop(0) if len(states) > 1 else states[0]).encode())

    def do_POST(self) -> None:
        self.server.asked.append(f"POST {self.path}")
        self.rfile.read(int(self.headers["Content-Length"]))
        state = {**RUNNING, "state": "stopped", "reason": "ci stopped it."} if self.path.endswith("/stop") else RUNNING
        self._answer(json.dumps(state).encode())

    def _answer(self, body: bytes, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def consoles() -> Iterator[list[Console]]:
    made: list[Console] = []
    yield made
    for one in made:
        one.shutdown()
        one.server_close()


@pytest.fixture
def export(consoles: list[Console], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def run(console: Console, *words: str) -> int:
        consoles.append(console)
        threading.Thread(target=console.serve_forever, daemon=True).start()
        monkeypatch.setenv("HIGHWATER_TOKEN", "hw_test")
        monkeypatch.setattr(searches, "LOOK_EVERY_S", 0.0)
        url = f"http://127.0.0.1:{console.server_address[1]}"
        return main(["records", "export", "orders", "--url", url, "--output", str(tmp_path / "file"), *words])

    return run


def test_how_far_it_is_is_told_and_the_file_fetched(
    export: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(searches, "TELL_EVERY_S", 0.0)
    assert export(Console(RUNNING, DONE), "--json") == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [f"{what} is read. 4\N{NARROW NO-BREAK SPACE}B written." for what in ("Half", "All")]
    assert json.loads(said.out)["state"] == "done"
    assert (tmp_path / "file").read_bytes() == b"a\nb\n"


def test_ctrl_c_stops_the_export_itself(
    export: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(RUNNING)

    def press(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(searches.time, "sleep", press)
    assert export(console) == 130
    assert console.asked[-1] == "POST /api/v1/clusters/local/searches/e1/stop"
    assert "ci stopped it." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_that_breaks_off_is_not_left_as_if_it_were_whole(export: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_bytes(b"before")
    assert export(Console(DONE, file=b"a\n"), "--force") == 3
    assert "broke off with 2 bytes missing" in capsys.readouterr().err
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"before")]
