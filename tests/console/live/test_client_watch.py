"""Our own long-lived clients: one that falls silent is an event and stands in the snapshot until it gets something done again."""

from __future__ import annotations

import asyncio
import fcntl
import json
import time
from pathlib import Path
from typing import Any

import pytest

from broker_core.contract.live import SilentClient
from console.gateway import demo
from console.live.owner.client_watch import ClientsWatch, run_clients
from console.rules.watch import Watch
from console.snapshot.read import Snapshot
from workers.demo.clients_file import tell


def client(name: str, silent_s: float | None = None) -> dict[str, Any]:
    return {"name": name, "doing": f"that does {name}", "done": 1, "silent_s": silent_s, "sentence": f"{name}: {silent_s}"}


def test_a_silence_is_told_once_and_its_end() -> None:
    watch = ClientsWatch()
    assert watch.look([client("a"), client("b")], 1) == []
    (told,) = watch.look([client("a", 60.0), client("b")], 2)
    assert (told.kind, told.level, told.sentence) == ("client_silent", "warn", "a: 60.0")
    assert watch.look([client("a", 70.0), client("b")], 3) == []
    assert watch.silent() == [SilentClient("a", "that does a", "a: 70.0")]
    (back,) = watch.look([client("a"), client("b")], 4)
    assert (back.kind, back.level, back.sentence) == ("client_back", "ok", "The client that does a gets its work done again.")
    assert watch.silent() == []


def test_one_that_is_gone_is_no_longer_silent() -> None:
    watch = ClientsWatch()
    watch.look([client("a", 60.0)], 1)
    assert (watch.look([], 2), watch.silent()) == ([], [])


async def test_what_is_silent_stands_in_the_snapshot(redis: Any) -> None:
    told: list[Any] = []
    heard = asyncio.Event()

    def take(events: list[Any]) -> None:
        told.extend(events)
        heard.set()

    task = asyncio.create_task(run_clients("local", lambda: [client("a", 60.0), client("b")], take))
    await asyncio.wait_for(heard.wait(), 60)
    while not (found := await asyncio.to_thread(Snapshot("local").silent_clients)):
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [one.name for one in found] == ["a"]
    assert [one.kind for one in told] == ["client_silent"]


@pytest.fixture
def run_folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_the_demo_tells_of_its_clients_while_it_runs(run_folder: Path) -> None:
    watch = Watch("demo-orders", "that writes the demo's orders", 10.0)
    watch.asked(time.monotonic() - 100)
    path = run_folder / "demo.clients.json"
    tell(path, [watch])
    assert demo.clients() == [], "nobody holds the demo's lock: what it told last is past"
    with (run_folder / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (found,) = demo.clients()
        assert (found["name"], found["silent_s"] >= 100) == ("demo-orders", True)
        path.write_text(json.dumps({"at_ms": time.time_ns() // 1_000_000 - 120_000, "clients": [found]}))
        (old,) = demo.clients()
        assert old["name"] == "demo" and old["sentence"].startswith("The demo has told nothing of its clients for 1")
        path.write_text("{")
        assert demo.clients() == []
