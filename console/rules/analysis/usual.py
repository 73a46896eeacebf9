"""What is unusual for its hour of the day, and what changed since yesterday?"""

from __future__ import annotations

from datetime import UTC, datetime

from broker_core.contract.sentences import Line, Piece
from console.rules.analysis.model import Answer, Row, Table, Told, answer, told
from console.rules.pieces import link, said
from console.rules.words import counted, size, whole

UNUSUAL = 4.0
"""Spreads away from what is usual."""
CHANGED = 0.2
"""A share of what was before."""
LEAST = {"messages": 0.1, "bytes": 100.0, "led": 100.0, "lag": 100.0}
"""Less than this on both days is nothing to compare."""
NAMES = {"messages": "records a second", "bytes": "bytes a second", "led": "bytes a second", "lag": "records behind"}


def what_is_unusual(profile: Table) -> Answer:
    judged = [row for row in profile.rows if row["deviation"] is not None]
    unusual = sorted((row for row in judged if abs(row["deviation"]) >= UNUSUAL), key=lambda row: -abs(row["deviation"]))
    if not judged:
        verdict = Line("unknown", "Not known yet: what is usual for an hour is known after three days of samples.")
    elif unusual:
        verdict = Line(
            "notice",
            f"{counted(len(unusual), 'hour')} of the last day was unusual."
            if len(unusual) == 1
            else f"{whole(len(unusual))} hours of topics were unusual.",
        )
    else:
        verdict = Line("ok", "Every topic had about what is usual for the hour.")
    return answer("unusual", "What is unusual?", verdict, [_unusual(row) for row in unusual], ("profile",))


def _unusual(row: Row) -> Told:
    at = datetime.fromtimestamp(row["window_start_ms"] / 1000, UTC)
    more = "more" if row["deviation"] > 0 else "less"
    words = f" had {more} than usual at {at:%H}:00 UTC on {at:%d %b}: {_number(row['messages_per_s'])} records a second, usual are "
    return told(
        "notice",
        link(row["topic"], f"topic/{row['topic']}"),
        said(f"{words}{_number(row['usual'])} (by {counted(row['days'], 'day')} before)."),
    )


def what_changed(two_days: Table) -> Answer:
    known = [row for row in two_days.rows if row["what"] in NAMES]
    changed = sorted((row for row in known if _is_change(row)), key=lambda row: (-_factor(row), row["what"], row["name"]))
    if not known:
        verdict = Line("unknown", "Not known yet: no hour was sampled on both of the last two days.")
    elif changed:
        verdict = Line("notice", f"{counted(len(changed), 'figure')} changed by a fifth or more.")
    else:
        verdict = Line("ok", "Nothing changed by a fifth or more.")
    return answer(
        "changed", "What changed since yesterday?", verdict, [_change(row) for row in changed], ("two_days",), left_off=two_days.left_off
    )


def _is_change(row: Row) -> bool:
    before, after = row["before"], row["after"]
    return bool(max(before, after) >= LEAST[row["what"]] and abs(after - before) >= CHANGED * max(before, LEAST[row["what"]]))


def _factor(row: Row) -> float:
    low, high = sorted((row["before"], row["after"]))
    return float(high / max(low, LEAST[row["what"]]))


def _change(row: Row) -> Told:
    before, after = row["before"], row["after"]
    by = "from nothing" if before <= 0 else f"{(after - before) / before:+.0%}".replace("-", "−")
    shown = size if row["what"] in ("bytes", "led") else _number
    unit = " a second" if row["what"] in ("bytes", "led") else f" {NAMES[row['what']]}"
    hours = f"over {counted(row['hours'], 'hour')} of both days"
    return told("notice", _named(row), said(f": {shown(after)}{unit}, {shown(before)} the day before ({by}, {hours})."))


def _named(row: Row) -> Piece:
    if row["what"] == "led":
        return link(f"Broker {row['name']}", "brokers")
    kind = "group" if row["what"] == "lag" else "topic"
    return link(row["name"], f"{kind}/{row['name']}")


def _number(value: float) -> str:
    return whole(value) if value >= 100 else f"{value:.1f}"
