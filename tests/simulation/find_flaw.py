"""`python -m tests.simulation.find_flaw FLAW`: the seeds of the forty at which a flaw put in on purpose costs acknowledged records."""

from __future__ import annotations

import sys

from broker_core.replication.flaws import Flaws
from tests.simulation.chaos import run

MOST_SEEDS = 40


def main(flaw: str) -> int:
    for seed in range(1, MOST_SEEDS + 1):
        if any("acknowledged" in violation for violation in run(seed, flaws=Flaws(**{flaw: True})).violations):
            print(f"{flaw} is found at seed {seed}")
            return 0
    print(f"{flaw} is not found within {MOST_SEEDS} seeds")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
