"""The client in Python that is written from the running console's description, with the scripts of docs/tasks/python.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic, make_token

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def client(rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the package and the scripts."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(rest.get("/api/v1/openapi.json")))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(folder / "openapi.json"), "--meta", "none"]
    command += ["--config", str(ROOT / "scripts" / "client.yaml"), "--output-path", str(folder / "highwater_client"), "--fail-on-warning"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = SCRIPT.findall((ROOT / "docs" / "tasks" / "python.md").read_text())
    for name, text in zip(("script.py", "listener.py"), found, strict=True):
        (folder / name).write_text(text)
    return folder


def test_the_script_of_the_page_works(client: Path, system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    token = make_token(system, "python", "operator")
    address = f"http://127.0.0.1:{system.layout.console_port}"

    def run(*words: str, token: str = token) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HIGHWATER_URL": address, "HIGHWATER_TOKEN": token}
        command = [sys.executable, "script.py", *words]
        return subprocess.run(command, cwd=client, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def tells(what: str, *words: str) -> None:
        """The console hears of a new topic and a new group a moment later."""
        until = time.monotonic() + 90
        while what not in (done := run(*words)).stdout:
            assert time.monotonic() < until, done.stdout + done.stderr

    read = make_topic("python-read", [[1, 2, 3]])
    made = f"{read}-made"
    produce(system, read, [b"x"] * 40)
    goes = {"topic": read, "to": "earliest"}
    eventually(lambda: rest.ask("POST", f"{LOCAL}/groups/{read}/offsets", goes).status == 200, 60, "a coordinator")
    tells(f"{read}-0: 40 behind", made, read)
    tells(f"topic='{made}'", made, read)
    told = run(made, read)
    assert "WrittenRecords(written=1, records=[WrittenRecord(partition=" in told.stdout, told.stdout + told.stderr
    assert run(made, "nobody-reads").stderr.startswith("not-found: ")
    assert run(made, read, token="hw_wrong").stderr.startswith("unauthenticated: ")


def test_the_listener_of_the_page_works(client: Path, system: ConsoleSystem, make_topic: MakeTopic) -> None:
    topic = make_topic("python-streamed", [[1, 2, 3]])
    address = f"http://127.0.0.1:{system.layout.console_port}"
    environment = {**os.environ, "HIGHWATER_URL": address, "HIGHWATER_TOKEN": make_token(system, "python-listener", "viewer")}
    command = [sys.executable, "listener.py", topic]
    with subprocess.Popen(command, cwd=client, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        guard = threading.Timer(90, process.kill)
        guard.start()
        try:
            lines = iter(process.stdout.readline, "")
            assert f"partition/{topic}/0 0\n" in lines
            produce(system, topic, [b"x"] * 7)
            assert f"partition/{topic}/0 7\n" in lines
        finally:
            guard.cancel()
            process.kill()
