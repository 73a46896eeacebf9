"""`python -m tests.simulation.find_flaw FLAW [FAULTS]`: the first seed of a hundred at which a flaw put in on purpose is noticed.

Tests want few `FAULTS` (of twelve): many flaws are found among two, in a quarter of the time.

One of the replicas' (`broker_core/replication/flaws.py`) costs committed records; one of those who agree on ISRs, or of transactions
(`planted.py`), anything.
"""

from __future__ import annotations

import sys

from broker_core.replication.flaws import Flaws
from tests.simulation import planted
from tests.simulation.chaos import FAULTS, WRITERS, run

MOST_SEEDS = 100
OF_ISRS = ("ignore_pending_isr", "obey_late_alterations")


def noticed(seed: int, flaw: str, faults: int = FAULTS) -> list[str]:
    if flaw in planted.FLAWS:
        return run(seed, writers=WRITERS, planted=flaw, faults=faults).violations
    violations = run(seed, flaws=Flaws(**{flaw: True}), faults=faults).violations
    if flaw in OF_ISRS:
        return violations
    return [violation for violation in violations if "acknowledged" in violation or "committed" in violation]


def main(flaw: str, faults: int = FAULTS) -> int:
    for seed in range(1, MOST_SEEDS + 1):
        if found := noticed(seed, flaw, faults):
            print(f"{flaw} is found at seed {seed}: {found[0]}")
            return 0
    print(f"{flaw} is not found within {MOST_SEEDS} seeds")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
