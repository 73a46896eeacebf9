"""When is the disk full? A pace, how far it can be trusted, and how often that has held."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import Row, disk, frame, group
from workers.spark.analyses.forecast import disks, lags


def one(result: Any) -> Any:
    (row,) = result.collect()
    return row


def hourly(values: list[float]) -> list[Row]:
    return [disk(hour * 3600, round(value)) for hour, value in enumerate(values)]


def test_a_steady_growth_is_full_when_it_says_so(spark: SparkSession) -> None:
    row = one(disks(frame(spark, hourly([100_000 + 5_000 * hour for hour in range(72)]))))
    assert json.loads(row.name) == {"broker": 1, "folder": "/d"}
    assert row.per_hour == pytest.approx(5_000)
    assert row.eta_hours == pytest.approx((1_000_000 - 455_000) / 5_000)
    assert row.earliest_hours == pytest.approx(row.eta_hours)
    assert row.latest_hours == pytest.approx(row.eta_hours)
    assert row.tries == row.within > 20


def test_a_noisy_growth_has_an_interval_that_mostly_held(spark: SparkSession) -> None:
    chance = random.Random(7)
    row = one(disks(frame(spark, hourly([100_000 + 5_000 * hour + chance.gauss(0, 9_000) for hour in range(96)]))))
    assert row.low_per_hour < 5_000 < row.high_per_hour
    assert row.earliest_hours < row.eta_hours
    assert 0.6 <= row.within / row.tries <= 1


def test_what_shrinks_or_rests_is_never_full_by_its_pace(spark: SparkSession) -> None:
    row = one(disks(frame(spark, hourly([900_000 - 1_000 * hour for hour in range(48)]))))
    assert (row.eta_hours, row.earliest_hours, row.latest_hours) == (None, None, None)


def test_a_retention_that_frees_space_each_night_widens_the_interval(spark: SparkSession) -> None:
    """By day it grows as if it were full soon; the past says that this did not hold."""
    values = [200_000 + 10_000 * (hour % 24) for hour in range(24 * 5 + 20)]
    row = one(disks(frame(spark, hourly(values))))
    assert row.latest_hours is None
    assert row.low_per_hour < 0


def test_little_history_gives_a_pace_without_an_interval_and_less_gives_none(spark: SparkSession) -> None:
    row = one(disks(frame(spark, hourly([1_000.0 * hour for hour in range(8)]))))
    assert row.per_hour == pytest.approx(1_000)
    assert (row.low_per_hour, row.earliest_hours, row.tries) == (None, None, 0)
    assert disks(frame(spark, hourly([1.0, 2.0, 3.0]))).count() == 0


def test_each_folder_is_a_line_of_its_own_and_an_unknown_disk_is_none(spark: SparkSession) -> None:
    rows = hourly([1_000.0 * hour for hour in range(12)])
    rows += [disk(hour * 3600, 5, folder="/e") for hour in range(12)] + [disk(hour * 3600, None, broker=2) for hour in range(12)]
    assert sorted(json.loads(row.name)["folder"] for row in disks(frame(spark, rows)).collect()) == ["/d", "/e"]


def test_a_group_that_gains_has_caught_up_at_zero(spark: SparkSession) -> None:
    row = one(lags(frame(spark, [group(hour * 3600, 48_000 - 1_000 * hour) for hour in range(40)])))
    assert (row.name, row.value) == ("billing", 9_000)
    assert row.eta_hours == pytest.approx(9)


def test_a_group_that_is_level_has_nothing_to_wait_for(spark: SparkSession) -> None:
    assert one(lags(frame(spark, [group(hour * 3600, 0) for hour in range(12)]))).eta_hours == 0
