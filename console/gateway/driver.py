"""The Spark driver of an analysis: a local process of its own, proven alive by its lock, so that it outlives the worker that started it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from broker_core.errors import HighwaterError
from broker_core.local.layout import Layout
from broker_core.local.process import LocalProcess, allowed_environment, wait_until
from console.gateway.errors import GatewayError

NAME = "analytics"
MODULE = "workers.spark.job"
NICE = 10
TERM_S, KILL_S = 5.0, 3.0
OWNER = "job.json"
RESIDENT = "resident.json"
"""Kept over starts: what became of the driver that stays (`workers/resident.py`)."""
ASK, STAY = "ask", "--stay"


def folder() -> Path:
    return settings.CONSOLE_DIR / NAME


def _process() -> LocalProcess:
    return LocalProcess(NAME, Layout.from_environment(settings.DATA_DIR).folder("run"))


def start(bootstrap_servers: str, topic: str, *, stay: bool = False) -> None:
    """Starts it detached, with a lowered priority and no secret in its environment; to `stay`, or for one analysis."""
    layout = Layout.from_environment(settings.DATA_DIR)
    folder().mkdir(parents=True, exist_ok=True)
    options = [
        "--bootstrap-servers",
        bootstrap_servers,
        "--topic",
        topic,
        "--folder",
        str(folder()),
        "--master",
        settings.SPARK_MASTER,
        *([STAY] if stay else []),
    ]
    command = ["nice", "-n", str(NICE), sys.executable, "-m", MODULE, *options]
    for name in ("progress.json", "summary.json", OWNER, ASK):
        (folder() / name).unlink(missing_ok=True)
    environment = allowed_environment(_environment())
    try:
        _process().start(command, layout.log_file(NAME), environment, folder())
    except (HighwaterError, OSError) as error:
        raise GatewayError("NOT_STARTED", str(error)) from error


def _environment() -> dict[str, str]:
    """Where PySpark is: in the images it lies beside the other packages, where PYTHONPATH and SPARK_HOME lead."""
    paths = [str(settings.BASE_DIR), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    found = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONUNBUFFERED": "1"}
    home = os.environ.get("SPARK_HOME")
    return found if home is None else {**found, "SPARK_HOME": home}


def note_owner(job_id: int) -> None:
    """Whose driver it is: the worker that has started it may die before the job's row says so."""
    _write(OWNER, {"job": job_id})


def owner() -> int | None:
    """The job of the last driver, living or not; None where it was one that stays."""
    return (read(OWNER) or {}).get("job")


def note_resident(said: Mapping[str, Any]) -> None:
    """What is to be known of the driver that stays, by whoever looks after it."""
    _write(RESIDENT, said)


def _write(name: str, said: Mapping[str, Any]) -> None:
    """In one step: a page may read it in that moment."""
    folder().mkdir(parents=True, exist_ok=True)
    beside = folder() / f"{name}.part"
    beside.write_text(json.dumps(said), encoding="utf-8")
    beside.replace(folder() / name)


def ask() -> None:
    """The driver that stays answers next."""
    (folder() / ASK).touch()


def alive() -> bool:
    return _process().alive()


def stop() -> bool:
    """Ends it with its Java process, which is in its process group and nobody else's; False where that takes longer still."""
    process = _process()
    for number, wait_s in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, KILL_S)):
        pid = process.pid()
        if pid is not None and _is_driver(pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), number)
        if wait_until(lambda: not process.alive(), wait_s):
            return True
    return False


def stays() -> bool:
    """Whether the driver that lives is one that stays."""
    pid = _process().pid()
    return pid is not None and (STAY.encode() in _command(pid) if Path("/proc/self").exists() else owner() is None)


def _is_driver(pid: int) -> bool:
    """A pid whose driver has ended while its Java process still ends may be somebody else's by now."""
    return MODULE.encode() in _command(pid) or not Path("/proc/self").exists()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def end_words() -> str:
    """Why the last driver is there no more: a signal, or the end of its log."""
    status = _process().exit_status()
    if status is None:
        return "it was killed"
    return f"signal {status - 128} ended it" if status > 128 else last_lines() or f"it ended with status {status} and wrote no log"


def last_lines(count: int = 5) -> str:
    path = Layout.from_environment(settings.DATA_DIR).log_file(NAME)
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace")[-4000:].strip().splitlines()[-count:])


def read(name: str) -> Mapping[str, Any] | None:
    """`progress.json`, `summary.json` or `job.json` of the driver's folder; None while it has not been written."""
    try:
        found = json.loads((folder() / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def read_up_to(topic: str) -> dict[int, int] | None:
    """The offsets that the last finished batch had read up to, from Spark's checkpoint; None before the first."""
    checkpoint = folder() / "store" / "checkpoint"
    done = [int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()]
    if not done:
        return None
    try:
        last = (checkpoint / "offsets" / str(max(done))).read_text(encoding="utf-8").strip().splitlines()[-1]
        return {int(partition): int(offset) for partition, offset in json.loads(last)[topic].items()}
    except (OSError, ValueError, KeyError, IndexError):
        return None
