"""Installs what analyses need, PySpark (434 MB) and the jars of its Kafka source, and notes how far it is.

`python -m broker_core.local.spark_installer`: in the background of `highwater up`, or in the foreground as `highwater spark`. pip fetches,
compares the hashes and installs; how much has come is the size of its temporary file. What is installed stays; a download that was cut
short begins again.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from msgspec.structs import replace

from broker_core.contract.installs import Install
from broker_core.errors import HighwaterError
from broker_core.local import spark_install
from broker_core.local.spark_install import Noted

LOOK_SECONDS = 1.0
END_SECONDS = 10.0
LAST_LINES = 30
MOST_WHY = 300
SCRATCH = "spark-scratch-"
SIZE = re.compile(r"^\s*(?:Downloading|Using cached) \S*pyspark-\S+ \(([\d.]+) (kB|MB|GB)\)")
UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--no-build-isolation")
JARS = ("-m", "workers.spark.jars")


class InstallFailed(HighwaterError):
    """A step did not succeed; the message has its own last words."""


def main(arguments: Sequence[str] = ()) -> int:
    """0 when all is there; 1 and a sentence when it is not. `--wait`: for an installation that is under way, then goes on."""
    lock = _take_lock(wait="--wait" in arguments)
    if lock is None:
        sys.stderr.write("PySpark is being installed already: the page Analytics says how far it is.\n")
        return 1
    signal.signal(signal.SIGTERM, _end)
    try:
        return _install(Install(state="installing", since_ms=time.time_ns() // 1_000_000), lock)
    except KeyboardInterrupt:
        return 130
    finally:
        os.close(lock)


def _take_lock(*, wait: bool) -> int | None:
    lock = spark_install.take_lock()
    while lock is None and wait:
        time.sleep(LOOK_SECONDS)
        lock = spark_install.take_lock()
    return lock


def _install(begun: Install, lock: int) -> int:
    try:
        _note(begun)
        with _scratch() as scratch:
            command = [*PIP, "--require-hashes", "-r", str(spark_install.REQUIREMENTS)]
            _run(command, lock, {"TMPDIR": str(scratch)}, lambda lines: _note(progress(begun, lines, _downloaded(scratch))))
        begun = replace(begun, step="jars")
        _note(begun)
        _run(JARS, lock, {}, lambda lines: None)
    except (InstallFailed, OSError) as error:
        _note(replace(begun, state="failed", why=str(error)[:MOST_WHY]))
        sys.stderr.write(f"PySpark could not be installed: {error}\n")
        return 1
    _note(Install(state="ready"))
    return 0


def progress(begun: Install, lines: Sequence[str], done_bytes: int) -> Install:
    """What pip's output and its temporary file say of the download. Pure."""
    sizes = [round(float(found[1]) * UNITS[found[2]]) for line in lines if (found := SIZE.match(line))]
    total = sizes[-1] if sizes else 0
    return replace(begun, done_bytes=min(done_bytes, total), total_bytes=total)


def last_words(lines: Sequence[str]) -> str:
    """The errors that pip names, else the last line. Pure."""
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return " ".join(errors) or next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _run(command: Sequence[str], lock: int, environment: dict[str, str], look: Callable[[Sequence[str]], None]) -> None:
    """Runs a Python program in a group of its own, which holds the lock too; `look` sees its last lines every second."""
    lines: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=spark_install.REQUIREMENTS.parent,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=(lock,),
        process_group=0,
    ) as child:
        assert child.stdout is not None
        reader = threading.Thread(target=_read, args=(child.stdout, lines))
        reader.start()
        try:
            while reader.is_alive():
                reader.join(LOOK_SECONDS)
                look(list(lines))
        finally:
            _end_group(child)
            reader.join()
    if child.returncode:
        raise InstallFailed(last_words(lines))


def _read(output: IO[str], lines: deque[str]) -> None:
    for line in output:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)


def _end_group(child: subprocess.Popen[str]) -> None:
    """Whatever of it still lives, what it has started too."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(END_SECONDS)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _note(install: Install) -> None:
    spark_install.note(Noted(spark_install.wanted(), install))


def _downloaded(scratch: Path) -> int:
    """The bytes of PySpark's archive in pip's folder; pip may remove either at any time, while they are listed too."""
    sizes = [0]
    with contextlib.suppress(OSError):
        for folder in os.listdir(scratch):
            with contextlib.suppress(OSError):
                sizes += [path.stat().st_size for path in (scratch / folder).glob("pyspark-*") if folder.startswith("pip-")]
    return max(sizes)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """On the packages' own disk; what a killed installer has left goes."""
    for old in spark_install.folder().glob(f"{SCRATCH}*"):
        shutil.rmtree(old, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=spark_install.folder()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
