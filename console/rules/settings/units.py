"""Lengths of time and sizes in settings: `7 d` and `1 GiB` are read, and told where they are exact. Pure.

Kafka takes whole numbers of one unit, which a setting's name tells; whoever fills in a form thinks in others.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from console.rules.words import THIN, duration, size, whole

Unit = Literal["ms", "s", "min", "h", "B", "B/s", ""]
_MS, _DAY = 1, 86_400_000
_TIMES = {"ms": _MS, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": _DAY, "w": 7 * _DAY}
_TIME_WORDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
_SIZES = {f"{prefix}ib" if prefix else "b": 1024**power for power, prefix in enumerate(("", "k", "m", "g", "t"))}
_DECIMALS = {f"{prefix}b": 1000**power for power, prefix in enumerate(("k", "m", "g", "t"), 1)}
_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?)([a-z]*)(?:/s)?", re.IGNORECASE | re.ASCII)
_WITHOUT_LIMIT = ("no limit", "unlimited", "for ever", "forever")
_TEXT_MAX = 60
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
_ENDINGS: tuple[tuple[str, Unit], ...] = (
    (".ms", "ms"),
    (".seconds", "s"),
    (".minutes", "min"),
    (".hours", "h"),
    (".bytes", "B"),
    (".bytes.per.second", "B/s"),
    (".throttled.rate", "B/s"),
    (".bytes.rate", "B/s"),
    (".buffer.size", "B"),
    (".size.max.bytes", "B"),
)


class WrongUnit(ValueError):
    """What was typed is no number of the setting's unit; the message says what would be."""


class Told(NamedTuple):
    """A value in units: `exact` can be typed again and means the same; `about` is for reading alone. Either may be empty."""

    exact: str
    about: str


def unit_of(name: str, kind: str = "long") -> Unit:
    """Of a setting whose type is `kind`; empty where it is a number of nothing in particular, or no number."""
    if kind not in ("int", "long"):
        return ""
    return next((unit for ending, unit in _ENDINGS if name.endswith(ending)), "")


def read(name: str, kind: str, text: str) -> str:
    """The value as Kafka takes it. What is no number at all is left for the broker to refuse, in its words."""
    unit, typed = unit_of(name, kind), " ".join(text.split())
    if typed.lower() in _WITHOUT_LIMIT and kind in ("int", "long"):
        return _without_limit(name, kind)
    found = _NUMBER.fullmatch("".join(typed.split())) if len(typed) <= _TEXT_MAX else None
    if not unit or found is None:
        return text.strip()
    number, word = found[1].replace(",", "."), found[2].lower()
    if not word:
        return number if "." not in number else typed
    value = Fraction(number) * _factor(name, unit, word, typed)
    if value.denominator != 1:
        raise WrongUnit(f"{typed} is no whole number of {_named(unit)}.")
    return str(value.numerator)


def told(name: str, kind: str, text: str | None) -> Told:
    """What a value means to people."""
    unit = unit_of(name, kind)
    if text is None or not re.fullmatch(r"-?[0-9]{1,19}", text):
        return Told("", "")
    number = int(text)
    if number == LONG_MAX or (number == -1 and "retention" in name) or (number == INT_MAX and kind == "int" and unit in ("", "ms")):
        return Told("no limit" if _without_limit(name, kind) == text else "", "no limit")
    if not unit or number <= 0:
        return Told("", "")
    return _time(number * _per(unit)) if unit in ("ms", "s", "min", "h") else _size(number, unit)


def in_words(name: str, kind: str, text: str | None) -> str:
    """`604 800 000 ms = 7 d`, `1 048 588 B, about 1.00 MiB`; the bare value where no more is to be said, "not set" where there is none."""
    if text is None:
        return "not set"
    shown, unit = told(name, kind, text), unit_of(name, kind)
    if not shown.exact and not shown.about:
        return text if text != "" else "(empty)"
    number = f"{whole(int(text))}{THIN}{unit}".strip() if 0 <= int(text) < INT_MAX or (unit and 0 <= int(text) < LONG_MAX) else text
    exact = shown.exact.replace(" ", THIN)
    if exact == number:
        return number
    return f"{number} = {exact}" if exact else f"{number}, {shown.about}"


def _without_limit(name: str, kind: str) -> str:
    if "retention.ms" in name or "retention.bytes" in name:
        return "-1"
    return str(INT_MAX if kind == "int" else LONG_MAX)


def _factor(name: str, unit: Unit, word: str, typed: str) -> Fraction:
    if unit in ("B", "B/s"):
        factor = {**_SIZES, **_DECIMALS}.get(word)
        if factor is None:
            raise WrongUnit(f"{typed} is no size: give {_named(unit)}, or a number with KiB, MiB, GiB or TiB (or kB, MB, GB, TB).")
        return Fraction(factor)
    known = _TIME_WORDS.get(word)
    if known is None:
        raise WrongUnit(f"{typed} is no length of time: give {_named(unit)}, or a number with ms, s, min, h, d or w.")
    return Fraction(_TIMES[known], _per(unit))


def _per(unit: Unit) -> int:
    return _TIMES[unit]


def _named(unit: Unit) -> str:
    return {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "B": "bytes", "B/s": "bytes a second"}[unit]


def _time(ms: int) -> Told:
    """Weeks are read and not told: seven days are said as such."""
    for word in ("d", "h", "min", "s"):
        if ms % _TIMES[word] == 0:
            return Told(f"{ms // _TIMES[word]} {word}", "")
    return Told("", f"about {duration(ms / 1000)}") if ms >= 1_000 else Told("", "")


def _size(number: int, unit: Unit) -> Told:
    a_second = "/s" if unit == "B/s" else ""
    for word in ("TiB", "GiB", "MiB", "KiB"):
        if number % _SIZES[word.lower()] == 0:
            return Told(f"{number // _SIZES[word.lower()]} {word}{a_second}", "")
    return Told("", f"about {size(number)}{a_second}") if number >= 1024 else Told("", "")
