"""Throughput of topics, partitions and brokers, on frames small enough to check by hand."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.samples import Row, by_window, frame, partition
from workers.spark.analyses.moments import steps
from workers.spark.analyses.throughput import per_broker, per_partition, per_topic
from workers.spark.parsing import NUMBER_MAX


def topics(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return per_topic(steps(frame(spark, rows)), 60)


def test_growth_between_samples_is_the_rate_of_the_window_it_ends_in(spark: SparkSession) -> None:
    row = by_window(topics(spark, [partition(0, 0), partition(10, 100, size_bytes=1000), partition(20, 300, size_bytes=3000)]))[0]
    assert row.messages_mean == pytest.approx(300 / 20)
    assert row.bytes_mean == pytest.approx(300 * 10 / 20)
    assert (row.messages_p50, row.messages_max) == (15.0, 20.0)


def test_partitions_of_a_topic_add_up_at_each_moment(spark: SparkSession) -> None:
    """Two that are busy in turn make a topic that always has the same to do."""
    rows = [partition(at, 100 * ((at + 10 * n) // 20), number=n) for n in (0, 1) for at in (0, 10, 20, 30, 40)]
    row = by_window(topics(spark, rows))[0]
    assert (row.messages_mean, row.messages_p50, row.messages_max) == (10.0, 10.0, 10.0)


def test_a_burst_shows_in_the_highest_and_not_in_the_median(spark: SparkSession) -> None:
    ends = [0, 10, 20, 30, 530, 540]
    row = by_window(topics(spark, [partition(10 * n, end) for n, end in enumerate(ends)]))[0]
    assert (row.messages_p50, row.messages_max) == (1.0, 50.0)
    assert row.messages_mean == pytest.approx(540 / 50)
    assert row.messages_p95 > 30


def test_the_mean_is_weighted_by_time(spark: SparkSession) -> None:
    """A sample after a hole of a minute stands for all of that minute."""
    row = by_window(topics(spark, [partition(0, 0), partition(50, 0), partition(59, 590)]))[0]
    assert row.messages_mean == pytest.approx(10.0)


def test_an_end_that_fell_is_not_a_negative_rate(spark: SparkSession) -> None:
    """A topic deleted and made anew, or an unclean election."""
    rows = [partition(0, 1000), partition(10, 1100), partition(20, 50), partition(30, 150)]
    assert by_window(topics(spark, rows))[0].messages_mean == pytest.approx(200 / 20)


def test_a_long_gap_makes_no_rate_up(spark: SparkSession) -> None:
    assert topics(spark, [partition(0, 0), partition(600, 6000)]).count() == 0


def test_an_unknown_end_is_unknown_not_zero(spark: SparkSession) -> None:
    assert topics(spark, [partition(0, 0), partition(10, None), partition(20, 200)]).count() == 0


def test_bytes_of_an_unknown_size_are_unknown_and_records_are_not(spark: SparkSession) -> None:
    row = by_window(topics(spark, [partition(0, 0, size_bytes=None), partition(10, 100, size_bytes=None)]))[0]
    assert (row.messages_mean, row.bytes_mean, row.bytes_p95, row.bytes_max) == (10.0, None, None, None)


def test_a_sample_read_twice_counts_once(spark: SparkSession) -> None:
    assert by_window(topics(spark, [partition(0, 0), partition(10, 100), partition(10, 100)]))[0].messages_mean == pytest.approx(10)


def test_a_broker_has_what_it_led_when_it_was_written(spark: SparkSession) -> None:
    rows = [partition(0, 0, leader=1), partition(10, 100, leader=1), partition(20, 400, leader=2), partition(30, 400, leader=None)]
    found = {row.broker: row.messages_mean for row in per_broker(steps(frame(spark, rows)), 60).collect()}
    assert found == {1: 10.0, 2: 30.0}


def test_a_partition_is_one_row_over_all_of_the_time(spark: SparkSession) -> None:
    rows = [partition(at, at * (1 + n), number=n) for n in (0, 1) for at in range(0, 300, 10)]
    found = {row.partition: row.messages_mean for row in per_partition(steps(frame(spark, rows))).collect()}
    assert found == {0: pytest.approx(1.0), 1: pytest.approx(2.0)}


def test_the_largest_numbers_that_pass_overflow_nowhere(spark: SparkSession) -> None:
    rows = [partition(0, 0), partition(10, NUMBER_MAX, size_bytes=NUMBER_MAX), *(partition(at, NUMBER_MAX, number=1) for at in (0, 10))]
    row = by_window(topics(spark, rows))[0]
    assert (row.messages_max, row.bytes_max) == (NUMBER_MAX / 10, NUMBER_MAX / 10)
