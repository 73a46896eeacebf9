"""When a rule would have fired on figures that are kept over time. Pure: times are ms since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from console.rules.alerts.figures import Condition, Value
from console.rules.alerts.standing import GAP_MS, OK, step

GAP_SAMPLES = 2.5
"""Samples further apart than so many times the usual distance have a gap between them, as the history has it."""


class Firing(NamedTuple):
    """`to_ms` is None where it fires at the end still, as far as is known."""

    from_ms: int
    to_ms: int | None


class Replay(NamedTuple):
    """`known` of the samples were known."""

    firings: tuple[Firing, ...]
    known: int
    samples: int


def replay(condition: Condition, at_ms: Sequence[int], values: Sequence[Value], every_ms: int) -> Replay:
    """The same steps as live looks take; how long something held is known as exactly as samples are apart."""
    standing, found, since_ms = OK, list[Firing](), 0
    gap_ms = max(GAP_MS, int(every_ms * GAP_SAMPLES))
    for moment_ms, value in zip(at_ms, values, strict=True):
        before = standing.state
        standing = step(standing, condition.holds(value), moment_ms, condition.for_s * 1000, gap_ms=gap_ms)
        if standing.state == "firing" and before != "firing":
            since_ms = moment_ms
        elif before == "firing" and standing.state != "firing":
            found.append(Firing(since_ms, moment_ms))
    if standing.state == "firing":
        found.append(Firing(since_ms, None))
    return Replay(tuple(found), sum(value is not None for value in values), len(values))
