"""What goes in and comes out of the transforms; each result is checked against its schema when it is made."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, IntegerType, LongType, StringType, StructField, StructType, TimestampType


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


INT, LONG, DOUBLE, TEXT, MOMENT = IntegerType(), LongType(), DoubleType(), StringType(), TimestampType()

SAMPLE = _struct(
    v=INT,
    at_ms=LONG,
    cluster=TEXT,
    kind=TEXT,
    topic=TEXT,
    partition=INT,
    group=TEXT,
    broker=INT,
    folder=TEXT,
    leader=INT,
    leader_epoch=INT,
    isr=INT,
    replicas=INT,
    log_end_offset=LONG,
    high_watermark=LONG,
    log_start_offset=LONG,
    size_bytes=LONG,
    committed=LONG,
    lag=LONG,
    disk_used_bytes=LONG,
    disk_total_bytes=LONG,
)
"""One sample as the topic's records hold it; unknown is null."""

RATES = {f"{what}_{how}": DOUBLE for what in ("messages", "bytes") for how in ("mean", "p50", "p95", "max")}
"""A second: over the moments of a window."""
TOPIC_THROUGHPUT = _struct(cluster=TEXT, topic=TEXT, window_start=MOMENT, **RATES)
BROKER_THROUGHPUT = _struct(cluster=TEXT, broker=INT, window_start=MOMENT, **RATES)
PARTITION_THROUGHPUT = _struct(cluster=TEXT, topic=TEXT, partition=INT, **RATES)
LAG = _struct(cluster=TEXT, group=TEXT, topic=TEXT, window_start=MOMENT, lag_max=LONG, lag_avg=DOUBLE)
CATCHING_UP = _struct(
    cluster=TEXT,
    group=TEXT,
    topic=TEXT,
    partition=INT,
    at_ms=LONG,
    lag=LONG,
    reads_per_s=DOUBLE,
    grows_per_s=DOUBLE,
    lag_per_s=DOUBLE,
    eta_s=DOUBLE,
)
"""Of a group, its slowest partition; `eta_s` is null where it does not catch up."""
SKEW = _struct(
    cluster=TEXT,
    topic=TEXT,
    partitions=LONG,
    busiest=INT,
    busiest_per_s=DOUBLE,
    mean_per_s=DOUBLE,
    rate_skew=DOUBLE,
    largest=INT,
    size_skew=DOUBLE,
)
"""`rate_skew`: the busiest partition's rate by the mean of all; `size_skew` the same of bytes."""
FLAPPING = _struct(cluster=TEXT, topic=TEXT, partition=INT, shrinks=LONG, expands=LONG, leaders=LONG, last_ms=LONG)
"""Changes between samples: what came and went within 10 s is not among them."""
PROFILE = _struct(
    cluster=TEXT, topic=TEXT, window_start=MOMENT, messages_per_s=DOUBLE, usual=DOUBLE, spread=DOUBLE, days=LONG, deviation=DOUBLE
)
"""`usual`: the median of the same hour on the days before; `deviation` in spreads, null with fewer than three days."""
FORECAST = _struct(
    cluster=TEXT,
    name=TEXT,
    at_ms=LONG,
    value=DOUBLE,
    per_hour=DOUBLE,
    low_per_hour=DOUBLE,
    high_per_hour=DOUBLE,
    limit=DOUBLE,
    eta_hours=DOUBLE,
    earliest_hours=DOUBLE,
    latest_hours=DOUBLE,
    tries=LONG,
    within=LONG,
)
"""Where a line goes: at least `low_per_hour`, at most `high_per_hour`, as `within` of `tries` forecasts of the past would have held."""
COMPARED = _struct(cluster=TEXT, what=TEXT, name=TEXT, before=DOUBLE, after=DOUBLE, hours=LONG)
"""The last day and the one before it, over those hours that both have samples of."""


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
