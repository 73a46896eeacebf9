"""Throughput and lag from samples, on frames small enough to check by hand."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from workers.spark.schemas import SAMPLE, SchemaMismatch, shaped
from workers.spark.transforms import lag, parse, throughput

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed:ResourceWarning"
)  # py4j leaves its sockets to the garbage collector

START_MS = 1_700_000_040_000  # a whole minute
BLANK = {field.name: None for field in SAMPLE}


def partition(at_s: int, end: int | None, topic: str = "orders", number: int = 0, size: int = 0, start: int = 0) -> dict[str, Any]:
    return {
        **BLANK,
        "v": 1,
        "kind": "partition",
        "cluster": "local",
        "topic": topic,
        "partition": number,
        "at_ms": START_MS + at_s * 1000,
        "log_end_offset": end,
        "log_start_offset": start,
        "size_bytes": size,
    }


def group(at_s: int, behind: int | None, number: int = 0) -> dict[str, Any]:
    return {
        **BLANK,
        "v": 1,
        "kind": "group",
        "cluster": "local",
        "group": "billing",
        "topic": "orders",
        "partition": number,
        "at_ms": START_MS + at_s * 1000,
        "lag": behind,
    }


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([tuple(row[field.name] for field in SAMPLE) for row in rows], SAMPLE)


def by_window(result: DataFrame) -> dict[int, Any]:
    """Rows by seconds since the start."""
    zero = datetime.fromtimestamp(START_MS / 1000)  # Spark gives local time without a zone
    return {int((row.window_start - zero).total_seconds()): row for row in result.collect()}


def test_growth_between_samples_is_the_rate_of_the_window_it_ends_in(spark: SparkSession) -> None:
    samples = frame(spark, [partition(0, 0), partition(10, 100, size=1000), partition(20, 300, size=3000)])
    row = by_window(throughput(samples, 60))[0]
    assert row.messages_per_s == pytest.approx(300 / 20)
    assert row.bytes_per_s == pytest.approx(300 * 10 / 20)


def test_partitions_of_a_topic_add_up(spark: SparkSession) -> None:
    rows = [partition(at, at * 10, number=n) for n in (0, 1) for at in (0, 10)]
    assert by_window(throughput(frame(spark, rows), 60))[0].messages_per_s == pytest.approx(20)


def test_an_end_that_fell_is_not_a_negative_rate(spark: SparkSession) -> None:
    """A topic deleted and made anew, or an unclean election."""
    samples = frame(spark, [partition(0, 1000), partition(10, 1100), partition(20, 50), partition(30, 150)])
    assert by_window(throughput(samples, 60))[0].messages_per_s == pytest.approx(200 / 20)


def test_a_long_gap_makes_no_rate_up(spark: SparkSession) -> None:
    samples = frame(spark, [partition(0, 0), partition(600, 6000)])
    assert throughput(samples, 60).count() == 0


def test_an_unknown_end_is_unknown_not_zero(spark: SparkSession) -> None:
    samples = frame(spark, [partition(0, 0), partition(10, None), partition(20, 200)])
    assert throughput(samples, 60).count() == 0


def test_a_sample_read_twice_counts_once(spark: SparkSession) -> None:
    samples = frame(spark, [partition(0, 0), partition(10, 100), partition(10, 100)])
    assert by_window(throughput(samples, 60))[0].messages_per_s == pytest.approx(10)


def test_lag_is_summed_over_partitions_then_taken_over_the_window(spark: SparkSession) -> None:
    rows = [group(0, 10, 0), group(0, 5, 1), group(10, 30, 0), group(10, 15, 1), group(70, 1, 0), group(70, None, 1)]
    found = by_window(lag(frame(spark, rows), 60))
    assert (found[0].lag_max, found[0].lag_avg) == (45, 30.0)
    assert found[60].lag_max == 1


def test_what_is_not_a_sample_is_dropped(spark: SparkSession) -> None:
    """Hostile or old records in the topic: not JSON, another version, fields missing or of another type."""
    good = json.dumps(partition(0, 7)).encode()
    bad = [b"", b"{", b"\xff\xfe", b"[]", b'{"v":2,"kind":"partition"}', b'{"v":1,"kind":"partition","at_ms":"soon"}', b"null"]
    records = spark.createDataFrame([(bytearray(value),) for value in [good, *bad]], "value binary")
    assert [row.log_end_offset for row in parse(records).collect()] == [7]


def test_a_wrong_column_is_named(spark: SparkSession) -> None:
    with pytest.raises(SchemaMismatch, match="at_ms"):
        shaped(spark.createDataFrame([(1,)], "v int"), SAMPLE)
