"""What the analyses' tables say in words, question by question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.rules.analysis.answers import answers
from console.rules.analysis.model import Answer, Table
from console.rules.words import THIN

HOUR_MS = 3_600_000


def asked(identity: str, **tables: list[dict[str, Any]]) -> Answer:
    given = {name: Table(rows) for name, rows in tables.items()} | {"brokers": Table([{}])}
    return next(answer for answer in answers(given) if answer.id == identity)


def disk(eta: float | None, earliest: float | None, latest: float | None, low: float | None = 1.0) -> dict[str, Any]:
    name = json.dumps({"broker": 1, "folder": "/d"})
    pace = {"per_hour": 1024.0**2, "low_per_hour": low, "high_per_hour": low}
    end = {"eta_hours": eta, "earliest_hours": earliest, "latest_hours": latest}
    return {"name": name, "value": 12 * 1024.0**3, "limit": 20 * 1024.0**3, **pace, **end, "tries": 120, "within": 118}


def group(lag: int, eta: float | None, name: str = "billing", reads: float = 10.0) -> dict[str, Any]:
    return {"group": name, "topic": "orders", "partition": 1, "lag": lag, "reads_per_s": reads, "grows_per_s": 8.0, "eta_s": eta}


def two(what: str, name: str, before: float, after: float) -> dict[str, Any]:
    return {"what": what, "name": name, "before": before, "after": after, "hours": 20}


def test_without_any_rows_nothing_is_said() -> None:
    assert answers({}) == []
    assert answers({"skew": Table([])}) == []


@pytest.mark.parametrize(
    ("row", "level", "words"),
    [
        (disk(5, 4, 9), "bad", "full in 5 h, in 4 h at the earliest, in 9 h at the latest. Of 120 such forecasts of the past, 118 held."),
        (disk(30, 20, None), "warn", "full in 30 h, in 20 h at the earliest, maybe never."),
        (disk(None, 100, None), "notice", "not full at this pace, in 4 days at the earliest, maybe never."),
        (disk(400, 300, 900), "ok", "full in 17 days"),
        (disk(None, None, None), "ok", "not full at any pace that the past makes likely."),
        (disk(20, None, None, low=None), "warn", "full in 20 h; how far that can be trusted is not known yet."),
        (disk(None, None, None, low=None), "ok", "not full at this pace."),
    ],
)
def test_a_disk_is_judged_by_the_earliest_time_that_is_likely(row: dict[str, Any], level: str, words: str) -> None:
    found = asked("disk", disks=[row])
    assert found.lines[0].level == level
    assert found.verdict.level == level
    assert words in found.lines[0].text.replace(THIN, " ")


def test_the_worst_disk_leads_and_none_is_unknown_rather_than_safe() -> None:
    found = asked("disk", disks=[disk(400, 300, 900), disk(5, 4, 9)])
    assert [line.level for line in found.lines] == ["bad", "ok"]
    assert found.verdict.text.replace(THIN, " ") == "The first to be full is broker 1 (/d), in 4 h at the earliest."
    assert asked("disk").verdict.level == "unknown"


def test_who_never_catches_up_comes_before_who_does() -> None:
    found = asked("lag", catching_up=[group(900, 40.0, "slow"), group(500, None, "stuck"), group(0, 0.0, "level"), group(80, None, "soon")])
    assert [(line.level, line.pieces[0].text) for line in found.lines] == [("warn", "stuck"), ("notice", "slow")]
    assert "at this pace it never catches up" in found.lines[0].text
    assert "it reads 10.0 a second, 8.0 a second are written; level in 40" in found.lines[1].text
    assert found.verdict.text == "1 group of 4 did not gain in the half hour before the analysis."


def test_a_stuck_group_is_told_what_its_day_says() -> None:
    day = {"name": "billing", "eta_hours": 3.0, "low_per_hour": -5.0}
    found = asked("lag", catching_up=[group(900, None)], lags=[day])
    assert found.lines[0].text.replace(THIN, " ").endswith("By the pace of its last day it would be level in 3 h.")


def test_all_level_is_ok_and_nobody_sampled_is_unknown() -> None:
    assert asked("lag", catching_up=[group(0, 0.0)]).verdict.level == "ok"
    assert asked("lag").verdict.level == "unknown"


def test_a_hot_broker_is_named() -> None:
    rows = [two("led", "1", 1.0, 900.0), two("led", "2", 1.0, 150.0), two("led", "3", 1.0, 150.0)]
    found = asked("brokers", two_days=rows)
    assert found.verdict.text == "Broker 1 takes 2.2 times the mean of all: moving leaders would spread it."
    assert asked("brokers", two_days=[two("led", "1", 1.0, 5.0), two("led", "2", 1.0, 5.0)]).verdict.level == "ok"


def test_changes_of_a_fifth_are_told_the_largest_first_and_noise_is_not() -> None:
    rows = [two("messages", "a", 10, 11), two("messages", "b", 10, 40), two("lag", "g", 0, 5_000), two("messages", "tiny", 0.001, 0.05)]
    found = asked("changed", two_days=rows)
    assert [line.pieces[0].href for line in found.lines] == ["/groups/g", "/topics/b"]
    assert "from nothing" in found.lines[0].text
    assert "+300%" in found.lines[1].text
    assert asked("changed", two_days=[two("messages", "a", 10, 11)]).verdict.level == "ok"


def hour(deviation: float | None) -> dict[str, Any]:
    return {"topic": "orders", "window_start_ms": 14 * HOUR_MS, "messages_per_s": 300.0, "usual": 100.0, "days": 6, "deviation": deviation}


def test_an_hour_far_from_what_is_usual_is_told() -> None:
    found = asked("unusual", profile=[hour(1.0), hour(-9.0), hour(5.0)])
    assert ["less" in line.text for line in found.lines] == [True, False]
    assert "more than usual at 14:00 UTC on 01 Jan: 300 records a second, usual are 100 (by 6 days before)." in found.lines[1].text
    assert asked("unusual", profile=[hour(None)]).verdict.level == "unknown"
    assert asked("unusual", profile=[hour(0.1)]).verdict.text == "Every topic had about what is usual for the hour."


def test_uneven_topics_and_restless_partitions() -> None:
    even = {"topic": "even", "partitions": 3, "busiest": 0, "rate_skew": 1.2, "largest": 0, "size_skew": None}
    found = asked("uneven", skew=[even, {**even, "topic": "orders", "rate_skew": 2.8, "busiest": 2, "size_skew": 3.0, "largest": 1}])
    assert len(found.lines) == 1
    assert (
        "partition 2 is written to 2.8 times as fast as the mean of 3 partitions; partition 1 is 3.0 times as large" in found.lines[0].text
    )
    calm = {"topic": "calm", "partition": 0, "shrinks": 2, "expands": 2, "leaders": 0, "last_ms": 0}
    found = asked("flapping", flapping=[calm, {**calm, "topic": "orders", "shrinks": 5, "leaders": 1}])
    assert [line.text for line in found.lines] == [
        "orders-0 lost a member of its ISR 5 times and changed its leader once, last at 00:00 UTC on 01 Jan."
    ]


def test_an_answer_is_cut_and_says_by_how_much() -> None:
    found = asked("changed", two_days=[two("messages", f"t{number}", 10, 100) for number in range(30)])
    assert (len(found.lines), found.left_off) == (10, 20)
