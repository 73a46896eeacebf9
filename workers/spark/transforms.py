"""From samples to throughput and lag per window. Pure frames in, frames out."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from workers.spark.schemas import LAG, SAMPLE, THROUGHPUT, shaped

LONGEST_GAP_S = 120
"""Two samples further apart say nothing about the time between them: no rate is made up for it."""


def parse(records: DataFrame) -> DataFrame:
    """Kafka records (`value` as bytes) as samples; what is not a sample of version 1 is dropped."""
    parsed = records.select(F.from_json(F.col("value").cast("string"), SAMPLE).alias("sample")).select("sample.*")
    complete = F.col("at_ms").isNotNull() & F.col("cluster").isNotNull() & F.col("topic").isNotNull() & F.col("partition").isNotNull()
    return shaped(parsed.where((F.col("v") == 1) & F.col("kind").isin("partition", "group") & complete), SAMPLE)


def throughput(samples: DataFrame, window_s: int) -> DataFrame:
    """Bytes and records appended per second, per topic and window of `window_s` seconds.

    A partition's growth between two samples counts in the window of the later one. An end offset that fell (topic made
    anew, unclean election) and a gap over `LONGEST_GAP_S` count as unknown. Bytes come from the log's size, which retention
    makes fall: the mean bytes per record of the log, times the records appended.
    """
    order = Window.partitionBy("cluster", "topic", "partition").orderBy("at_ms")
    steps = (
        samples.where(F.col("kind") == "partition")
        .dropDuplicates(["cluster", "topic", "partition", "at_ms"])
        .withColumn("records", F.col("log_end_offset") - F.lag("log_end_offset").over(order))
        .withColumn("seconds", (F.col("at_ms") - F.lag("at_ms").over(order)) / F.lit(1000.0))
        .withColumn("record_bytes", _mean_record_bytes())
        .where((F.col("seconds") > 0) & (F.col("seconds") <= LONGEST_GAP_S) & (F.col("records") >= 0))
    )
    per_partition = steps.groupBy("cluster", "topic", "partition", _window_start(window_s)).agg(
        (F.sum("records") / F.sum("seconds")).alias("messages_per_s"),
        (F.sum(F.col("records") * F.col("record_bytes")) / F.sum("seconds")).alias("bytes_per_s"),
    )
    per_topic = per_partition.groupBy("cluster", "topic", "window_start").agg(
        F.sum("messages_per_s").alias("messages_per_s"), F.sum("bytes_per_s").alias("bytes_per_s")
    )
    return shaped(per_topic, THROUGHPUT)


def lag(samples: DataFrame, window_s: int) -> DataFrame:
    """Lag of each group on each topic: highest and mean, over the samples of a window, of the sum over its partitions."""
    moments = (
        samples.where((F.col("kind") == "group") & F.col("group").isNotNull() & F.col("lag").isNotNull())
        .dropDuplicates(["cluster", "group", "topic", "partition", "at_ms"])
        .groupBy("cluster", "group", "topic", "at_ms")
        .agg(F.sum("lag").alias("lag"))
    )
    windows = moments.groupBy("cluster", "group", "topic", _window_start(window_s)).agg(
        F.max("lag").alias("lag_max"), F.avg("lag").alias("lag_avg")
    )
    return shaped(windows, LAG)


def _window_start(window_s: int) -> Column:
    millis = window_s * 1000
    return F.timestamp_millis((F.floor(F.col("at_ms") / millis) * millis).cast("long")).alias("window_start")


def _mean_record_bytes() -> Column:
    kept = F.col("log_end_offset") - F.col("log_start_offset")
    return F.when(kept > 0, F.col("size_bytes") / kept)
