"""`make test`: all tests but those of `make conformance`, in four runs side by side, since those that wait for servers leave most of a
processor idle.

The first two have the folders whose tests start brokers and browsers; the third what computes longest, the fourth all the others, and
both yield the processor to the first two. The first tells as it goes, the others are told when all have ended; the last lines are the
failures and the counts of all, since only the end of a long output is kept in many places. The exit status is that of the worst.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ("apache", "chaos", "cli", "clients", "collector", "local", "outages", "reader", "workers")
PAGES = ("browser", "system")
COMPUTING = ("console", "spark")
LONG = ("frameworks", "kafka_tools")
"""Programs on the JVM that take minutes each: `make conformance` runs them, before clients' own suites."""
NICE = 10
LEFT_S = 5
SUMMARY = b"short test summary info"


def main() -> int:
    with ExitStack() as stack:
        kept = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
        servers, pages, computing, others = kept
        runs = [
            _start(_only(SERVERS), subprocess.PIPE),
            _start([*_only(PAGES), "-o", "cache_dir=.pytest_cache/pages"], pages),
            _start([*_only(COMPUTING), "-o", "cache_dir=.pytest_cache/computing"], computing, niced=True),
            _start([*_without(SERVERS + PAGES + COMPUTING + LONG), "-o", "cache_dir=.pytest_cache/others"], others, niced=True),
        ]
        try:
            telling = threading.Thread(target=_tell, args=(runs[0], servers), daemon=True)
            telling.start()
            ended = [abs(run.wait()) for run in runs]
            telling.join(LEFT_S)  # whatever a test left running may hold the pipe
        finally:
            for run in runs:
                run.terminate()
                run.wait()
        for output in kept[1:]:
            output.seek(0)
            shutil.copyfileobj(output, sys.stdout.buffer)
        for output in kept:
            sys.stdout.buffer.write(_summary(output))
        sys.stdout.flush()
        return max(ended)


def _tell(run: subprocess.Popen[bytes], kept: IO[bytes]) -> None:
    """What it says, as it says it; all of it is kept too."""
    assert run.stdout is not None
    while said := os.read(run.stdout.fileno(), 65536):
        kept.write(said)
        sys.stdout.buffer.write(said)
        sys.stdout.flush()


def _summary(output: IO[bytes]) -> bytes:
    """The last lines of a run: its failures by name, if any, and its counts."""
    output.seek(0)
    text = output.read()
    begun = text.rfind(SUMMARY)
    return text[text.rfind(b"\n", 0, begun) + 1 :] if begun >= 0 else text[text.rstrip().rfind(b"\n") + 1 :]


def _only(folders: Sequence[str]) -> list[str]:
    return [f"tests/{folder}" for folder in folders]


def _without(folders: Sequence[str]) -> list[str]:
    return [f"--ignore=tests/{folder}" for folder in folders]


def _start(arguments: Sequence[str], output: IO[bytes] | int, *, niced: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *arguments]
    yielding = ["nice", "-n", str(NICE)] if niced and os.name == "posix" else []
    return subprocess.Popen([*yielding, *command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    sys.exit(main())
