"""Lag over time, and when a group will have caught up."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import START_MS, Row, by_window, frame, group
from workers.spark.analyses.lag import catching_up, per_group

NOW_MS = START_MS + 600_000


def caught_up(spark: SparkSession, rows: list[Row], now_ms: int = NOW_MS) -> Any:
    (row,) = catching_up(frame(spark, rows), now_ms).collect()
    return row


def test_lag_is_summed_over_partitions_then_taken_over_the_window(spark: SparkSession) -> None:
    rows = [group(0, 10, 0), group(0, 5, 1), group(10, 30, 0), group(10, 15, 1), group(70, 1, 0), group(70, None, 1)]
    found = by_window(per_group(frame(spark, rows), 60))
    assert (found[0].lag_max, found[0].lag_avg) == (45, 30.0)
    assert found[60].lag_max == 1


def test_a_sample_that_was_written_twice_counts_once(spark: SparkSession) -> None:
    """Its writer was not answered and wrote it again."""
    rows = [group(0, 10, 0), group(0, 10, 0), group(0, 5, 1)]
    assert by_window(per_group(frame(spark, rows), 60))[0].lag_max == 15


def test_the_slowest_partition_says_when_the_group_has_caught_up(spark: SparkSession) -> None:
    """The first closes 10 records a second and has 4 000 left; the second 1 a second and 900 left: 900 s, not 400 s or (4 900 / 11) s."""
    rows = [group(at, 10_000 - 10 * at, 0, committed=20 * at) for at in range(0, 601, 10)]
    rows += [group(at, 1_500 - at, 1, committed=2 * at) for at in range(0, 601, 10)]
    row = caught_up(spark, rows)
    assert (row.partition, row.lag) == (1, 900)
    assert row.eta_s == pytest.approx(900)
    assert row.reads_per_s == pytest.approx(2)
    assert row.grows_per_s == pytest.approx(1)


@pytest.mark.parametrize(("behind", "eta"), [(lambda at: 100 + at, None), (lambda at: 100, None), (lambda at: 0, 0.0)])
def test_who_falls_behind_or_stands_still_has_no_time_and_who_is_level_has_none_to_wait(spark: SparkSession, behind: Any, eta: Any) -> None:
    assert caught_up(spark, [group(at, behind(at), committed=at) for at in range(0, 601, 10)]).eta_s == eta


def test_one_that_never_does_is_slower_than_any_that_will(spark: SparkSession) -> None:
    rows = [group(at, 10_000 - at, 0, committed=2 * at) for at in range(0, 601, 10)] + [group(at, 5, 1) for at in range(0, 601, 10)]
    assert (caught_up(spark, rows).partition, caught_up(spark, rows).eta_s) == (1, None)


def test_a_group_that_was_set_back_begins_anew(spark: SparkSession) -> None:
    """What it read before says nothing about the way from there."""
    before = [group(at, 100, committed=1_000 + at) for at in range(0, 300, 10)]
    after = [group(at, 5_000 - 5 * (at - 300), committed=10 * (at - 300)) for at in range(300, 601, 10)]
    row = caught_up(spark, before + after)
    assert row.lag == 3_500
    assert row.eta_s == pytest.approx(700)


def test_a_pace_of_less_than_a_minute_or_of_long_ago_says_nothing(spark: SparkSession) -> None:
    short = [group(at, 100 - at, committed=at) for at in range(0, 50, 10)]
    assert catching_up(frame(spark, short), NOW_MS).count() == 0
    assert catching_up(frame(spark, [*short, group(600, 1, committed=99)]), NOW_MS + 3_600_000).count() == 0
