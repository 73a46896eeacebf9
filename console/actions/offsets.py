"""Where a group's offsets are to go: what was typed, read strictly, against the log as it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from console.errors import Invalid

SPAN = re.compile(r"(?P<first>[0-9]{1,9})(?:\s*-\s*(?P<last>[0-9]{1,9}))?")
TEXT_CHARS_MAX = 1_000


class AtTime(NamedTuple):
    """The first record that is not older, in ms since 1970; the log's end where there is none."""

    at_ms: int


class Shift(NamedTuple):
    """So many records on from what is committed, or back."""

    by: int


class Lines(NamedTuple):
    """An offset for each place by itself; `field` is where they were given."""

    offsets: Mapping[tuple[str, int], int]
    field: str = "csv"


Where = str | AtTime | Shift | Lines
"""`earliest`, `latest`, `current` or an offset as text, a time, a shift, or each by itself."""


def field_of(to: Where) -> str:
    """The input that a wrong offset stands in."""
    return to.field if isinstance(to, Lines) else "shift" if isinstance(to, Shift) else "to"


def parse_partitions(text: str) -> list[tuple[int, int]] | None:
    """`0,1`, `2-3` or `0, 2-4` as spans, both ends included; None (all) where it is empty or `all`."""
    text = text.strip()
    if not text or text.lower() == "all":
        return None
    if len(text) > TEXT_CHARS_MAX:
        raise Invalid("partition", f"Give at most {TEXT_CHARS_MAX} letters.")
    return [_span(part.strip()) for part in text.split(",")]


def _span(part: str) -> tuple[int, int]:
    match = SPAN.fullmatch(part)
    if match is None:
        raise Invalid("partition", f"{part[:40]!r} is no partition: give numbers and ranges, as 0,2-4; empty for all.")
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if last < first:
        raise Invalid("partition", f"{part} runs backwards: give the lower number first.")
    return first, last


def chosen(topic: str, there: Iterable[int], spans: Sequence[tuple[int, int]] | None) -> list[int]:
    """The numbers of the topic that the spans name, in order."""
    numbers = sorted(there)
    if spans is None:
        return numbers
    for first, last in spans:
        if last > numbers[-1]:
            said = "only partition 0" if len(numbers) == 1 else f"partitions 0 to {numbers[-1]}"
            raise Invalid("partition", f"{topic} has {said}; {last if first == last else f'{first}-{last}'} is out of range.")
    return [n for n in numbers if any(first <= n <= last for first, last in spans)]


def target(
    to: str | AtTime | Shift, first: int, end: int, *, committed: int | None = None, at_time: int | None = None
) -> tuple[int, str | None]:
    """The offset that `to` means in a log from `first` to `end`, and what is to be said where that is not what was asked for. `at_time`
    is the offset that the log has for the time, None where no record is so new."""
    if isinstance(to, AtTime):
        return (end if at_time is None else at_time), None
    if isinstance(to, Shift):
        if committed is None:
            raise Invalid("shift", "Nothing is committed there that could be shifted: give earliest, latest, an offset or a time.")
        return within(committed + to.by, first, end)
    if to == "current":
        return (end if committed is None else committed), None
    if to in ("earliest", "latest"):
        return (first, None) if to == "earliest" else (end, None)
    if not (to.isascii() and to.isdigit() and len(to) < 20):
        raise Invalid(
            "to",
            f"{to[:40]!r} is no offset: give earliest, latest, current or a whole number." if to else "Give earliest, latest or an offset.",
        )
    return within(int(to), first, end)


def within(asked: int, first: int, end: int) -> tuple[int, str | None]:
    """The nearest offset that the log has, and what is to be said where that is another: as Kafka's own tool does."""
    if asked > end:
        return end, f"{asked} is beyond the end {end}: it would be set to {end}"
    if asked < first:
        return first, f"{asked} is before the start {first}, where records were deleted: it would be set to {first}"
    return asked, None
