"""The analytics driver: takes what is new in the topic into Parquet, then answers the questions of `workers/spark/analyses`.

`python -m workers.spark.job --bootstrap-servers … --topic … --folder …` does so once, and with `--stay` until it is ended
(`resident.py`). The folder holds

    store/            the samples (`store/layout.py`), Spark's checkpoint, and what was set aside
    tables/           each result whole, as Parquet
    summary.json      the results' rows for pages and REST (`results.py`), written last
    progress.json     {"done": n, "total": 5, "message": "...", "at_ms": n}

A driver killed at any point leaves the store as the last batch left it; the next one goes on from there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_core.local.maven import JarsMissing
from workers.spark.analyses import balance, compared, forecast, lag, profile, throughput
from workers.spark.analyses.moments import steps
from workers.spark.resident import Resident
from workers.spark.results import Table, write_json, write_tables
from workers.spark.session import build
from workers.spark.store import compaction, ingest, layout

STEPS = 5
KEEP_DAYS = 8
"""A week, and the day that is under way."""
KEEP_MS = KEEP_DAYS * 24 * 3600 * 1000
MOST_BYTES = 8 * 1024**3
MOST_WINDOWS, MOST_ROWS = 50_000, 200
"""Rows of a series, and of any other table, in the document."""
MINUTE_S, LONG_S, DAY_S = 60, 600, 24 * 3600
"""Windows of the last day, of the week, and of a partition."""
MOST_NOTES = 1_000
OLD = ("samples", "checkpoint", "scratch")
"""What was there before the store was, and what a driver that was killed left."""


class Run:
    """One driver on one folder."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = Path(options.folder)
        self.store = self.folder / "store"
        self.samples = self.store / ingest.SAMPLES

    def go(self) -> None:
        """The whole job; raises what Spark raises."""
        self.samples.mkdir(parents=True, exist_ok=True)
        for name in OLD:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.note(0, "starting Spark")
        spark = build(self.options.master, self.folder / "scratch")
        try:
            self.note(1, f"reading new samples from {self.options.topic}")
            taking = ingest.Ingest(self.store, KEEP_MS, now_ms)
            servers, topic = self.options.bootstrap_servers, self.options.topic
            if self.options.stay:
                Resident(self, spark, taking).go(servers, topic)
            else:
                taking.begin(spark, servers, topic).awaitTermination()
                self.answer(spark, taking.turn)
        finally:
            spark.stop()
            shutil.rmtree(self.folder / "scratch", ignore_errors=True)

    def answer(self, spark: SparkSession, turn: Lock, small_files: int = compaction.BATCHES_MAX) -> None:
        """Compacts, then answers all questions from the samples that are there; batches that come meanwhile wait for `turn`."""
        self.note(2, "putting small files together")
        now = now_ms()
        today = datetime.fromtimestamp(now / 1000, UTC).date()
        with turn:
            committed = layout.last_committed(self.store / ingest.CHECKPOINT)
            compaction.compact(spark, self.samples, committed, today, small_files)
            compaction.drop_old(self.samples, today, KEEP_DAYS, MOST_BYTES)
            compaction.drop_notes(self.store / ingest.ASIDE, MOST_NOTES)
        self.note(3, "answering")
        found = {**self._summary(spark, committed, now), "began_at_ms": now}
        self.note(4, "writing the summary")
        write_json(self.folder / "summary.json", found)
        self.note(STEPS, f"{found['samples']} samples of {KEEP_DAYS} days")

    def _summary(self, spark: SparkSession, committed: int, now: int) -> dict[str, Any]:
        held = layout.days(self.samples, committed)
        base = {"aside": aside(self.store / ingest.ASIDE), "days": [day.day.isoformat() for day in held], "version": 2}
        if not held:
            return {**base, "tables": {}, "samples": 0, "ended_at_ms": now_ms()}
        week = spark.read.parquet(*layout.folders(self.samples, held))
        lately = spark.read.parquet(*layout.folders(self.samples, _from(held, now)))
        grown = str(self.folder / "scratch" / "steps.parquet")
        steps(week).write.mode("overwrite").parquet(grown)
        tables = write_tables(questions(week, _since(lately, now), spark.read.parquet(grown), now), self.folder / "tables")
        return {**base, "tables": tables, "samples": week.count(), "ended_at_ms": now_ms()}

    def note(self, done: int, message: str, **more: int) -> None:
        write_json(self.folder / "progress.json", {"done": done, "total": STEPS, "message": message, "at_ms": now_ms(), **more})


def questions(week: DataFrame, lately: DataFrame, grown: DataFrame, now: int) -> dict[str, Table]:
    """All results, by name; `lately` are the samples of the last day among those of the `week`, `grown` the week's `steps`."""
    grown_lately = _since(grown, now)
    newest, most = "-window_start", MOST_WINDOWS
    return {
        "topics": Table(throughput.per_topic(grown_lately, MINUTE_S), (newest, "topic"), most),
        "topics_week": Table(throughput.per_topic(grown, LONG_S), (newest, "topic"), most),
        "brokers": Table(throughput.per_broker(grown, LONG_S), (newest, "broker"), most),
        "partitions": Table(throughput.per_partition(grown_lately), ("-messages_mean",), MOST_ROWS),
        "lag": Table(lag.per_group(lately, MINUTE_S), (newest, "group", "topic"), most),
        "lag_week": Table(lag.per_group(week, LONG_S), (newest, "group", "topic"), most),
        "catching_up": Table(lag.catching_up(lately, now), ("-lag",), MOST_ROWS),
        "skew": Table(balance.skew(grown_lately), ("-rate_skew",), MOST_ROWS),
        "flapping": Table(balance.flapping(lately), ("-shrinks", "-leaders"), MOST_ROWS),
        "profile": Table(profile.profile(grown, now), ("-deviation",), MOST_ROWS),
        "disks": Table(forecast.disks(week), ("earliest_hours", "name"), MOST_ROWS),
        "lags": Table(forecast.lags(week), ("-value", "name"), MOST_ROWS),
        "two_days": Table(compared.two_days(week, grown, now), ("what", "-after"), MOST_ROWS),
    }


def aside(folder: Path) -> dict[str, Any]:
    """Records that were no samples: how many, by reason, and where the last of them lie in the topic."""
    counts: Counter[str] = Counter()
    examples: list[Any] = []
    for path in sorted(folder.glob("*.json"), key=lambda path: int(path.stem), reverse=True):
        said = json.loads(path.read_text(encoding="utf-8"))
        counts.update(said["counts"])
        examples += said["examples"][: ingest.MOST_EXAMPLES - len(examples)]
    return {"counts": dict(counts), "examples": examples}


def _from(held: list[layout.Day], now: int) -> list[layout.Day]:
    first = datetime.fromtimestamp(now / 1000, UTC).date() - timedelta(days=1)
    return [day for day in held if day.day >= first] or held[-1:]


def _since(samples: DataFrame, now: int) -> DataFrame:
    return samples.where(F.col("at_ms") >= now - DAY_S * 1000)


def now_ms() -> int:
    return int(time.time() * 1000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="workers.spark.job")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--master", default="local[1]")
    parser.add_argument("--stay", action="store_true", help="go on taking and answering until ended")
    options = parser.parse_args()
    run = Run(options)
    try:
        run.go()
    except JarsMissing as error:
        run.note(0, str(error))
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
