"""Offsets as text: the CSV that `kafka-consumer-groups --from-file` reads and `--export` writes, and lengths of time. Pure.

A row of one group's file is `topic,partition,offset`, of several groups' `group,topic,partition,offset`; Kafka writes no head.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from console.errors import Invalid
from console.rules.words import whole

ROWS_MAX = 10_000
TEXT_CHARS_MAX = 1_000_000
TOPIC_CHARS_MAX = 249
HEAD = ["topic", "partition", "offset"]
ISO_SPAN = re.compile(r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,8})M)?(?:(\d{1,9})(?:\.(\d{1,3})\d*)?S)?)?", re.IGNORECASE)
PART = re.compile(r"(\d{1,12})\s*(ms|s|min|m|h|days|day|d|weeks|week|w)\b\s*", re.IGNORECASE)
UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
UNITS_MS |= {"day": UNITS_MS["d"], "days": UNITS_MS["d"], "week": UNITS_MS["w"], "weeks": UNITS_MS["w"]}
BACK_MS_MAX = 100 * 365 * UNITS_MS["d"]


def read_csv(text: str, group: str) -> dict[tuple[str, int], int]:
    """The group's offsets by topic and partition, in order. Rows of other groups are left out, as Kafka does; a file with none of this
    group is refused."""
    if len(text) > TEXT_CHARS_MAX:
        raise Invalid("csv", f"The file has more than {whole(TEXT_CHARS_MAX)} letters: split it.")
    found: dict[tuple[str, int], int] = {}
    for number, fields in _rows(text):
        if _is_of_another(number, fields, group):
            continue
        place, offset = _row(number, fields[-3:])
        if place in found:
            raise Invalid("csv", f"Line {number}: {place[0]}-{place[1]} stands there twice.")
        found[place] = offset
        if len(found) > ROWS_MAX:
            raise Invalid("csv", f"The file has more than {whole(ROWS_MAX)} rows: split it.")
    if not found:
        raise Invalid("csv", f"There is no row of group {group} in it: a row is topic,partition,offset.")
    return found


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with their line; a head is passed over."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for fields in reader:
            row = [field.strip() for field in fields]
            if any(row) and [field.lower() for field in row[-3:]] != HEAD:
                yield reader.line_num, row
    except csv.Error as error:
        raise Invalid("csv", f"Line {reader.line_num}: this is no CSV: {error}.") from None


def _is_of_another(number: int, fields: list[str], group: str) -> bool:
    if len(fields) not in (3, 4):
        raise Invalid("csv", f"Line {number} has {whole(len(fields))} fields: give topic,partition,offset or group,topic,partition,offset.")
    return len(fields) == 4 and fields[0] != group


def _row(number: int, fields: list[str]) -> tuple[tuple[str, int], int]:
    topic, partition, offset = fields
    if not 0 < len(topic) <= TOPIC_CHARS_MAX:
        raise Invalid("csv", f"Line {number}: {topic[:40]!r} is no name of a topic.")
    return (topic, _number(number, "partition", partition, 2**31)), _number(number, "offset", offset, 2**63)


def _number(line: int, name: str, text: str, below: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < below):
        raise Invalid("csv", f"Line {line}: {text[:40]!r} is no {name}: give a whole number.")
    return int(text)


def write_csv(lines: Iterable[tuple[str, int, int]]) -> str:
    """As Kafka's export of one group: without a head, a line each."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def back_ms(text: str) -> int:
    """`2h`, `1 d 12 h`, `90 min`, or ISO 8601 as Kafka takes it (`P1DT2H`), in ms."""
    text = text.strip()
    iso = ISO_SPAN.fullmatch(text)
    if iso and any(iso.groups()):
        days, hours, minutes, seconds, part = iso.groups()
        units = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
        found = sum(int(count or 0) * UNITS_MS[unit] for count, unit in units) + int((part or "0").ljust(3, "0"))
    else:
        found = _in_parts(text)
    if not 0 < found <= BACK_MS_MAX:
        raise Invalid("back", f"{text[:40]!r} is no length of time that can be gone back: give it as 2h, 30 min or P1DT2H.")
    return found


def _in_parts(text: str) -> int:
    found, at = 0, 0
    while match := PART.match(text, at):
        found, at = found + int(match[1]) * UNITS_MS[match[2].lower()], match.end()
    return found if at == len(text[:200]) == len(text) else 0
