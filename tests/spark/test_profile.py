"""What is unusual for an hour of the day, and what changed since yesterday."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.samples import DAY_MS, HOUR_MS, START_MS, Row, frame, group, partition
from workers.spark.analyses.compared import two_days
from workers.spark.analyses.moments import steps
from workers.spark.analyses.profile import profile


def hours(per_s: dict[int, float], topic: str = "orders") -> list[Row]:
    """Rows of whole hours since the start, a sample a minute; between two that are not named nothing is sampled."""
    rows, end = [], 0.0
    for hour, rate in sorted(per_s.items()):
        for minute in range(61):
            rows.append(partition(hour * 3600 + minute * 60 - 0.5 * (minute == 60), round(end), topic=topic))
            end += rate * 60 if minute < 60 else 0
    return rows


def judged(spark: SparkSession, per_s: dict[int, float], now_ms: int) -> dict[int, Any]:
    found = profile(steps(frame(spark, hours(per_s))), now_ms).collect()
    return {round(row.messages_per_s): row for row in found}


def test_an_hour_is_judged_by_the_same_hour_of_the_days_before(spark: SparkSession) -> None:
    """Nine o'clock is always busy: 100 is usual then, and 300 is not; at three in the night 10 is usual."""
    days = {day * 24 + 9: 100.0 + day for day in range(4)} | {day * 24 + 3: 10.0 for day in range(5)}
    found = judged(spark, {**days, 4 * 24 + 9: 300.0}, START_MS + 4 * DAY_MS + 10 * HOUR_MS)
    assert found[300].usual == pytest.approx(101.5, rel=0.01)
    assert found[300].days == 4
    assert found[300].deviation > 30
    assert abs(found[10].deviation) < 1


def test_with_fewer_than_three_days_before_nothing_is_called_unusual(spark: SparkSession) -> None:
    row = judged(spark, {9: 100.0, 33: 100.0, 57: 900.0}, START_MS + 2 * DAY_MS + 10 * HOUR_MS)[900]
    assert (row.days, row.deviation) == (2, None)


def test_two_days_are_compared_over_the_hours_that_both_have(spark: SparkSession) -> None:
    """The day before was sampled at 9 and 10, the last one at 10 and 11: only 10 counts, with 50 then and 75 now."""
    rows = hours({9: 1000.0, 10: 50.0, 34: 75.0, 35: 1000.0})
    rows += [group(hour * 3600 + 60, lag) for hour, lag in ((10, 5), (34, 15))]
    samples = frame(spark, rows)
    found = {(row.what, row.name): row for row in two_days(samples, steps(samples), START_MS + 2 * DAY_MS).collect()}
    assert found["messages", "orders"].hours == 1
    assert found["messages", "orders"].before == pytest.approx(50, rel=0.02)
    assert found["messages", "orders"].after == pytest.approx(75, rel=0.02)
    assert (found["lag", "billing"].before, found["lag", "billing"].after) == (5.0, 15.0)
    assert ("led", "1") in found
