"""HW-019: clients of our own that get nothing done (`console/rules/watch.py`)."""

from __future__ import annotations

from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome


def silent(facts: Facts) -> Outcome:
    advice = "It is replaced by itself; if that does not help, look at the brokers that it writes to."
    return Outcome(
        [
            Finding(one.name, "warn", f"The client {one.doing} gets nothing done.", one.sentence, advice, "/events", "events")
            for one in facts.clients
        ]
    )
