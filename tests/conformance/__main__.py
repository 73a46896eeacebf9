"""`python -m tests.conformance`: clients' own suites against our brokers, and the page of them; ends with 1 where a failure has no reason.

Results go into docs/conformance/results.json after each suite. `--kafka` runs the same against Apache Kafka, for the column beside.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tests.bench.world import ROOT
from tests.conformance import page, reasons
from tests.conformance.case import Case, SuiteRun
from tests.conformance.sources import NotHad
from tests.conformance.suite import Suite
from tests.conformance.suites import SUITES
from tests.conformance.world import KINDS, LABELS, brokers

PAGE = ROOT / "docs" / "conformance.md"
RESULTS = ROOT / "docs" / "conformance" / "results.json"


def parser() -> argparse.ArgumentParser:
    names = ", ".join(suite.name for suite in SUITES)
    made = argparse.ArgumentParser(prog="python -m tests.conformance", description="Runs Kafka clients' own tests against Highwater.")
    made.add_argument("--suites", nargs="+", default=[], metavar="NAME", help=f"some only: {names}")
    made.add_argument("--kafka", action="store_true", help="against Apache Kafka, to compare with")
    made.add_argument("--report", action="store_true", help="only make docs/conformance.md of the results that are there")
    return made


def main() -> int:
    options = parser().parse_args()
    chosen = [suite for suite in SUITES if not options.suites or suite.name in options.suites]
    if unknown := set(options.suites) - {suite.name for suite in SUITES}:
        parser().error(f"there is no suite {', '.join(sorted(unknown))}")
    for suite in [] if options.report else chosen:
        keep(take(suite, "kafka" if options.kafka else "highwater"))
    return tell(load())


def take(suite: Suite, kind: str) -> SuiteRun:
    """Runs a suite; what keeps it from running is in the run's `error`."""
    assert kind in KINDS
    say(f"{suite.name} {suite.source.version} against {LABELS[kind]} …")
    began, of, started = datetime.now(UTC).isoformat(timespec="seconds"), commit(), time.monotonic()
    cases: list[Case] = []
    try:
        suite.prepare()
        with brokers(kind, suite.brokers, suite.settings, suite.first_id) as world:
            cases, error = suite.go(world)
    except NotHad as failure:
        error = str(failure)
    seconds = round(time.monotonic() - started)
    run = SuiteRun(suite.name, suite.source.version, kind, began, of, seconds, tuple(cases), error)
    say(f"  {', '.join(f'{count} {word}' for word, count in counts(run).items())} in {seconds} s{'; ' + error if error else ''}")
    return run


def commit() -> str:
    """Of the brokers' code, as git names it; `-dirty` where that has been changed since."""
    told = [
        subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        for arguments in (["describe", "--always"], ["status", "--porcelain", "--", "broker_core"])
    ]
    return told[0] + ("-dirty" if told[1] else "")


def counts(run: SuiteRun) -> dict[str, int]:
    found: dict[str, int] = {}
    for case in run.cases:
        found[case.outcome.value] = found.get(case.outcome.value, 0) + 1
    return found


def load(path: Path = RESULTS) -> list[SuiteRun]:
    return msgspec.json.decode(path.read_bytes(), type=list[SuiteRun]) if path.exists() else []


def keep(run: SuiteRun) -> None:
    """In place of an earlier run of the suite against the same kind."""
    order = [suite.name for suite in SUITES]
    others = [one for one in load() if (one.suite, one.kind) != (run.suite, run.kind) and one.suite in order]
    runs = sorted([*others, run], key=lambda one: (order.index(one.suite), one.kind))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=1) + b"\n")


def text(runs: list[SuiteRun]) -> str:
    return page.page(runs, {suite.name: suite.words for suite in SUITES}, reasons.load(), LABELS["kafka"])


def tell(runs: list[SuiteRun]) -> int:
    """Writes the page, and says what has no reason; the exit status."""
    PAGE.write_text(text(runs), encoding="utf-8")
    known = reasons.load()
    left = [(run, case) for run in runs if run.kind == page.OURS for case in reasons.unexplained(run.suite, run.cases, known)]
    for run, case in left:
        say(f"no reason: {run.suite}: {case.name} {case.outcome.value}: {case.message}")
    broken = [run for run in runs if run.error]
    for run in broken:
        say(f"not whole: {run.suite}: {run.error}")
    return 1 if left or broken else 0


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
