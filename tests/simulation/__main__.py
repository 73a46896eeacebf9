"""`python -m tests.simulation --seed 7 --runs 100`: simulated runs, one line each, and what they went through.

The exit status is 1 when a run violated an invariant; its seed alone repeats it.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections import Counter

from broker_core.config import BrokerConfig
from tests.simulation.chaos import COUNTED, FAULTS, run

COLLECTED_AFTER = 200_000
"""Objects. A run makes millions that live as long as it does: looking through them as often as usual takes a seventh of the time."""


def main() -> int:
    gc.set_threshold(COLLECTED_AFTER, 20, 100)
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Runs simulated clusters under faults.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=20, help="how many seeds, one after the other")
    parser.add_argument("--faults", type=int, default=FAULTS, help="faults per run")
    parser.add_argument("--suspicions", type=int, default=0, help="wrong suspicions of a death per run")
    parser.add_argument("--lost-replies", type=int, default=0, help="replies of the store that are lost besides, per run")
    parser.add_argument("--sessions-only", action="store_true", help="nobody acts on a death before the session ends")
    parser.add_argument("--ahead", type=int, default=1, help="requests that a producer has on its way at a time (5 at most)")
    parser.add_argument("--writers", type=int, default=0, help="producers that write in transactions, two by two with one id")
    parser.add_argument(
        "--protocol",
        default=BrokerConfig().inter_broker_protocol_version,
        help="inter.broker.protocol.version",
    )
    parser.add_argument("--verbose", action="store_true", help="show what the brokers log")
    options = parser.parse_args()
    handler = logging.StreamHandler() if options.verbose else logging.NullHandler()
    logging.basicConfig(handlers=[handler], format="%(name)s %(message)s")
    totals: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    failed = 0
    for seed in range(options.seed, options.seed + options.runs):
        outcome = run(
            seed,
            faults=options.faults,
            suspicions=options.suspicions,
            lost_replies=options.lost_replies,
            early=not options.sessions_only,
            ahead=options.ahead,
            writers=options.writers,
            protocol=options.protocol,
        )
        totals.update(outcome.faults)
        totals.update(outcome.events)
        failed += bool(outcome.violations)
        print(f"seed {seed}: {outcome.acked} acknowledged, {outcome.steps} steps, {outcome.digest}", flush=True)
        for violation in outcome.violations:
            print(f"  VIOLATION {violation}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(totals.items())))
    print(f"{options.runs - failed} of {options.runs} runs kept every invariant")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
