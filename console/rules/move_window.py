"""Which moves of a job begin next, so that no broker copies many partitions at a time, nor has nothing to copy until the next look. Pure.

Rules, over rows {from, to, state, bytes, bytes_total} in the order in which they stand:
1. A row counts for each broker that gets a copy, and for the first of those that have one: the preferred leader, from which it comes.
2. A waiting row begins when each of its brokers has room: fewer than `at_once` rows under way.
3. A broker has room for small ones, too, fewer than `SMALL_MOST`, while all that it has to copy yet is less than `small_bytes`: what it
   copies until somebody looks again. Where the size of a row under way is not known, it has no such room.
4. One for which no broker has room is passed over: those behind it may be for others.
5. A row that copies nothing (another order, a replica less) counts for no broker, and begins.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, TypeVar

AT_ONCE = 10
"""Where nothing else is asked for."""
AT_ONCE_MOST = 1_000
SMALL_MOST = 200
AHEAD_S = 10
"""A look every two seconds, and what is seen at it, and begun, may be some seconds late."""
UNTHROTTLED_BYTES = 256 << 20
Row = TypeVar("Row", bound=Mapping[str, Any])


class Room(NamedTuple):
    at_once: int
    small_bytes: int = 0


def room(at_once: int | None, bytes_per_s: int | None) -> Room:
    """Of each broker: what was asked for and no more, else by the throttle's rate; without one there is a limit all the same."""
    return Room(at_once) if at_once else Room(AT_ONCE, UNTHROTTLED_BYTES if bytes_per_s is None else bytes_per_s * AHEAD_S)


def next_moves(rows: Sequence[Row], room: Room) -> list[Row]:
    """Those that begin now."""
    busy, left = Counter[int](), defaultdict[int, float](float)

    def take(row: Row, brokers: Sequence[int]) -> None:
        busy.update(brokers)
        for broker in brokers:
            left[broker] += _left(row, len(brokers) - 1, sends=broker == brokers[0])

    for row in rows:
        if row["state"] == "moving":
            take(row, copying(row))
    found = []
    for row in rows:
        brokers = copying(row)
        if row["state"] == "waiting" and all(_has_room(room, busy[broker], left[broker]) for broker in brokers):
            take(row, brokers)
            found.append(row)
    return found


def _has_room(room: Room, rows: int, left: float) -> bool:
    return rows < room.at_once or (rows < SMALL_MOST and left < room.small_bytes)


def _left(row: Mapping[str, Any], copies: int, *, sends: bool) -> float:
    """Bytes that one of a row's brokers has to send or to fetch yet; each copy is of one size."""
    if "bytes_total" not in row:
        return inf
    whole: float = max(row["bytes_total"] - row.get("bytes", 0), 0)
    return whole if sends else whole / copies


def copying(row: Mapping[str, Any]) -> list[int]:
    """The brokers that are busy with it: who sends, then who gets."""
    added = [broker for broker in row["to"] if broker not in row["from"]]
    return [*row["from"][:1], *added] if added else []
