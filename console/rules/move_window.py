"""Which moves of a job begin next, so that no broker copies many partitions at a time. Pure.

Rules, over rows {from, to, state} in the order in which they stand:
1. A row counts for each broker that gets a copy, and for the first of those that have one: the preferred leader, from which it comes.
2. A waiting row begins when none of its brokers has `at_once` rows under way.
3. One for which no broker has room is passed over: those behind it may be for others.
4. A row that copies nothing (another order, a replica less) counts for no broker, and begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

AT_ONCE = 10
"""Where nothing else is asked for."""
AT_ONCE_MOST = 1_000
Row = TypeVar("Row", bound=Mapping[str, Any])


def next_moves(rows: Sequence[Row], at_once: int) -> list[Row]:
    """Those that begin now."""
    busy = Counter(broker for row in rows if row["state"] == "moving" for broker in copying(row))
    found = []
    for row in rows:
        brokers = copying(row)
        if row["state"] == "waiting" and all(busy[broker] < at_once for broker in brokers):
            busy.update(brokers)
            found.append(row)
    return found


def copying(row: Mapping[str, Any]) -> list[int]:
    """The brokers that are busy with it: who sends, then who gets."""
    added = [broker for broker in row["to"] if broker not in row["from"]]
    return [*row["from"][:1], *added] if added else []
