"""Who falls behind, and when will they have caught up?

A group with lag that does not close it is warn, one that closes it is notice, one that is level is nothing to say; nor is one that is
behind by less than ten seconds of what is written: so much lies between two commits.
"""

from __future__ import annotations

from broker_core.contract.sentences import Line
from console.rules.analysis.model import Answer, Row, Table, Told, answer, told
from console.rules.lag import KEEPING_UP_S
from console.rules.pieces import link, said
from console.rules.words import counted, duration, whole

STEADY_SHARE = 0.01
"""A lag that changes by less of itself an hour is called steady."""


def who_falls_behind(catching_up: Table, forecasts: Table) -> Answer:
    """`catching_up` is by the pace of the last half hour, `forecasts` by that of the last day."""
    ahead = {row["name"]: row for row in forecasts.rows}
    behind = sorted(filter(_is_behind, catching_up.rows), key=lambda row: (row["eta_s"] is not None, -row["lag"], row["group"]))
    lines = [_line(row, ahead.get(row["group"])) for row in behind]
    verdict = _verdict(catching_up, behind)
    question = "Who falls behind, and when will they have caught up?"
    return answer("lag", question, verdict, lines, ("catching_up", "lags", "lag"), left_off=catching_up.left_off)


def _verdict(catching_up: Table, behind: list[Row]) -> Line:
    if not catching_up.rows:
        return Line("unknown", "No group was sampled for a minute or longer in the last half hour.")
    never = [row for row in behind if row["eta_s"] is None]
    if never:
        return Line(
            "warn", f"{counted(len(never), 'group')} of {whole(len(catching_up.rows))} did not gain in the half hour before the analysis."
        )
    if behind:
        longest = max(row["eta_s"] for row in behind)
        return Line("notice", f"{counted(len(behind), 'group')} behind; all gain, the last is level in {duration(longest)}.")
    return Line("ok", f"All groups were level, or less than {duration(KEEPING_UP_S)} behind.")


def _is_behind(row: Row) -> bool:
    return bool(row["lag"]) and row["lag"] > KEEPING_UP_S * (row["grows_per_s"] or 0)


def _line(row: Row, ahead: Row | None) -> Told:
    group = link(row["group"], f"group/{row['group']}")
    records = f" is {counted(row['lag'], 'record')} behind on "
    place = link(f"{row['topic']}-{row['partition']}", f"topic/{row['topic']}")
    paces = f": it reads {_rate(row['reads_per_s'])}, {_rate(row['grows_per_s'])} are written"
    if row["eta_s"] is None:
        return told("warn", group, said(records), place, said(f"{paces}; at this pace it never catches up.{_day(ahead)}"))
    return told("notice", group, said(records), place, said(f"{paces}; level in {duration(row['eta_s'])}."))


def _rate(per_s: float | None) -> str:
    return "an unknown number a second" if per_s is None else f"{per_s:.1f} a second" if per_s < 100 else f"{whole(per_s)} a second"


def _day(ahead: Row | None) -> str:
    """What the last day says of a group that does not gain now."""
    if ahead is None or ahead["low_per_hour"] is None or ahead["eta_hours"] is None:
        return ""
    return f" By the pace of its last day it would be level in {duration(ahead['eta_hours'] * 3600)}."
