"""Forty seeds of the simulation in processes that take what others leave of the processors, until they are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST_SEED = 1
SEEDS = 40
PROCESSES = 2


class SeedRuns:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="highwater-seeds-")
        self._printed = [Path(self._folder.name, f"{number}.txt") for number in range(PROCESSES)]
        share = SEEDS // PROCESSES
        self._workers = [self._start(FIRST_SEED + share * number, share, printed) for number, printed in enumerate(self._printed)]

    def _start(self, first: int, runs: int, printed: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.simulation", "--seed", str(first), "--runs", str(runs)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with printed.open("w") as file:
            worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT)
        os.sched_setscheduler(worker.pid, os.SCHED_IDLE, os.sched_param(0))
        return worker

    def wait(self) -> list[tuple[int, str]]:
        """Each process's exit status and what it printed."""
        for worker in self._workers:
            if worker.poll() is None:
                os.sched_setscheduler(worker.pid, os.SCHED_OTHER, os.sched_param(0))
        return [(worker.wait(), printed.read_text()) for worker, printed in zip(self._workers, self._printed, strict=True)]

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._folder.cleanup()
