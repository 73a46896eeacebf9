"""Which topic grows, and which broker has most to do? Both by the last day beside the one before it."""

from __future__ import annotations

from broker_core.contract.sentences import Line
from console.rules.analysis.model import Answer, Row, Table, Told, answer, told
from console.rules.pieces import link, said
from console.rules.words import size

HOT = 1.5
"""A broker with so many times the mean of all is hot."""


def which_topic_grows(two_days: Table) -> Answer:
    rows = sorted((row for row in two_days.rows if row["what"] == "bytes"), key=lambda row: -row["after"])
    total = sum(row["after"] for row in rows)
    lines = [_share(link(row["name"], f"topic/{row['name']}"), row, total) for row in rows if row["after"] > 0]
    return answer("topics", "Which topic grows?", _verdict(rows, total, "topic"), lines, ("topics", "partitions"))


def which_broker_is_hot(two_days: Table) -> Answer:
    rows = sorted((row for row in two_days.rows if row["what"] == "led"), key=lambda row: -row["after"])
    total = sum(row["after"] for row in rows)
    lines = [_share(link(f"Broker {row['name']}", "brokers"), row, total) for row in rows]
    if len(rows) > 1 and total > 0 and (most := rows[0]["after"] * len(rows) / total) >= HOT:
        verdict = Line("notice", f"Broker {rows[0]['name']} takes {most:.1f} times the mean of all: moving leaders would spread it.")
    else:
        verdict = Line("ok", "No broker takes half as much again as the mean.") if total else _verdict(rows, total, "broker")
    return answer("brokers", "Which broker is hot?", verdict, lines, ("brokers",))


def _verdict(rows: list[Row], total: float, noun: str) -> Line:
    if not rows:
        return Line("unknown", "Not known yet: no hour was sampled on both of the last two days.")
    if not total:
        return Line("ok", "Nothing was written.")
    return Line("ok", f"{rows[0]['name']} takes most: {rows[0]['after'] / total:.0%} of {size(total)} a second over all {noun}s.")


def _share(name: object, row: Row, total: float) -> Told:
    part = f", {row['after'] / total:.0%} of all" if total else ""
    return told("ok", name, said(f": {size(row['after'])} a second{part}."))  # type: ignore[arg-type]
