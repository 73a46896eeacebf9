"""`python -m tests.kafka_bench`: three brokers each of Apache Kafka and ours, in turns, over one ZooKeeper.

Samples go into a JSON file after each turn, so that a run which was interrupted goes on when it is called again; `--report` makes the page
of docs/ from that file.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from broker_core.local.maven import JarsMissing
from tests.bench.world import ROOT, commit, folder
from tests.kafka_bench import java_tools, making, results
from tests.kafka_bench.findings import falls
from tests.kafka_bench.java_tools import java_version
from tests.kafka_bench.limits import end_by_sigterm
from tests.kafka_bench.lives import Lives
from tests.kafka_bench.pace import EARNEST, QUICK
from tests.kafka_bench.results import Document
from tests.kafka_bench.row import Row
from tests.kafka_bench.rows import ROWS, NoSuchRow, chosen
from tests.kafka_bench.runner import Runner
from tests.support.zookeeper import running_zookeeper

INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.kafka_bench", description="Measures Highwater beside Apache Kafka; figures, not tests."
    )
    made.add_argument("--rounds", type=int, metavar="N", help=f"turns of each row ({EARNEST.rounds}; quick: {QUICK.rounds})")
    made.add_argument("--rows", nargs="+", default=[], metavar="PATTERN", help="some rows only: names as --list tells, or 'native-*'")
    made.add_argument("--quick", action="store_true", help="short turns, to see that the bench works")
    made.add_argument("--fresh", action="store_true", help="measure again what was measured already")
    made.add_argument("--out", type=Path, metavar="FILE", help="where samples are kept (build/kafka-bench.json)")
    made.add_argument("--report", action="store_true", help="make docs/performance.md of the samples, and measure nothing")
    made.add_argument("--list", action="store_true", help="name the rows, and measure nothing")
    return made


def main() -> int:
    options = parser().parse_args()
    try:
        rows = chosen(options.rows)
    except NoSuchRow as error:
        parser().error(f"no such row: {error}; there are {', '.join(row.name for row in ROWS)}")
    if options.list:
        print("\n".join(f"{row.name:<40} {row.words}" for row in rows))
        return 0
    path = options.out or ROOT / "build" / ("kafka-bench-quick.json" if options.quick else "kafka-bench.json")
    return report(path) if options.report else measure(options, rows, path)


def report(path: Path) -> int:
    document = results.load(path)
    if document is None:
        print(f"there are no samples in {path}: measure first", file=sys.stderr)
        return 1
    say(f"made {making.make(document, ROOT)}")
    return 0


def measure(options: argparse.Namespace, rows: list[Row], path: Path) -> int:
    pace = QUICK if options.quick else EARNEST
    end_by_sigterm()
    began = time.monotonic()
    try:
        java_tools.fetch()
        with folder(in_memory=True) as data, running_zookeeper() as zookeeper:
            document = document_of(path, options, data)
            lives = Lives(data, zookeeper.hosts, pace.warm_seconds)
            try:
                failed = Runner(lives, pace, document, path, say).run(rows, options.rounds or pace.rounds)
            finally:
                lives.close()
    except JarsMissing as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ninterrupted; what was measured is in {path}, and the same command goes on", file=sys.stderr)
        return INTERRUPTED
    recorded = results.load(ROOT / making.RECORDED)
    for sentence in falls(recorded, document, ROWS) if recorded is not None else []:
        say(sentence)
    say(f"{(time.monotonic() - began) / 60:.1f} minutes; samples are in {path}, and --report makes a page of them")
    return 1 if failed else 0


def document_of(path: Path, options: argparse.Namespace, data: Path) -> Document:
    """The one that was begun, if it is of the same commit and pace; else a new one."""
    found = None if options.fresh else results.load(path)
    if found is not None and (found.commit, found.quick) == (commit(), options.quick):
        return found
    if found is not None:
        say(f"what is in {path} is of {found.commit}: it is kept beside, and measuring begins anew")
        path.replace(path.with_suffix(f".{found.commit}.json"))
    where = "memory" if data.is_relative_to("/dev/shm") else "a disk"
    return results.new(datetime.now(UTC).isoformat(timespec="seconds"), options.quick, where, java_version())


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
