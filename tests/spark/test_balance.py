"""Skew inside a topic, and partitions whose ISR or leader does not rest."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import frame, partition
from workers.spark.analyses.balance import flapping, skew
from workers.spark.analyses.moments import steps


def test_a_partition_that_has_most_of_a_topic_is_named(spark: SparkSession) -> None:
    rows = [partition(at, at * (7 if n == 2 else 1), number=n, size_bytes=100 * (1 + n)) for n in range(4) for at in (0, 10, 20)]
    (row,) = skew(steps(frame(spark, rows))).collect()
    assert (row.busiest, row.largest, row.partitions) == (2, 3, 4)
    assert row.rate_skew == pytest.approx(7 / 2.5)
    assert row.size_skew == pytest.approx(400 / 250)


def test_a_topic_where_nothing_is_written_has_no_skew_and_one_with_one_partition_is_none(spark: SparkSession) -> None:
    idle = [partition(at, 5, number=n) for n in (0, 1) for at in (0, 10)]
    alone = [partition(at, at, topic="alone") for at in (0, 10)]
    (row,) = skew(steps(frame(spark, idle + alone))).collect()
    assert (row.topic, row.rate_skew, row.size_skew, row.busiest) == ("orders", None, None, 0)


def test_each_change_between_samples_counts_once(spark: SparkSession) -> None:
    sizes, leaders = [3, 2, 2, 3, 1, 3], [1, 1, 2, 2, None, 2]
    rows = [partition(10 * n, 0, isr=isr, leader=leader) for n, (isr, leader) in enumerate(zip(sizes, leaders, strict=True))]
    still = [partition(10 * n, 0, number=1) for n in range(6)]
    (row,) = flapping(frame(spark, rows + still + rows[:1])).collect()
    assert (row.partition, row.shrinks, row.expands, row.leaders) == (0, 2, 2, 1)
    assert row.last_ms == rows[-1]["at_ms"]
