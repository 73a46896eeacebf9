"""The sentence that the list of all topics opens with, and that of all groups. Only what is known to be so is called safe."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.contract.sentences import Level, Line
from console.rules.words import counted, whole


def topics_line(topics: int, troubled: int, counts: Mapping[str, int], *, is_answered: bool, unheard: bool) -> Line | None:
    """`troubled`: topics with a partition in danger; `unheard`: a broker with copies is silent, of which only leaders tell."""
    if not topics:
        return None
    if not is_answered:
        return Line("unknown", f"Whether {_all(topics, 'topic')} {_is(topics)} safe is not known now.")
    unknown = counts.get("unknown", 0) + counts.get("starting", 0)
    if troubled:
        return _in_danger(topics, troubled, unknown, counts)
    if unknown:
        return Line("unknown", f"The state of {counted(unknown, 'partition')} is not known; no other one is in danger.")
    return _safe(topics, counts, unheard=unheard)


def _in_danger(topics: int, troubled: int, unknown: int, counts: Mapping[str, int]) -> Line:
    level: Level = "bad" if counts.get("offline") or counts.get("under_min_isr") else "warn"
    has = "has" if troubled == 1 else "have"
    also = f" Of {counted(unknown, 'partition')} more the state is not known." if unknown else ""
    return Line(level, f"{whole(troubled)} of {counted(topics, 'topic')} {has} a partition in danger.{also}")


def _safe(topics: int, counts: Mapping[str, int], *, unheard: bool) -> Line:
    if unheard:
        return Line("notice", f"By their leaders' word {_all(topics, 'topic')} {_is(topics)} safe.")
    if counts.get("deleting"):
        return Line("ok", "No topic is in danger.")
    return Line("ok", f"{_all(topics, 'topic').capitalize()} {_is(topics)} safe.")


def groups_line(groups: int, behind: int, *, unknown: int, is_heard: bool) -> Line | None:
    """`unknown`: groups whose lag nobody knows; `is_heard`: every coordinator is."""
    if not groups:
        return None
    is_known = is_heard and not unknown
    unheard = "not all coordinators are heard." if not is_heard else f"the lag of {counted(unknown, 'group')} is unknown."
    if behind:
        are, own = ("is", "its") if behind == 1 else ("are", "their")
        also = "" if is_known else f" {unheard.capitalize()}"
        return Line("warn", f"{whole(behind)} of {counted(groups, 'group')} {are} behind out of {own} own rhythm.{also}")
    if not is_known:
        return Line("unknown", f"Whether {_all(groups, 'group')} {_is(groups)} in time is not known: {unheard}")
    return Line("ok", "No group is behind out of its own rhythm.")


def last_known(line: Line | None) -> Line | None:
    """The same, of a cluster that nobody tells of any more."""
    return line and Line("unknown", f"Last known: {line.text}")


def _all(number: int, noun: str) -> str:
    return f"the one {noun}" if number == 1 else f"all {counted(number, noun)}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
