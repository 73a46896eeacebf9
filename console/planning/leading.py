"""Who of its replicas is preferred as a partition's leader, so that brokers lead evenly many.

As long as a partition's preferred leader has at least two more than another of its replicas, that one takes its place: each such step
lowers the sum of the squares, so it ends. Nothing is copied for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from console.planning.load import Load


def spread(rows: Sequence[tuple[int, ...]], load: Load) -> list[tuple[int, ...]]:
    """The same replicas of each, with another in front where that is more even; `load` counts them already."""
    found, changed = list(rows), True
    while changed:
        changed = False
        for index, row in enumerate(found):
            better = _better(row, load)
            if better != row:
                load.shift(row, better)
                found[index], changed = better, True
    return found


def _better(row: tuple[int, ...], load: Load) -> tuple[int, ...]:
    least = min(row, key=lambda broker: (load.leading(broker), broker), default=None)
    if least is None or load.leading(row[0]) - load.leading(least) < 2:
        return row
    return _in_front(row, least)


def _in_front(row: Collection[int], first: int) -> tuple[int, ...]:
    return (first, *(broker for broker in row if broker != first))
