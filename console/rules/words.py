"""How sentences, pages and reports write numbers and lengths of time; `static/js/format.js` does the same in the browser. Pure."""

from __future__ import annotations

from collections.abc import Iterable

THIN = "\u202f"
"""The narrow no-break space: neither a number nor a number and its unit is broken over two lines."""


def whole(number: float) -> str:
    """`18204331` as `18 204 331` with thin spaces."""
    return ("−" if number < 0 else "") + f"{abs(round(number)):,}".replace(",", THIN)


def counted(number: int, noun: str, many: str = "") -> str:
    """`1 partition`, `3 000 partitions`; `many` where the plural is not the noun with an s."""
    return f"{whole(number)} {noun if number == 1 else many or noun + 's'}"


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """The numbers in order as `[first, last]` of those in a row."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def spans(numbers: Iterable[int]) -> str:
    """Numbers in order with commas, those in a row as `3–7`."""
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in ranges(numbers))


def duration(seconds: float, tenths_below: float = 10) -> str:
    """`0.4 s`, `12 s`, `4 min`, `3 h`, `2 days`; tenths of a second below so many seconds."""
    if seconds < tenths_below:
        return f"{seconds:.1f}{THIN}s"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{whole(seconds / size)}{THIN}{unit}"
    return f"{seconds:.0f}{THIN}s"


def size(number: float) -> str:
    """Bytes in the largest fitting binary unit: `512 B`, `1.50 KiB`, `12.3 MiB`."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    step = 0
    while number >= 1024 and step < len(units) - 1:
        number, step = number / 1024, step + 1
    digits = 0 if number >= 100 or step == 0 else 1 if number >= 10 else 2
    return f"{number:.{digits}f}{THIN}{units[step]}"
