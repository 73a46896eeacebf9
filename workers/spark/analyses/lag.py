"""Who falls behind, and when will it have caught up?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from workers.spark.analyses.moments import window_start
from workers.spark.schemas import CATCHING_UP, LAG, shaped

LATELY_S = 1800
"""The pace at which a group reads is that of the last half hour."""
LEAST_S = 60
"""A pace over less time says nothing."""
KEY = ["cluster", "group", "topic", "partition"]


def per_group(samples: DataFrame, window_s: int) -> DataFrame:
    """Lag of each group on each topic: highest and mean, over the samples of a window, of the sum over its partitions."""
    moments = _known(samples).groupBy("cluster", "group", "topic", "at_ms").agg(F.sum("lag").alias("lag"))
    windows = moments.groupBy("cluster", "group", "topic", window_start(window_s)).agg(
        F.max("lag").alias("lag_max"), F.avg("lag").alias("lag_avg")
    )
    return shaped(windows, LAG)


def catching_up(samples: DataFrame, now_ms: int) -> DataFrame:
    """Of each group the partition that it will have caught up with last, or never at its pace of the last half hour.

    Counted from the last rewind on: a commit that goes back is another beginning. `lag_per_s` is the slope of a line through all samples
    of that time; `reads_per_s` and `grows_per_s` are from its first to its last.
    """
    order = Window.partitionBy(*KEY).orderBy("at_ms")
    lately = _known(samples).where((F.col("at_ms") >= now_ms - LATELY_S * 1000) & F.col("committed").isNotNull())
    runs = lately.withColumn(
        "run", F.sum(F.when(F.col("committed") < F.lag("committed").over(order), 1).otherwise(0)).over(order)
    ).withColumn("last_run", F.max("run").over(Window.partitionBy(*KEY)))
    seconds = F.col("at_ms") / F.lit(1000.0)
    span = (F.max("at_ms") - F.min("at_ms")) / F.lit(1000.0)
    paces = (
        runs.where("run = last_run")
        .groupBy(*KEY)
        .agg(
            F.max("at_ms").alias("at_ms"),
            F.max_by("lag", "at_ms").alias("lag"),
            F.regr_slope(F.col("lag"), seconds).alias("lag_per_s"),
            F.try_divide(F.max("committed") - F.min("committed"), span).alias("reads_per_s"),
            F.try_divide(F.max_by("log_end_offset", "at_ms") - F.min_by("log_end_offset", "at_ms"), span).alias("grows_per_s"),
            span.alias("span"),
        )
        .where(F.col("span") >= LEAST_S)
    )
    timed = paces.withColumn(
        "eta_s", F.when(F.col("lag") == 0, F.lit(0.0)).when(F.col("lag_per_s") < 0, F.col("lag") / -F.col("lag_per_s"))
    )
    slowest = Window.partitionBy("cluster", "group").orderBy(F.col("eta_s").desc_nulls_first(), F.col("lag").desc(), "topic", "partition")
    return shaped(timed.withColumn("place", F.row_number().over(slowest)).where("place = 1"), CATCHING_UP)


def _known(samples: DataFrame) -> DataFrame:
    return samples.where((F.col("kind") == "group") & F.col("lag").isNotNull()).dropDuplicates([*KEY, "at_ms"])
