"""The analytics driver: read what is new in the topic, append it to Parquet, summarise the windows it touches.

`python -m workers.spark.job --bootstrap-servers … --topic … --folder … --window-seconds 60`. The folder holds

    checkpoint/   Spark's, so that each record is read once
    samples/      Parquet, by day
    summary.json  {"throughput": [...], "lag": [...], "samples": n, "ended_at_ms": t}, written last and atomically
    progress.json {"done": n, "total": 4, "message": "..."}

A driver killed at any point leaves the checkpoint and Parquet as Spark committed them; the next one goes on from there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_core.local.maven import JarsMissing
from workers.spark.session import build
from workers.spark.transforms import lag, parse, throughput

STEPS = 4
KEEP_DAYS = 7
MOST_ROWS = 50_000
MOST_RECORDS_PER_BATCH = 500_000


def run(options: argparse.Namespace) -> None:
    """The whole job; raises what Spark raises."""
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    note(folder, 0, "starting Spark")
    spark = build(options.master, folder / "scratch")
    try:
        note(folder, 1, f"reading new samples from {options.topic}")
        ingest(spark, options.bootstrap_servers, options.topic, folder)
        note(folder, 2, "summarising")
        summary = summarise(spark, folder, options.window_seconds, options.hours)
        note(folder, 3, "writing the summary")
        write_json(folder / "summary.json", summary)
        drop_old(folder / "samples", datetime.now(UTC))
        note(folder, STEPS, f"{summary['samples']} samples in the last {options.hours} hours")
    finally:
        spark.stop()
        shutil.rmtree(folder / "scratch", ignore_errors=True)


def ingest(spark: SparkSession, bootstrap_servers: str, topic: str, folder: Path) -> None:
    """Everything up to the topic's end as of now, appended to Parquet exactly once."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "false")
        .option("maxOffsetsPerTrigger", MOST_RECORDS_PER_BATCH)
        .load()
    )
    samples = parse(records).withColumn("day", F.to_date(F.timestamp_millis(F.col("at_ms"))))
    query = (
        samples.writeStream.format("parquet")
        .partitionBy("day")
        .option("path", str(folder / "samples"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def summarise(spark: SparkSession, folder: Path, window_s: int, hours: int) -> dict[str, Any]:
    """Throughput and lag of the last `hours`, as rows; at most `MOST_ROWS` of each, the newest."""
    samples = recent(spark, folder / "samples", hours)
    if samples is None:
        return {"throughput": [], "lag": [], "samples": 0, "ended_at_ms": _now_ms()}
    samples.cache()
    result = {
        "throughput": rows(throughput(samples, window_s)),
        "lag": rows(lag(samples, window_s)),
        "samples": samples.count(),
        "window_seconds": window_s,
        "ended_at_ms": _now_ms(),
    }
    samples.unpersist()
    return result


def recent(spark: SparkSession, folder: Path, hours: int) -> DataFrame | None:
    """The samples of the last `hours`; None when nothing has been written yet."""
    if not (folder / "_spark_metadata").exists():
        return None
    since_ms = _now_ms() - hours * 3600 * 1000
    frame = spark.read.parquet(str(folder))
    return frame.where((F.col("at_ms") >= since_ms) & (F.col("day") >= F.to_date(F.timestamp_millis(F.lit(since_ms)))))


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """A frame's newest rows as plain values; the window's start in ms since the epoch."""
    flat = frame.withColumn("window_start_ms", F.unix_millis("window_start")).drop("window_start")
    return [row.asDict() for row in flat.orderBy(F.desc("window_start_ms")).limit(MOST_ROWS).collect()]


def drop_old(folder: Path, now: datetime) -> None:
    """Removes the days before the last `KEEP_DAYS`."""
    edge = (now - timedelta(days=KEEP_DAYS)).date().isoformat()
    for day in folder.glob("day=*"):
        if day.name.removeprefix("day=") < edge:
            shutil.rmtree(day, ignore_errors=True)


def note(folder: Path, done: int, message: str) -> None:
    write_json(folder / "progress.json", {"done": done, "total": STEPS, "message": message})


def write_json(path: Path, value: Any) -> None:
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(value), encoding="utf-8")
    temporary.replace(path)


def _now_ms() -> int:
    return int(time.time() * 1000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="workers.spark.job")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--window-seconds", type=int, default=60)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--master", default="local[1]")
    options = parser.parse_args()
    try:
        run(options)
    except JarsMissing as error:
        note(Path(options.folder), 0, str(error))
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
