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
PROTOCOLS = ("3.9-IV0", "2.7-IV1")
"""Of the seeds' halves, a process each: ISRs are changed by the controller, and by the leaders in the store."""


class SeedRuns:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="highwater-seeds-")
        self._printed = [Path(self._folder.name, f"{protocol}.txt") for protocol in PROTOCOLS]
        self._workers = [self._start(number, printed) for number, printed in enumerate(self._printed)]

    def _start(self, number: int, printed: Path) -> subprocess.Popen[bytes]:
        share = SEEDS // len(PROTOCOLS)
        command = [sys.executable, "-m", "tests.simulation", "--seed", str(FIRST_SEED + share * number), "--runs", str(share)]
        command += ["--protocol", PROTOCOLS[number]]
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
