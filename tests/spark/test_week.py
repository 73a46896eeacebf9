"""A week that was made up, through all questions to their sentences: what was put in is said, and nothing else is.

`orders` has a daily rhythm, three partitions of which the third gets half, and four times the usual at one hour of the last day.
`audit` always has the same. Broker 1's disk grows by 0.4 % of its size an hour and has 20 % left; broker 2's rests. `billing` reads all
until an hour before the end and then stands still; `ledger` is behind and gains. Partition 0 of `audit` loses a member of its ISR every
hour: the first time of the last day has no sample before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from console.rules.alerts.figures import Condition
from console.rules.alerts.replay import Firing, replay
from console.rules.analysis.answers import answers
from console.rules.analysis.model import Answer, Table
from tests.support.samples import DAY_MS, START_MS
from workers.spark.analyses.moments import steps
from workers.spark.job import LONG_S, questions
from workers.spark.results import write_tables
from workers.spark.schemas import SAMPLE

MINUTES = 7 * 24 * 60
NOW_MS = START_MS + 7 * DAY_MS
DISK = 10**12
SURGE_FROM, SURGE_TO = MINUTES - 10 * 60, MINUTES - 9 * 60
LEVEL_UNTIL = MINUTES - 60


def samples(moments: DataFrame, kind: str, **known: Any) -> DataFrame:
    given = {"v": 1, "cluster": "local", "kind": kind, **known, "at_ms": F.lit(START_MS) + F.col("minute") * 60_000}
    columns = [given.get(field.name, F.lit(None)) for field in SAMPLE]
    cast = [(one if isinstance(one, Column) else F.lit(one)).cast(f.dataType).alias(f.name) for one, f in zip(columns, SAMPLE, strict=True)]
    return moments.select(*cast)


def the_week(spark: SparkSession) -> DataFrame:
    moments, minute = spark.range(MINUTES).withColumnRenamed("id", "minute"), F.col("minute")
    day = 2 * 3.141592653589793 / 1440
    grown = 600 * minute + 300 / day * (1 - F.cos(minute * day))
    surge = 3 * 600 * F.least(F.greatest(minute - SURGE_FROM, F.lit(0)), F.lit(SURGE_TO - SURGE_FROM))
    end = F.floor(grown + surge)
    found = []
    for number, part in ((0, 0.25), (1, 0.25), (2, 0.5)):
        kept = {"log_end_offset": F.floor(end * part), "size_bytes": F.floor(end * part) * 100, "log_start_offset": 0}
        found.append(samples(moments, "partition", topic="orders", partition=number, leader=number + 1, isr=3, **kept))
    flaps = F.when(minute % 60 == 0, 2).otherwise(3)
    steady = {"log_end_offset": minute * 60, "size_bytes": minute * 6_000, "log_start_offset": 0}
    for number in (0, 1):
        found.append(samples(moments, "partition", topic="audit", partition=number, leader=1, isr=flaps if number == 0 else 3, **steady))
    hours = minute / 60
    found.append(
        samples(moments, "broker", broker=1, folder="/d", disk_used_bytes=DISK * 0.8 - (168 - hours) * DISK * 0.004, disk_total_bytes=DISK)
    )
    found.append(samples(moments, "broker", broker=2, folder="/d", disk_used_bytes=DISK * 0.3, disk_total_bytes=DISK))
    audited = minute * 60
    billed = F.least(audited, F.lit(LEVEL_UNTIL * 60))
    read = {"group": "billing", "topic": "audit", "partition": 0}
    found.append(samples(moments, "group", **read, committed=billed, log_end_offset=audited, lag=audited - billed))
    behind = (MINUTES - minute) * 5 + 1_000
    read = {"group": "ledger", "topic": "audit", "partition": 0}
    found.append(samples(moments, "group", **read, committed=audited - behind, log_end_offset=audited, lag=behind))
    week = found[0]
    for more in found[1:]:
        week = week.unionByName(more)
    return week


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder: Path = tmp_path_factory.mktemp("week")
    the_week(spark).write.parquet(str(folder / "samples"))
    week = spark.read.parquet(str(folder / "samples"))
    steps(week).write.parquet(str(folder / "steps"))
    lately = week.where(F.col("at_ms") >= NOW_MS - DAY_MS)
    return write_tables(questions(week, lately, spark.read.parquet(str(folder / "steps")), NOW_MS), folder / "tables")


@pytest.fixture(scope="module")
def said(tables: Mapping[str, Any]) -> Mapping[str, Answer]:
    return {one.id: one for one in answers({name: Table(table["rows"], table["left_off"]) for name, table in tables.items()})}


def test_the_disk_that_grows_is_full_when_it_will_be(said: Mapping[str, Answer]) -> None:
    """0.4 % an hour with 20 % left are 50 hours."""
    disk = said["disk"]
    assert disk.verdict.level == "notice"
    assert "broker 1" in disk.lines[0].text
    assert "full in 2\u202fdays" in disk.lines[0].text
    assert (disk.lines[1].level, len(disk.lines)) == ("ok", 2)


def test_the_group_that_stands_still_and_the_one_that_gains(said: Mapping[str, Answer]) -> None:
    stuck, gains = said["lag"].lines
    assert (stuck.level, stuck.pieces[0].text) == ("warn", "billing")
    assert "it reads 0.0 a second, 1.0 a second are written; at this pace it never catches up" in stuck.text
    assert (gains.level, gains.pieces[0].text) == ("notice", "ledger")
    assert "level in 3\u202fh" in gains.text


def test_the_one_hour_that_was_unusual_and_no_other(said: Mapping[str, Answer]) -> None:
    (line,) = said["unusual"].lines
    assert line.text.startswith("orders had more than usual at 14:00 UTC")


def test_what_differs_from_yesterday_is_what_was_put_in(said: Mapping[str, Answer]) -> None:
    """The surge was an eighth of the day's records, and what `billing` has not read yet is little over a whole day."""
    assert [line.pieces[0].text for line in said["changed"].lines] == ["ledger"]


def test_uneven_and_restless(said: Mapping[str, Answer]) -> None:
    assert said["uneven"].verdict.level == "ok"
    (line,) = said["flapping"].lines
    assert line.text.startswith("audit-0 lost a member of its ISR 23 times and changed its leader never")


def test_the_busiest_topic_leads(said: Mapping[str, Answer]) -> None:
    assert [line.pieces[0].text for line in said["topics"].lines] == ["orders", "audit"]


def test_the_alerts_that_it_would_have_given(tables: Mapping[str, Any]) -> None:
    """`billing` stands still for the last hour, which is 3 600 records; `ledger` is that far behind all the time but for its end."""
    lags: dict[str, list[tuple[int, int]]] = {}
    for row in tables["lag_week"]["rows"]:
        lags.setdefault(row["group"], []).append((row["window_start_ms"] + LONG_S * 1000, row["lag_max"]))

    def fired(group: str, more_than: int) -> list[Firing]:
        at_ms, values = zip(*sorted(lags[group]), strict=True)
        return list(replay(Condition("group_lag", ">", more_than, LONG_S), at_ms, values, LONG_S * 1000).firings)

    (stuck,) = fired("billing", 1_000)
    assert stuck.to_ms is None
    assert 20 <= (NOW_MS - stuck.from_ms) / 60_000 <= 40, "after ten minutes above it, within two windows"
    (behind,) = fired("ledger", 1_500)
    assert behind.from_ms < START_MS + DAY_MS
    assert behind.to_ms is not None
    assert behind.to_ms > NOW_MS - DAY_MS
    assert fired("billing", 4_000) == []
