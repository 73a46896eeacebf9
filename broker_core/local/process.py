"""One local process: started detached, proven alive by a lock, stopped as PostgreSQL's pg_ctl would.

The starter opens `run/NAME.lock`, takes an exclusive flock and hands the open descriptor to the child. The lock lasts as
long as the child has it open, so it proves life where a pid cannot: pids are reused, and a killed child that nobody
reaped still has one. The child writes its own pid before it becomes the program (`exec` keeps it). A shell waits for it and
leaves its exit status in `run/NAME.ended`; it holds the lock too, so the status is there once the lock is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from broker_core.errors import HighwaterError

TERM_WAIT_SECONDS = 10.0
KILL_WAIT_SECONDS = 5.0
PID_WAIT_SECONDS = 2.0
PROBE_SECONDS = 0.5
POLL_SECONDS = 0.05
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH")
"""What a child gets of the environment: no secret of the console reaches a broker."""

_BECOME = 'echo "$$" >"$0" && exec "$@"'
_DETACH = '{ "$@"; echo "$?" >"$0"; } &'


class ProcessError(HighwaterError):
    """A local process could not be started, stopped or found; the message says which and why."""


class LocalProcess(Struct, frozen=True):
    """A process by its name in the data folder's `run/`."""

    name: str
    run_folder: Path

    @property
    def lock_path(self) -> Path:
        return self.run_folder / f"{self.name}.lock"

    @property
    def pid_path(self) -> Path:
        return self.run_folder / f"{self.name}.pid"

    @property
    def ended_path(self) -> Path:
        return self.run_folder / f"{self.name}.ended"

    def exit_status(self) -> int | None:
        """Of the last life, as a shell has it (128 and the number for a signal); None when it lives, or was killed with its session."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(self.ended_path.read_text(encoding="ascii"))
        return None

    def alive(self) -> bool:
        """Whether the lock is held."""
        return self.lock_path.exists() and not lock_is_free(self.lock_path)

    def pid(self) -> int | None:
        """The pid of the living process, None when it is not running. One that has just been started is given time to write it."""
        wait_until(lambda: not self.alive() or self._written_pid() is not None, PID_WAIT_SECONDS)
        return self._written_pid() if self.alive() else None

    def _written_pid(self) -> int | None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(self.pid_path.read_text(encoding="ascii"))
        return None

    def paused(self) -> bool:
        """Whether it is stopped by SIGSTOP."""
        pid = self.pid()
        return pid is not None and _process_state(pid) == "T"

    def start(self, command: Sequence[str], log_file: Path, environment: Mapping[str, str], folder: Path) -> None:
        """Starts the command detached; `ProcessError` when it is running already."""
        self.run_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(descriptor, self.name)
            self.pid_path.unlink(missing_ok=True)
            self.ended_path.unlink(missing_ok=True)
            self._spawn(command, descriptor, log_file, environment, folder)
        finally:
            os.close(descriptor)

    def _spawn(self, command: Sequence[str], descriptor: int, log_file: Path, environment: Mapping[str, str], folder: Path) -> None:
        become = ["/bin/sh", "-c", _BECOME, str(self.pid_path), *command]
        with open(log_file, "ab") as log:
            subprocess.run(
                ["/bin/sh", "-c", _DETACH, str(self.ended_path), *become],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=dict(environment),
                pass_fds=(descriptor,),
                start_new_session=True,
                check=True,
            )

    def send(self, number: signal.Signals) -> None:
        """Sends a signal; `ProcessError` when it is not running."""
        pid = self.pid()
        if pid is None:
            raise ProcessError(f"{self.name} is not running")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def stop(self, wait_seconds: float = TERM_WAIT_SECONDS, *, insist_after: float | None = None) -> bool:
        """SIGCONT, SIGTERM, a wait, SIGKILL; False when it was not running. A paused process ignores SIGTERM alone.

        `insist_after` seconds it gets a second SIGTERM, on which a broker stops handing over and closes its logs.
        """
        if not self.alive():
            return False
        self._signal_if_alive(signal.SIGCONT)
        self._signal_if_alive(signal.SIGTERM)
        patience = wait_seconds if insist_after is None else min(insist_after, wait_seconds)
        if not wait_until(lambda: not self.alive(), patience):
            if patience < wait_seconds:
                self._signal_if_alive(signal.SIGTERM)
            if not wait_until(lambda: not self.alive(), wait_seconds - patience):
                self.kill()
        return True

    def kill(self) -> bool:
        """SIGKILL, and a wait until the lock is free; False when it was not running."""
        if not self.alive():
            return False
        self._kill_session()
        if not wait_until(lambda: not self.alive(), KILL_WAIT_SECONDS):
            raise ProcessError(f"{self.name} (pid {self.pid()}) did not end within {KILL_WAIT_SECONDS:.0f} s of SIGKILL")
        return True

    def _kill_session(self) -> None:
        """The process and whatever it started: a child of it may have inherited the lock (Spark's JVM)."""
        pid = self.pid()
        with contextlib.suppress(ProcessLookupError):
            if pid is not None and os.getpgid(pid) != os.getpgrp():
                os.killpg(os.getpgid(pid), signal.SIGKILL)
        self._signal_if_alive(signal.SIGKILL)

    def _signal_if_alive(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessError):
            self.send(number)


def allowed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed part of this process's environment, with `extra` on top."""
    return {**{name: os.environ[name] for name in INHERITED if name in os.environ}, **(extra or {})}


class Busy(ProcessError):
    """Somebody else has the lock of an `exclusive`."""


@contextlib.contextmanager
def exclusive(path: Path, what: str, seconds: float = 60.0) -> Iterator[None]:
    """Serialises web, worker and shell: only one may start or stop processes of a data folder at a time."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not wait_until(lambda: _try_lock(descriptor), seconds):
            raise Busy(f"Another command has held {path} for {seconds:.0f} s; not done: {what}")
        yield
    finally:
        os.close(descriptor)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Polls until the condition holds; False when it did not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _take(descriptor: int, name: str) -> None:
    if not take_lock(descriptor):
        raise ProcessError(f"{name} is running already")


def take_lock(descriptor: int) -> bool:
    """Whether the lock is ours now. Who looks whether it is free has it for a moment: a process is known by having it longer."""
    return wait_until(lambda: _try_lock(descriptor), PROBE_SECONDS)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_is_free(path: Path) -> bool:
    """Whether nobody holds the lock; a path that is not there is held by nobody."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        return _try_shared(descriptor)
    finally:
        os.close(descriptor)


def _try_shared(descriptor: int) -> bool:
    """A shared probe: two probes at once do not take each other for the process."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _process_state(pid: int) -> str:
    """The state letter of /proc/PID/stat (`T`: stopped), or an empty text where it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]
