"""What is unusual now, for this hour of the day?"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from workers.spark.analyses.moments import HOUR_S, window_start
from workers.spark.schemas import PROFILE, shaped

DAYS_LEAST = 3
DAY_MS = 24 * 3600 * 1000
SPREAD_LEAST = 0.05
"""A topic that is always the same still varies by so much of what is usual, before anything is called unusual."""


def profile(steps: DataFrame, now_ms: int) -> DataFrame:
    """Each hour of the last day, beside the same hour of the days before: their median, and how far they spread around it.

    The spread is 1.4826 times the median distance from the median (that of a normal distribution's sigma), and at least `SPREAD_LEAST`
    of the median. An hour of which less than half was sampled is left out on both sides.
    """
    hours = (
        steps.groupBy("cluster", "topic", window_start(HOUR_S), "at_ms")
        .agg(F.sum(F.col("records") / F.col("seconds")).alias("per_s"), F.max("seconds").alias("seconds"))
        .groupBy("cluster", "topic", "window_start")
        .agg((F.sum(F.col("per_s") * F.col("seconds")) / F.sum("seconds")).alias("messages_per_s"), F.sum("seconds").alias("sampled_s"))
        .where(F.col("sampled_s") >= HOUR_S / 2)
        .withColumn("hour", F.hour("window_start"))
    )
    edge = F.timestamp_millis(F.lit(now_ms - DAY_MS))
    today = hours.where(F.col("window_start") >= edge)
    before = hours.where(F.col("window_start") < edge).select("cluster", "topic", "hour", F.col("messages_per_s").alias("then"))
    medians = before.groupBy("cluster", "topic", "hour").agg(F.median("then").alias("usual"), F.count("*").alias("days"))
    spreads = (
        before.join(medians, ["cluster", "topic", "hour"])
        .groupBy("cluster", "topic", "hour", "usual", "days")
        .agg((F.median(F.abs(F.col("then") - F.col("usual"))) * F.lit(1.4826)).alias("around"))
        .withColumn("spread", F.greatest(F.col("around"), F.col("usual") * F.lit(SPREAD_LEAST)))
    )
    joined = today.join(spreads, ["cluster", "topic", "hour"], "left").withColumn("days", F.coalesce(F.col("days"), F.lit(0)).cast("long"))
    off = F.try_divide(F.col("messages_per_s") - F.col("usual"), F.col("spread"))
    judged = joined.withColumn("deviation", F.when(F.col("days") >= DAYS_LEAST, off))
    return shaped(judged, PROFILE)
