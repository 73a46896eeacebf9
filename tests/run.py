"""`make test`: all tests in two runs side by side, since those that wait for servers leave most of a processor idle.

The first has the folders whose tests start brokers, browsers or Spark, and tells as it goes; the second has all the others, yields the
processor to it, and is told at the end. The exit status is that of the worse.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ("apache", "browser", "chaos", "cli", "clients", "collector", "local", "outages", "reader", "spark", "system", "workers")
NICE = 10


def main() -> int:
    with tempfile.TemporaryFile() as kept:
        others = _start([f"--ignore=tests/{folder}" for folder in SERVERS] + ["-o", "cache_dir=.pytest_cache/others"], kept, niced=True)
        servers = _start([f"tests/{folder}" for folder in SERVERS], None, niced=False)
        try:
            worse = max(map(abs, (servers.wait(), others.wait())))
        finally:
            for one in (servers, others):
                one.terminate()
                one.wait()
        sys.stdout.flush()
        kept.seek(0)
        sys.stdout.buffer.write(kept.read())
        return worse


def _start(arguments: Sequence[str], output: IO[bytes] | None, *, niced: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *arguments]
    yielding = ["nice", "-n", str(NICE)] if niced and os.name == "posix" else []
    return subprocess.Popen([*yielding, *command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT if output else None)


if __name__ == "__main__":
    sys.exit(main())
