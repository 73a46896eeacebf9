"""What goes in and comes out of the transforms; each result is checked against its schema when it is made."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

SAMPLE = StructType(
    [
        StructField("v", IntegerType()),
        StructField("at_ms", LongType()),
        StructField("cluster", StringType()),
        StructField("kind", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("group", StringType()),
        StructField("log_end_offset", LongType()),
        StructField("high_watermark", LongType()),
        StructField("log_start_offset", LongType()),
        StructField("size_bytes", LongType()),
        StructField("committed", LongType()),
        StructField("lag", LongType()),
    ]
)
"""One sample as the topic's records hold it; unknown is null."""

THROUGHPUT = StructType(
    [
        StructField("cluster", StringType()),
        StructField("topic", StringType()),
        StructField("window_start", TimestampType()),
        StructField("bytes_per_s", DoubleType()),
        StructField("messages_per_s", DoubleType()),
    ]
)
LAG = StructType(
    [
        StructField("cluster", StringType()),
        StructField("group", StringType()),
        StructField("topic", StringType()),
        StructField("window_start", TimestampType()),
        StructField("lag_max", LongType()),
        StructField("lag_avg", DoubleType()),
    ]
)


class SchemaMismatch(Exception):
    """A frame has not the columns it should have; the message names the first that differs."""


def shaped(frame: DataFrame, schema: StructType) -> DataFrame:
    """The frame with exactly the schema's columns, or `SchemaMismatch`."""
    for field in schema:
        if field.name not in frame.columns:
            raise SchemaMismatch(f"column {field.name} is missing")
        found = frame.schema[field.name].dataType
        if found != field.dataType:
            raise SchemaMismatch(f"column {field.name} is {found.simpleString()}, not {field.dataType.simpleString()}")
    return frame.select([field.name for field in schema])
