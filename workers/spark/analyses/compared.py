"""What changed since yesterday?"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from workers.spark.analyses.moments import HOUR_S
from workers.spark.schemas import COMPARED, shaped

DAY_MS = 24 * 3600 * 1000


def two_days(samples: DataFrame, steps: DataFrame, now_ms: int) -> DataFrame:
    """The last 24 hours beside the 24 before, in those hours of which both have samples: `messages` and `bytes` a second of topics,
    `led` bytes a second of brokers, `lag` (mean) of groups."""
    topics = _both(
        steps.groupBy("cluster", F.col("topic").alias("name"), "at_ms").agg(
            F.sum(F.col("records") / F.col("seconds")).alias("messages"), F.sum(F.col("bytes") / F.col("seconds")).alias("bytes")
        ),
        now_ms,
        ["messages", "bytes"],
    )
    brokers = _both(
        steps.where("leader is not null")
        .groupBy("cluster", F.col("leader").cast("string").alias("name"), "at_ms")
        .agg(F.sum(F.col("bytes") / F.col("seconds")).alias("led")),
        now_ms,
        ["led"],
    )
    lag = samples.where("kind = 'group' and lag is not null").dropDuplicates(["cluster", "group", "topic", "partition", "at_ms"])
    groups = _both(
        lag.groupBy("cluster", F.col("group").alias("name"), "at_ms").agg(F.sum("lag").cast("double").alias("lag")), now_ms, ["lag"]
    )
    return shaped(topics.unionByName(brokers).unionByName(groups), COMPARED)


def _both(moments: DataFrame, now_ms: int, whats: list[Column | str]) -> DataFrame:
    """Hourly means of both days side by side, then the mean over the hours that both have."""
    back = F.when(F.col("at_ms") >= now_ms - DAY_MS, F.lit("after")).otherwise(F.lit("before"))
    hour = F.floor((F.lit(now_ms) - F.col("at_ms")) % DAY_MS / (HOUR_S * 1000))
    hours = (
        moments.where((F.col("at_ms") >= now_ms - 2 * DAY_MS) & (F.col("at_ms") < now_ms))
        .unpivot(["cluster", "name", "at_ms"], whats, "what", "value")
        .where("value is not null")
        .groupBy("cluster", "name", "what", hour.alias("hour"))
        .agg(F.avg(F.when(back == "before", F.col("value"))).alias("before"), F.avg(F.when(back == "after", F.col("value"))).alias("after"))
    )
    both = hours.where("before is not null and after is not null")
    return both.groupBy("cluster", "name", "what").agg(
        F.avg("before").alias("before"), F.avg("after").alias("after"), F.count("*").alias("hours")
    )
