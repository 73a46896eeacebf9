"""Which topic, partition or broker has how much to do: mean, median, 95th percentile and highest of a window's moments."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from workers.spark.analyses.moments import window_start
from workers.spark.schemas import BROKER_THROUGHPUT, PARTITION_THROUGHPUT, RATES, TOPIC_THROUGHPUT, shaped


def per_topic(steps: DataFrame, window_s: int) -> DataFrame:
    """At each moment the sum over the partitions that were known at it. Bytes are unknown where no partition's are known."""
    return shaped(_windows(_at_once(steps, ["cluster", "topic"]), ["cluster", "topic"], window_s), TOPIC_THROUGHPUT)


def per_broker(steps: DataFrame, window_s: int) -> DataFrame:
    """What was appended on each leader; what had no known leader is nobody's."""
    led = steps.where(F.col("leader").isNotNull()).withColumnRenamed("leader", "broker")
    return shaped(_windows(_at_once(led, ["cluster", "broker"]), ["cluster", "broker"], window_s), BROKER_THROUGHPUT)


def per_partition(steps: DataFrame) -> DataFrame:
    """Over all of the time that is given, as one window."""
    names = ["cluster", "topic", "partition"]
    return shaped(_aggregated(_at_once(steps, names), names), PARTITION_THROUGHPUT)


def _at_once(steps: DataFrame, names: list[str]) -> DataFrame:
    """`messages` and `bytes` a second at each moment, with the seconds that it stands for."""
    return steps.groupBy(*names, "at_ms").agg(
        F.sum(F.col("records") / F.col("seconds")).alias("messages"),
        F.sum(F.col("bytes") / F.col("seconds")).alias("bytes_"),
        F.max("seconds").alias("seconds"),
    )


def _windows(moments: DataFrame, names: list[str], window_s: int) -> DataFrame:
    return _aggregated(moments, [*names, window_start(window_s)])


def _aggregated(moments: DataFrame, by: list[Any]) -> DataFrame:
    """The mean is weighted by time: a moment after a hole stands for more of it."""
    columns = []
    for name in RATES:
        what, how = name.split("_")
        value = F.col("messages" if what == "messages" else "bytes_")
        if how == "mean":
            known = F.when(value.isNotNull(), F.col("seconds"))
            columns.append(F.try_divide(F.sum(value * F.col("seconds")), F.sum(known)).alias(name))
        elif how == "max":
            columns.append(F.max(value).alias(name))
        else:
            columns.append(F.percentile(value, float(how.removeprefix("p")) / 100).alias(name))
    return moments.groupBy(*by).agg(*columns)
