"""Local processes: proof of life by a lock, stop of a paused one, refusal of a second start."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.local.process import LocalProcess, ProcessError, allowed_environment, exclusive, wait_until

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"]

PATIENT = [
    sys.executable,
    "-c",
    "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15]); print('up', flush=True)\n"
    "for _ in range(2): signal.sigwait([15]); print('asked', flush=True)\n"
    "print('clean', flush=True)",
]
"""Ends at the second SIGTERM."""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[LocalProcess]:
    made = LocalProcess("sleeper", tmp_path / "run")
    yield made
    made.kill()


def start(process: LocalProcess, tmp_path: Path, command: list[str] = SLEEPER) -> Path:
    log = tmp_path / "log"
    process.start(command, log, allowed_environment(), tmp_path)
    assert wait_until(lambda: "up" in log.read_text() and process.pid() is not None, 60)
    return log


def test_a_started_process_is_alive_until_it_is_stopped(process: LocalProcess, tmp_path: Path) -> None:
    start(process, tmp_path)
    assert process.alive()
    assert process.stop()
    assert not process.alive()
    assert process.pid() is None
    assert not process.stop()


def test_a_process_that_has_not_written_its_pid_yet_is_waited_for(process: LocalProcess, tmp_path: Path) -> None:
    """Another command may ask in that moment: it must not hear "not running" of one that runs."""
    start(process, tmp_path)
    pid = process.pid()
    process.pid_path.unlink()
    writing = threading.Timer(0.2, process.pid_path.write_text, [f"{pid}\n"])
    writing.start()
    assert process.pid() == pid
    writing.join()


def test_a_second_start_is_refused(process: LocalProcess, tmp_path: Path) -> None:
    start(process, tmp_path)
    with pytest.raises(ProcessError, match="running already"):
        process.start(SLEEPER, tmp_path / "log2", allowed_environment(), tmp_path)


def test_who_looks_whether_it_lives_does_not_keep_it_from_starting(process: LocalProcess, tmp_path: Path) -> None:
    """A look has the lock for a moment: here it takes that long."""
    process.run_folder.mkdir()
    looking = os.open(process.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(looking, fcntl.LOCK_SH)
    ending = threading.Timer(0.2, os.close, [looking])
    ending.start()
    start(process, tmp_path)
    assert process.alive()
    ending.join()


def test_a_killed_process_is_dead_at_once_even_when_nobody_reaped_it(process: LocalProcess, tmp_path: Path) -> None:
    """A pid alone would still exist; the lock does not."""
    start(process, tmp_path)
    assert process.kill()
    assert not process.alive()


def test_a_paused_process_is_seen_and_stopped(process: LocalProcess, tmp_path: Path) -> None:
    """SIGTERM alone is ignored by a stopped process: SIGCONT comes first."""
    start(process, tmp_path)
    process.send(signal.SIGSTOP)
    assert wait_until(process.paused, 60)
    assert process.alive()
    assert process.stop()


def test_a_process_that_starts_is_not_taken_for_its_predecessor(
    process: LocalProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid file that was left behind is gone before anybody could ask."""
    seen: list[bool] = []
    spawn = LocalProcess._spawn

    def spy(own: LocalProcess, *arguments: Any) -> None:
        seen.append(own.pid_path.exists())
        spawn(own, *arguments)

    monkeypatch.setattr(LocalProcess, "_spawn", spy)
    process.run_folder.mkdir()
    process.pid_path.write_text("1\n")
    start(process, tmp_path)
    assert seen == [False]
    assert process.pid() != 1


def test_a_programs_name_may_have_blanks_and_brackets(process: LocalProcess, tmp_path: Path) -> None:
    """/proc shows the name before the state."""
    program = tmp_path / "a) T (b"
    program.symlink_to("/bin/sleep")
    process.start([str(program), "600"], tmp_path / "log", allowed_environment(), tmp_path)
    assert wait_until(lambda: process.pid() is not None, 60)
    assert not process.paused()
    process.send(signal.SIGSTOP)
    assert wait_until(process.paused, 60)


def test_one_that_ignores_sigterm_is_killed(process: LocalProcess, tmp_path: Path) -> None:
    start(process, tmp_path, STUBBORN)
    assert process.stop(wait_seconds=0.3)
    assert not process.alive()


def test_a_stop_that_insists_asks_twice_before_it_kills(process: LocalProcess, tmp_path: Path) -> None:
    """A broker leaves its leaderships then and still closes its logs clean. A second signal before the first is taken would be one."""
    log = start(process, tmp_path, PATIENT)
    assert process.stop(wait_seconds=60, insist_after=2.0)
    assert log.read_text().split() == ["up", "asked", "asked", "clean"]


def test_a_kill_takes_children_that_hold_the_lock_along(process: LocalProcess, tmp_path: Path) -> None:
    """As Spark's driver does: its JVM inherits the lock, so the name would stay taken."""
    parent = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], close_fds=False)"
    start(process, tmp_path, [sys.executable, "-c", f"{parent}; print('up', flush=True); time.sleep(600)"])
    assert process.kill()
    assert not process.alive()


def test_a_stale_pid_file_is_not_taken_for_life(process: LocalProcess) -> None:
    """The pid of another living process in the file: only the lock counts."""
    process.run_folder.mkdir()
    process.pid_path.write_text(str(os.getpid()))
    process.lock_path.touch()
    assert not process.alive()
    with pytest.raises(ProcessError, match="not running"):
        process.send(signal.SIGKILL)


def test_the_environment_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "hush")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p@h/d")
    assert not {"DJANGO_SECRET_KEY", "DATABASE_URL"} & set(allowed_environment())


def test_the_environment_has_what_a_process_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert allowed_environment({"TZ": "CET", "PYTHONPATH": "/x"})["TZ"] == "CET"
    assert allowed_environment({"PYTHONPATH": "/x"})["PYTHONPATH"] == "/x"
    assert allowed_environment()["TZ"] == "UTC"


def test_two_that_look_at_once_do_not_take_each_other_for_the_process(process: LocalProcess, tmp_path: Path) -> None:
    start(process, tmp_path)
    process.kill()
    with open(process.lock_path) as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not process.alive()


def test_two_commands_do_not_change_the_cluster_at_once(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path / "lock", "a"),
        pytest.raises(ProcessError, match="not done: b"),
        exclusive(tmp_path / "lock", "b", seconds=0.1),
    ):
        pass
