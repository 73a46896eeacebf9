"""When is the disk full, and where is a group's lag going?

A line's pace is the slope through its last day of hourly means. How far such a pace can be trusted is read from the past: at every hour
before, the same slope is compared with what the next `AHEAD_H` hours then brought; the interval holds the middle eight of ten of those
errors. That is scored as well: each hour's interval, from the errors that were known by then, either held what came or did not.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from workers.spark.analyses.moments import HOUR_S, window_start
from workers.spark.schemas import FORECAST, shaped

BACK_H, AHEAD_H = 24, 6
POINTS_LEAST = 6
"""Hourly means that a slope needs."""
ERRORS_LEAST = 8
"""Errors that an interval needs; with fewer it is unknown."""
LOW, HIGH = 0.1, 0.9
LINE = ["cluster", "name"]


def disks(samples: DataFrame) -> DataFrame:
    """`name` is the broker and its folder as JSON; the limit is the disk's size."""
    known = samples.where("kind = 'broker' and disk_used_bytes is not null and disk_total_bytes is not null")
    lines = known.select(
        "cluster",
        F.to_json(F.struct("broker", "folder")).alias("name"),
        "at_ms",
        F.col("disk_used_bytes").cast("double").alias("value"),
        F.col("disk_total_bytes").cast("double").alias("limit"),
    )
    return forecast(lines)


def lags(samples: DataFrame) -> DataFrame:
    """`name` is the group; the limit is 0: `eta_hours` is until it has caught up."""
    known = samples.where("kind = 'group' and lag is not null").dropDuplicates(["cluster", "group", "topic", "partition", "at_ms"])
    sums = known.groupBy("cluster", F.col("group").alias("name"), "at_ms").agg(F.sum("lag").cast("double").alias("value"))
    return forecast(sums.withColumn("limit", F.lit(0.0)))


def forecast(lines: DataFrame) -> DataFrame:
    """`lines` has cluster, name, at_ms, value, limit."""
    hours = (
        lines.groupBy(*LINE, window_start(HOUR_S))
        .agg(
            F.avg("value").alias("mean"),
            F.max("at_ms").alias("at_ms"),
            F.max_by("value", "at_ms").alias("value"),
            F.max_by("limit", "at_ms").alias("limit"),
        )
        .withColumn("hour", (F.unix_millis("window_start") / (HOUR_S * 1000)).cast("long"))
    )
    order = Window.partitionBy(*LINE).orderBy("hour")
    back = order.rangeBetween(-(BACK_H - 1), 0)
    paced = hours.withColumn("points", F.count("*").over(back)).withColumn(
        "pace", F.when(F.col("points") >= POINTS_LEAST, F.regr_slope(F.col("mean"), F.col("hour").cast("double")).over(back))
    )
    then = F.max("mean").over(order.rangeBetween(AHEAD_H, AHEAD_H))
    tried = paced.withColumn("error", (then - F.col("mean")) / AHEAD_H - F.col("pace"))
    known = order.rangeBetween(Window.unboundedPreceding, -AHEAD_H)
    scored = (
        tried.withColumn("errors", F.count("error").over(known))
        .withColumn("low", _quantile(LOW, known))
        .withColumn("high", _quantile(HIGH, known))
        .withColumn(
            "held",
            F.when((F.col("errors") >= ERRORS_LEAST) & F.col("error").isNotNull(), F.col("error").between(F.col("low"), F.col("high"))),
        )
    )
    last = (
        scored.groupBy(*LINE)
        .agg(
            F.count("held").alias("tries"),
            F.count(F.when(F.col("held"), 1)).alias("within"),
            F.max_by(F.struct("at_ms", "value", "limit", "pace", "errors", "low", "high"), "hour").alias("last"),
        )
        .select(*LINE, "tries", "within", "last.*")
    )
    trusted = F.col("errors") >= ERRORS_LEAST
    ends = (
        last.where("pace is not null")
        .withColumn("per_hour", F.col("pace"))
        .withColumn("low_per_hour", F.when(trusted, F.col("pace") + F.col("low")))
        .withColumn("high_per_hour", F.when(trusted, F.col("pace") + F.col("high")))
        .withColumn("eta_hours", _until("per_hour"))
        .withColumn("earliest_hours", F.least(_until("low_per_hour"), _until("high_per_hour")))
        .withColumn(
            "latest_hours",
            F.when(
                _until("low_per_hour").isNotNull() & _until("high_per_hour").isNotNull(),
                F.greatest(_until("low_per_hour"), _until("high_per_hour")),
            ),
        )
    )
    return shaped(ends, FORECAST)


def _quantile(share: float, over: object) -> Column:
    return F.percentile_approx("error", share, 1000).over(over)  # type: ignore[arg-type]


def _until(pace: str) -> Column:
    """Hours until the limit at that pace; null where it leads away from it."""
    hours = F.try_divide(F.col("limit") - F.col("value"), F.col(pace))
    return F.when(F.col("limit") == F.col("value"), F.lit(0.0)).when(hours >= 0, hours)
