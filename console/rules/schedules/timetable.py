"""When a cron expression is due in a time zone. Pure: the moment to go on from comes in, and all that is answered is UTC.

The five fields are those of cron: minute, hour, day of month, month, day of week (`MON`, `1-5`, `*/15`, `L`, `LW`, `MON#1`, `5L`). Where
both days are given, one of them is enough, as in cron.

A local time that a change of clocks skips is due at the first moment after the gap, once, however many times lay in the gap. One that comes
twice is due the first time only. Expressions for every hour (`15 * * * *`) go by the hours that pass instead: nothing falls into the gap,
and the hour that comes twice has its times twice, so that they stay an hour apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from console.errors import Invalid

EXPRESSION_MAX, ZONE_MAX = 200, 64
FIELDS = ("minute", "hour", "day of month", "month", "day of week")
BAD = {"Bad minute": 0, "Bad hour": 1, "Bad day-of-month": 2, "Bad month": 3, "Bad day-of-week": 4}
MAY_BE = (
    "a minute is 0 to 59",
    "an hour is 0 to 23",
    "a day of the month is 1 to 31, L (the last) or LW (the last weekday)",
    "a month is 1 to 12 or JAN to DEC",
    "a day of the week is 0 to 7 (0 and 7: Sunday) or SUN to SAT",
)
DAY, MONTH = 2, 3
LETTERS = re.compile(r"[0-9A-Za-z*/,#-]+")
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)


class Timetable:
    """`Invalid` names `cron` or `zone` and says what is wrong: an expression that is never due is refused, too."""

    def __init__(self, expression: str, zone: str) -> None:
        self.zone = zone_of(zone)
        self.expression = _fields(expression)
        self._cron = _checked(self.expression)
        if next(self._from(ANY_MOMENT), None) is None:
            raise Invalid("cron", "No day is so within fifty years: this would never be due.")

    def after(self, moment: datetime) -> datetime | None:
        """The first due time that is later; None where there is none within fifty years."""
        return next(self._from(moment), None)

    def upcoming(self, moment: datetime, count: int) -> list[datetime]:
        """The next due times."""
        found = self._from(moment)
        return [due for due, _ in zip(found, range(count), strict=False)]

    def _from(self, moment: datetime) -> Iterator[datetime]:
        """Later than `moment`, each later than the one before: within an hour that comes twice the first pass may lie behind us."""
        last = moment
        for local in CronSim(self._cron, moment.astimezone(self.zone)):
            due = local.astimezone(UTC)
            if due > last:
                last = due
                yield due


def zone_of(name: str) -> tzinfo:
    """By its IANA name. UTC needs no files of the machine."""
    if name == "UTC":
        return UTC
    try:
        if len(name) > ZONE_MAX or not ZONE.fullmatch(name):
            raise ValueError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid("zone", f"No time zone {name[:ZONE_MAX]!r} is known here: give one as Europe/Berlin, or UTC.") from None


def zones() -> list[str]:
    """All that this machine knows, as forms offer them."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix/", "right/", "SystemV/"))}
    return ["UTC", *sorted(places)]


def _fields(expression: str) -> str:
    """With one space between its fields."""
    parts = expression.split()
    if len(expression) > EXPRESSION_MAX:
        raise Invalid("cron", f"A cron expression has at most {EXPRESSION_MAX} characters.")
    if len(parts) != len(FIELDS):
        raise Invalid("cron", f"Give five fields with spaces between: {', '.join(FIELDS)}. As 0 2 * * 1-5: at 02:00, Monday to Friday.")
    for part, name, may_be in zip(parts, FIELDS, MAY_BE, strict=True):
        if not LETTERS.fullmatch(part):
            raise Invalid("cron", f"{part[:40]!r} is no {name}: {may_be}.")
    return " ".join(parts)


def _checked(expression: str) -> str:
    """As the library is to take it: whether an expression goes by the clock on the wall or by hours that pass is not to hang on whether a
    field begins with a star, but on whether every hour is meant."""
    parts = expression.split()
    try:
        read = CronSim(expression, ANY_MOMENT)
    except CronSimError as error:
        raise Invalid("cron", _wrong(str(error), parts)) from None
    every_hour = len(read.hours) == 24
    parts[0] = "*" if len(read.minutes) == 60 and every_hour else ",".join(map(str, sorted(read.minutes)))
    parts[1] = "*" if every_hour else ",".join(map(str, sorted(read.hours)))
    return " ".join(parts)


def _wrong(said: str, parts: list[str]) -> str:
    field = BAD.get(said, 0)
    if field == DAY and _is_day(parts[DAY]):
        return f"No month of {parts[MONTH]} has a day {parts[DAY]}: this would never be due."
    return f"{parts[field][:40]!r} is no {FIELDS[field]}: {MAY_BE[field]}."


def _is_day(part: str) -> bool:
    """Whether the field would do beside another month."""
    try:
        CronSim(f"0 0 {part} * *", ANY_MOMENT)
    except CronSimError:
        return False
    return True
