"""What happened between a partition's samples, and windows of time. All rates come from here."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

LONGEST_GAP_S = 120
"""Two samples further apart say nothing about the time between them: no rate is made up for it."""
HOUR_S = 3600


def steps(samples: DataFrame) -> DataFrame:
    """Per partition and sample what was appended since the one before: `records`, `bytes`, `seconds`, beside what the sample itself has.

    An end offset that fell (topic made anew, unclean election), a gap over `LONGEST_GAP_S` and unknown ends are left out. Bytes come from
    the log's size, which retention makes fall: the mean bytes per record of the log, times the records appended. Of two samples of one
    moment the second has no time between: it is left out too.
    """
    order = Window.partitionBy("cluster", "topic", "partition").orderBy("at_ms")
    kept = F.col("log_end_offset") - F.col("log_start_offset")
    return (
        samples.where(F.col("kind") == "partition")
        .withColumn("records", F.col("log_end_offset") - F.lag("log_end_offset").over(order))
        .withColumn("seconds", (F.col("at_ms") - F.lag("at_ms").over(order)) / F.lit(1000.0))
        .where((F.col("seconds") > 0) & (F.col("seconds") <= LONGEST_GAP_S) & (F.col("records") >= 0))
        .withColumn("bytes", F.when(F.col("records") == 0, F.lit(0.0)).when(kept > 0, F.col("records") * (F.col("size_bytes") / kept)))
        .select("cluster", "topic", "partition", "leader", "at_ms", "records", "bytes", "seconds", "size_bytes", "log_end_offset")
    )


def window_start(window_s: int) -> Column:
    millis = window_s * 1000
    return F.timestamp_millis((F.floor(F.col("at_ms") / millis) * millis).cast("long")).alias("window_start")
