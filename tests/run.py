"""`make test`: all tests in three runs side by side, since those that wait for servers leave most of a processor idle.

The first two have the folders whose tests start brokers, browsers or Spark; the third has all the others and yields the processor to them.
The first tells as it goes, the others are told when all have ended. The exit status is that of the worst.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ("apache", "chaos", "clients", "collector", "local", "outages", "reader", "spark", "workers")
PAGES = ("browser", "cli", "system")
NICE = 10


def main() -> int:
    with tempfile.TemporaryFile() as pages, tempfile.TemporaryFile() as others:
        runs = [
            _start(_only(SERVERS), None),
            _start([*_only(PAGES), "-o", "cache_dir=.pytest_cache/pages"], pages),
            _start([*_without(SERVERS + PAGES), "-o", "cache_dir=.pytest_cache/others"], others, niced=True),
        ]
        try:
            worst = max(abs(run.wait()) for run in runs)
        finally:
            for run in runs:
                run.terminate()
                run.wait()
        sys.stdout.flush()
        for kept in (pages, others):
            kept.seek(0)
            shutil.copyfileobj(kept, sys.stdout.buffer)
        return worst


def _only(folders: Sequence[str]) -> list[str]:
    return [f"tests/{folder}" for folder in folders]


def _without(folders: Sequence[str]) -> list[str]:
    return [f"--ignore=tests/{folder}" for folder in folders]


def _start(arguments: Sequence[str], output: IO[bytes] | None, *, niced: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *arguments]
    yielding = ["nice", "-n", str(NICE)] if niced and os.name == "posix" else []
    return subprocess.Popen([*yielding, *command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT if output else None)


if __name__ == "__main__":
    sys.exit(main())
