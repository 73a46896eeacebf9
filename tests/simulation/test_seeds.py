"""A hundred seeds of the simulation, split over two processes: no invariant may fall, and all that matters must have happened."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.chaos import COUNTED

ROOT = Path(__file__).parents[2]
FIRST_SEED = 1
SEEDS = 100
PROCESSES = 2


def start(first: int, runs: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(first), "--runs", str(runs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def violations(printed: str) -> list[str]:
    """Each with the command that repeats its run."""
    found, seed = [], ""
    for line in printed.splitlines():
        if match := re.match(r"seed (\d+):", line):
            seed = match[1]
        elif line.startswith("  VIOLATION "):
            found.append(f"{line.strip()}; replay: make simulate SEED={seed}")
    return found


def totals(printed: str) -> Counter[str]:
    """The line before the last: `name count, name count, ...`."""
    line = printed.rstrip().splitlines()[-2]
    return Counter({name: int(count) for name, count in (part.rsplit(" ", 1) for part in line.split(", "))})


@pytest.mark.spec("A", "C")
@pytest.mark.timeout(1200)
def test_a_hundred_seeds_keep_every_invariant_and_see_every_event() -> None:
    """Under every kind of fault, and all that such a run counts did happen."""
    share = SEEDS // PROCESSES
    workers = [start(FIRST_SEED + share * number, share) for number in range(PROCESSES)]
    outputs = [worker.communicate()[0] for worker in workers]
    found = [violation for printed in outputs for violation in violations(printed)]
    assert not found, "\n".join(found)
    assert all(worker.returncode == 0 for worker in workers), "\n".join(outputs)
    happened = totals(outputs[0])
    for printed in outputs[1:]:
        happened.update(totals(printed))
    assert not [name for name in COUNTED if not happened[name]], happened
