"""When cron expressions are due, around changes of clocks and in rare months, and what becomes of times that have passed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.errors import Invalid
from console.rules.schedules.due import COUNTED_MOST, LATE_MOST, decide, missed_words
from console.rules.schedules.timetable import Timetable, zone_of, zones
from console.rules.schedules.words import local, offset, when

BERLIN = "Europe/Berlin"
SPRING, AUTUMN = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)


def due(expression: str, since: datetime, count: int, zone: str = BERLIN) -> list[str]:
    return [f"{local(at, zone)[4:]} {offset(at, zone)}" for at in Timetable(expression, zone).upcoming(since, count)]


def test_a_skipped_time_is_due_once_after_the_gap() -> None:
    assert due("30 2 * * *", SPRING, 2) == ["2026-03-29 03:00 UTC+02:00", "2026-03-30 02:30 UTC+02:00"]
    assert due("*/15 2 * * *", SPRING, 3) == ["2026-03-29 03:00 UTC+02:00", "2026-03-30 02:00 UTC+02:00", "2026-03-30 02:15 UTC+02:00"]
    assert due("0 2,3 * * *", SPRING, 2) == ["2026-03-29 03:00 UTC+02:00", "2026-03-30 02:00 UTC+02:00"]
    assert due("30 */2 * * *", SPRING + timedelta(hours=11), 3) == [
        "2026-03-29 00:30 UTC+01:00",
        "2026-03-29 03:00 UTC+02:00",
        "2026-03-29 04:30 UTC+02:00",
    ]


def test_a_time_that_comes_twice_is_due_the_first_time() -> None:
    assert due("30 2 * * *", AUTUMN, 2) == ["2026-10-25 02:30 UTC+02:00", "2026-10-26 02:30 UTC+01:00"]
    assert due("30 */2 * * *", AUTUMN + timedelta(hours=11), 2) == ["2026-10-25 02:30 UTC+02:00", "2026-10-25 04:30 UTC+01:00"]


@pytest.mark.parametrize("minute", [0, 29, 30, 59])
def test_within_the_hour_that_comes_again_nothing_behind_is_due(minute: int) -> None:
    """02:30 has been, an hour ago; who asks in the second pass is told of tomorrow."""
    second_pass = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)
    assert due("30 2 * * *", second_pass, 1) == ["2026-10-26 02:30 UTC+01:00"]


def test_every_hour_goes_by_hours_that_pass() -> None:
    assert due("15 * * * *", AUTUMN + timedelta(hours=11), 4) == [
        "2026-10-25 01:15 UTC+02:00",
        "2026-10-25 02:15 UTC+02:00",
        "2026-10-25 02:15 UTC+01:00",
        "2026-10-25 03:15 UTC+01:00",
    ]
    assert due("15 0-23 * * *", AUTUMN + timedelta(hours=11), 4) == due("15 * * * *", AUTUMN + timedelta(hours=11), 4)
    assert due("15 * * * *", SPRING + timedelta(hours=11), 3)[1:] == ["2026-03-29 01:15 UTC+01:00", "2026-03-29 03:15 UTC+02:00"]


def test_a_leap_day_is_awaited() -> None:
    assert due("0 0 29 2 *", SPRING, 2, "UTC") == ["2028-02-29 00:00 UTC+00:00", "2032-02-29 00:00 UTC+00:00"]
    assert due("0 12 L 2 *", SPRING, 3, "UTC")[1] == "2028-02-29 12:00 UTC+00:00"
    century = Timetable("0 0 29 2 *", "UTC").after(datetime(2096, 3, 1, tzinfo=UTC))
    assert century == datetime(2104, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 31 2 *", "No month of 2 has a day 31: this would never be due."),
        ("0 0 30 2 *", "No month of 2 has a day 30"),
        ("0 0 31 4,6,9,11 *", "No month of 4,6,9,11 has a day 31"),
        ("* * */20 * 1L", "No day is so within fifty years"),
        ("60 * * * *", "'60' is no minute: a minute is 0 to 59."),
        ("* 24 * * *", "'24' is no hour"),
        ("0 0 32 * *", "'32' is no day of month"),
        ("0 0 * 13 *", "'13' is no month"),
        ("0 0 * * 8", "'8' is no day of week"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("5-1 * * * *", "'5-1' is no minute"),
        ("* * * *", "Give five fields"),
        ("0 * * * * *", "Give five fields"),
        ("", "Give five fields"),
        ("é * * * *", "'é' is no minute"),
        ("٣ * * * *", "is no minute"),
        ("0," * 150 + "0 * * * *", "at most 200 characters"),
    ],
)
def test_what_cannot_be_is_refused_in_words(expression: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        Timetable(expression, "UTC")
    assert refused.value.field == "cron"
    assert said in str(refused.value)


@pytest.mark.parametrize("zone", ["", "Europe", "Europe/Nowhere", "../../etc/passwd", "/etc/localtime", "A" * 65, "Europe/Berlin\0"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(Invalid, match="No time zone") as refused:
        Timetable("0 0 * * *", zone)
    assert refused.value.field == "zone"


def test_zones_that_are_offered_are_known() -> None:
    assert {"UTC", BERLIN, "America/Argentina/Buenos_Aires"} <= set(zones())
    for name in zones():
        zone_of(name)


MINUTE = st.sampled_from(["*", "*/7", "0", "5-20", "0,30", "59"])
HOUR = st.sampled_from(["*", "*/7", "0", "5-20", "0,12", "2"])
DAYS = st.sampled_from(["*", "*/3", "1", "28-30", "L", "LW"])
WEEK = st.sampled_from(["*", "MON-FRI", "0", "7", "1#2", "5L"])
PLACES = st.sampled_from(["UTC", BERLIN, "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu"])
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))


@settings(deadline=None)
@given(MINUTE, HOUR, DAYS, st.sampled_from(["*", "2", "3,10", "JAN-MAR"]), WEEK, PLACES, MOMENTS)
def test_times_come_in_order_on_whole_minutes_and_none_is_left_out(
    minute: str, hour: str, day: str, month: str, week: str, zone: str, since: datetime
) -> None:
    """Whoever asks from anywhere between two times is told the later one."""
    table = Timetable(f"{minute} {hour} {day} {month} {week}", zone)
    found = table.upcoming(since, 4)
    assert found == sorted(set(found))
    assert all(at > since and at.second == at.microsecond == 0 for at in found)
    for at, following in pairwise(found):
        assert following - at >= timedelta(minutes=1)
        assert table.after(at) == following
        assert table.after(following - timedelta(seconds=1)) == following


@settings(deadline=None)
@given(st.integers(0, 23), st.integers(0, 59), st.sampled_from([BERLIN, "America/Havana", "Africa/Cairo", "Australia/Lord_Howe"]))
@example(2, 30, BERLIN)
@example(0, 0, "Africa/Cairo")
@example(0, 30, "America/Havana")
@example(2, 15, "Australia/Lord_Howe")
def test_a_time_a_day_is_due_once_a_day_all_year(hour: int, minute: int, zone: str) -> None:
    table, at, days = Timetable(f"{minute} {hour} * * *", zone), datetime(2025, 12, 31, 23, 59, tzinfo=ZoneInfo(zone)), []
    for _ in range(365):
        found = table.after(at)
        assert found is not None
        at = found
        days.append(at.astimezone(ZoneInfo(zone)).date())
    assert len(set(days)) == 365
    assert (days[0].isoformat(), days[-1].isoformat()) == ("2026-01-01", "2026-12-31")


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        Timetable(text, text)
    except Invalid as error:
        assert error.field in ("cron", "zone")


@settings(deadline=None)
@given(st.text("0123456789*/,-LW#MON ", max_size=30))
def test_any_expression_is_taken_or_refused(text: str) -> None:
    try:
        assert Timetable(text, "UTC").after(SPRING) is not None
    except Invalid as error:
        assert error.field == "cron"


# --- what becomes of times that have come

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOURLY = Timetable("0 * * * *", "UTC")
DAILY = Timetable("0 12 * * *", "UTC")
MINUTELY = Timetable("* * * * *", "UTC")


def test_a_time_that_has_just_come_is_begun() -> None:
    assert decide(HOURLY, NOON, NOON + timedelta(seconds=4)) == (NOON, None, 0, NOON + timedelta(hours=1))


def test_a_little_late_is_made_up_and_more_is_missed() -> None:
    """Half of an hour for what comes every hour, an hour for what comes rarely."""
    assert decide(HOURLY, NOON, NOON + timedelta(minutes=29)).run == NOON
    assert decide(HOURLY, NOON, NOON + timedelta(minutes=30)) == (None, NOON, 1, NOON + timedelta(hours=1))
    assert decide(DAILY, NOON, NOON + timedelta(minutes=59)).run == NOON
    assert decide(DAILY, NOON, NOON + timedelta(minutes=60)) == (None, NOON, 1, NOON + timedelta(days=1))
    assert decide(MINUTELY, NOON, NOON + timedelta(seconds=29)).run == NOON
    assert decide(MINUTELY, NOON, NOON + timedelta(seconds=30)).run is None


def test_of_several_that_passed_only_the_last_is_made_up() -> None:
    due = decide(HOURLY, NOON, NOON + timedelta(hours=5, minutes=10))
    assert due == (NOON + timedelta(hours=5), NOON, 5, NOON + timedelta(hours=6))
    assert decide(HOURLY, NOON, NOON + timedelta(hours=5, minutes=40)) == (None, NOON, 6, NOON + timedelta(hours=6))


def test_a_year_of_minutes_is_not_counted() -> None:
    due = decide(MINUTELY, NOON, NOON + timedelta(days=365, seconds=5))
    assert (due.run, due.missed_count) == (NOON + timedelta(days=365), COUNTED_MOST)
    assert missed_words(due.missed_count, timedelta(days=365)).startswith("More than 999 times passed")


@settings(deadline=None)
@given(st.sampled_from([HOURLY, DAILY, MINUTELY, Timetable("30 2 * * *", BERLIN)]), st.integers(0, 10**6))
def test_a_time_is_begun_or_missed_and_what_is_next_lies_ahead(table: Timetable, late_s: int) -> None:
    first = table.after(AUTUMN)
    assert first is not None
    now = first + timedelta(seconds=late_s)
    due = decide(table, first, now)
    assert due.next_at is not None
    assert due.next_at > now
    assert (due.run is not None) or due.missed == first
    if due.run is not None:
        assert first <= due.run <= now
        assert now - due.run < LATE_MOST
        assert table.after(due.run) == due.next_at


def test_a_time_is_said_in_words() -> None:
    at = datetime(2026, 11, 26, 1, tzinfo=UTC)
    assert when(at, at - timedelta(hours=3), BERLIN) == "in 3\u202fh (Thu 02:00 Europe/Berlin)"
    assert when(at, at - timedelta(days=30), BERLIN) == "in 30\u202fdays (Thu 2026-11-26 02:00 Europe/Berlin)"
    assert when(at, at + timedelta(seconds=30), BERLIN) == "now (Thu 02:00 Europe/Berlin)"
    late = when(at, at + timedelta(hours=3), BERLIN)
    assert late == "due since 3\u202fh (Thu 02:00 Europe/Berlin) and not begun: no worker has looked"
