"""From the topic's records to samples, and to what is set aside. Pure frames in, frames out."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from workers.spark.schemas import SAMPLE

KINDS = ("partition", "group", "broker")
AHEAD_MS = 3600 * 1000
"""A sample may be so far ahead of this machine's clock."""

NO_SAMPLE, UNKNOWN_KIND, INCOMPLETE, WRONG_TIME = "no sample", "unknown kind", "incomplete", "wrong time"
OUT_OF_RANGE = "out of range"
REASONS = (NO_SAMPLE, UNKNOWN_KIND, INCOMPLETE, WRONG_TIME, OUT_OF_RANGE)
NUMBER_MAX = 10**15
"""No offset or size is larger: sums and products of those that pass overflow nowhere."""
COUNTED = tuple(field.name for field in SAMPLE if isinstance(field.dataType, LongType) and field.name != "at_ms")


def parse(records: DataFrame, now_ms: int, keep_ms: int) -> DataFrame:
    """Kafka records (`value` as bytes) as samples, with the record's place (`from_partition`, `from_offset`) and `why`: null of a sample,
    else the reason for which it is set aside. `wrong time`: older than what is kept, or from a clock that has jumped ahead."""
    place = [F.col("partition").alias("from_partition"), F.col("offset").alias("from_offset")]
    parsed = records.select(*place, F.from_json(F.col("value").cast("string"), SAMPLE).alias("sample")).select(
        "from_partition", "from_offset", "sample.*"
    )
    judged = parsed.withColumn("why", _why(now_ms, keep_ms))
    return judged.withColumn("day", F.when(F.col("why").isNull(), F.to_date(F.timestamp_millis("at_ms"))))


def _why(now_ms: int, keep_ms: int) -> Column:
    kind = F.col("kind")
    named = F.when(kind == "broker", F.col("broker").isNotNull()).otherwise(F.col("topic").isNotNull() & F.col("partition").isNotNull())
    named &= (kind != "group") | F.col("group").isNotNull()
    at = F.col("at_ms")
    beyond = reduce(Column.__or__, (F.coalesce(~F.col(name).between(0, NUMBER_MAX), F.lit(False)) for name in COUNTED))
    return (
        F.when(F.coalesce(F.col("v"), F.lit(0)) != 1, NO_SAMPLE)
        .when(kind.isNull() | ~kind.isin(*KINDS), UNKNOWN_KIND)
        .when(F.col("cluster").isNull() | at.isNull() | ~named, INCOMPLETE)
        .when((at < now_ms - keep_ms) | (at > now_ms + AHEAD_MS), WRONG_TIME)
        .when(beyond, OUT_OF_RANGE)
    )
