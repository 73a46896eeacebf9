"""Forty seeds of the simulation: no invariant may fall, and all that matters must have happened."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.simulation.chaos import COUNTED
from tests.simulation.seed_runs import SeedRuns


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
@pytest.mark.timeout(3600)
def test_forty_seeds_keep_every_invariant_and_see_every_event(seed_runs: SeedRuns) -> None:
    """Under every kind of fault, and all that such a run counts did happen."""
    ended = seed_runs.wait()
    found = [violation for _status, printed in ended for violation in violations(printed)]
    assert not found, "\n".join(found)
    assert all(status == 0 for status, _printed in ended), "\n".join(printed for _status, printed in ended)
    happened: Counter[str] = Counter()
    for _status, printed in ended:
        happened.update(totals(printed))
    assert not [name for name in COUNTED if not happened[name]], happened
