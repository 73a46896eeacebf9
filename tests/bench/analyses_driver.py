"""One driver of the bench of analyses: makes samples, reads them plainly, answers each question, and prints how long each took as JSON.

`python -m tests.bench.analyses_driver --rows 10000000 --folder …`. Plainly: each column of each sample is read from the same Parquet and
hashed, with nothing kept.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from workers.spark.analyses.moments import steps
from workers.spark.job import DAY_S, questions
from workers.spark.results import write_tables
from workers.spark.schemas import SAMPLE
from workers.spark.session import build

MASTER = "local[2]"
STEP_MS = 10_000
DAYS_MOST = 8
PARTITIONS_LEAST, PER_TOPIC = 1_000, 10
READ_BY_GROUPS, BROKERS = 150, 3
END_MS = 1_767_225_600_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    spark = build(MASTER, options.folder / "scratch")
    try:
        print(json.dumps(measured(spark, options.rows, options.folder)))
    finally:
        spark.stop()


def measured(spark: SparkSession, rows: int, folder: Path) -> dict[str, object]:
    """Seconds by name: `plain`, `steps` (what the others rest on), and each question."""
    made = str(folder / "samples")
    made_samples(spark, rows).write.parquet(made)
    week = spark.read.parquet(made)
    count = week.count()
    plain(week)  # all others find the files in memory too
    took = {"plain": seconds(lambda: plain(week))}
    grown = str(folder / "steps")
    took["steps"] = seconds(lambda: steps(week).write.parquet(grown))
    lately = week.where(F.col("at_ms") >= END_MS - DAY_S * 1000)
    for name, table in questions(week, lately, spark.read.parquet(grown), END_MS).items():
        took[name] = seconds(lambda name=name, table=table: write_tables({name: table}, folder / "tables"))  # type: ignore[misc]
    return {"rows": count, "took": took, "jvm_mb": jvm_peak_mb(spark)}


def made_samples(spark: SparkSession, rows: int) -> DataFrame:
    """About so many, one of each partition, of what groups read and of the brokers every ten seconds; with more than `DAYS_MOST` of
    moments there are more partitions instead."""
    moments_most = DAYS_MOST * DAY_S * 1000 // STEP_MS
    others = READ_BY_GROUPS + BROKERS
    partitions = max(PARTITIONS_LEAST, (rows // moments_most - others) // PER_TOPIC * PER_TOPIC)
    moments = min(max(rows // (partitions + others), 2), moments_most)
    of = spark.range(0, moments, 1, 16).withColumnRenamed("id", "moment").crossJoin(spark.range(partitions + others))
    number, moment = F.col("id"), F.col("moment")
    is_group, is_broker = number.between(partitions, partitions + READ_BY_GROUPS - 1), number >= partitions + READ_BY_GROUPS
    place = F.when(is_group, number - partitions).otherwise(number)
    end = moment * (100 + place % 50)
    committed = end - (place % 7) * 100
    found = {
        "v": F.lit(1),
        "cluster": F.lit("local"),
        "at_ms": F.lit(END_MS) - (F.lit(moments) - moment) * STEP_MS,
        "kind": F.when(is_group, "group").when(is_broker, "broker").otherwise("partition"),
        "topic": F.when(~is_broker, F.concat(F.lit("topic-"), (place / PER_TOPIC).cast("int"))),
        "partition": F.when(~is_broker, place % PER_TOPIC),
        "group": F.when(is_group, F.concat(F.lit("group-"), (place / PER_TOPIC).cast("int"))),
        "broker": F.when(is_broker, number - partitions - READ_BY_GROUPS + 1),
        "folder": F.when(is_broker, "/data"),
        "leader": F.when(~is_broker & ~is_group, place % BROKERS + 1),
        "isr": F.when(~is_broker & ~is_group, F.lit(3)),
        "log_end_offset": F.when(~is_broker, end),
        "log_start_offset": F.when(~is_broker & ~is_group, F.lit(0)),
        "size_bytes": F.when(~is_broker & ~is_group, end * 100),
        "committed": F.when(is_group, committed),
        "lag": F.when(is_group, end - committed),
        "disk_used_bytes": F.when(is_broker, F.lit(10**11) + moment * 10**5),
        "disk_total_bytes": F.when(is_broker, F.lit(10**12)),
    }
    return of.select(*(found.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in SAMPLE))


def plain(samples: DataFrame) -> None:
    samples.agg(F.sum(F.hash(*samples.columns).cast("long"))).collect()


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def jvm_peak_mb(spark: SparkSession) -> float:
    """The largest that the driver's JVM was; its executors are threads of it."""
    jvm = spark._jvm  # type: ignore[attr-defined]
    status = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) / 1024


if __name__ == "__main__":
    main()
