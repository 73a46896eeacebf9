"""Which partitions have more to do than the others of their topic, and which change their ISR or leader again and again?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from workers.spark.schemas import FLAPPING, SKEW, shaped

KEY = ["cluster", "topic", "partition"]


def skew(steps: DataFrame) -> DataFrame:
    """Of topics with two partitions or more; a skew is unknown where all have nothing."""
    each = steps.groupBy(*KEY).agg(
        (F.sum("records") / F.sum("seconds")).alias("per_s"), F.max_by("size_bytes", "at_ms").cast("double").alias("size")
    )
    topics = each.groupBy("cluster", "topic").agg(
        F.count("*").alias("partitions"),
        F.max_by("partition", F.struct("per_s", -F.col("partition"))).alias("busiest"),
        F.max("per_s").alias("busiest_per_s"),
        F.avg("per_s").alias("mean_per_s"),
        F.max_by("partition", F.struct("size", -F.col("partition"))).alias("largest"),
        F.max("size").alias("most"),
        F.avg("size").alias("mean_size"),
    )
    measured = (
        topics.where("partitions >= 2")
        .withColumn("rate_skew", F.try_divide("busiest_per_s", "mean_per_s"))
        .withColumn("size_skew", F.try_divide("most", "mean_size"))
    )
    return shaped(measured, SKEW)


def flapping(samples: DataFrame) -> DataFrame:
    """Partitions whose ISR or leader was another from one sample to the next; a topic's reassignment shows as an expand and a shrink."""
    order = Window.partitionBy(*KEY).orderBy("at_ms")
    seen = (
        samples.where((F.col("kind") == "partition") & F.col("isr").isNotNull())
        .dropDuplicates([*KEY, "at_ms"])
        .withColumn("isr_by", F.col("isr") - F.lag("isr").over(order))
        .withColumn("moved", F.col("leader") != F.lag("leader").over(order))
    )
    changed = seen.where((F.col("isr_by") != 0) | F.col("moved"))
    counts = changed.groupBy(*KEY).agg(
        F.count(F.when(F.col("isr_by") < 0, 1)).alias("shrinks"),
        F.count(F.when(F.col("isr_by") > 0, 1)).alias("expands"),
        F.count(F.when(F.col("moved"), 1)).alias("leaders"),
        F.max("at_ms").alias("last_ms"),
    )
    return shaped(counts, FLAPPING)
