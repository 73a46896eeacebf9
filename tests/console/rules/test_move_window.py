"""Which moves begin next: room on each broker, passing over, and what copies nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console.rules.move_window import AHEAD_S, AT_ONCE, SMALL_MOST, Room, copying, next_moves, room

BROKERS = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True)


def row(before: list[int], after: list[int], state: str = "waiting") -> dict[str, Any]:
    return {"from": before, "to": after, "state": state}


def test_a_broker_with_enough_to_do_gets_no_more_and_others_do() -> None:
    rows = [row([1], [2], "moving"), row([3], [2]), row([1], [3]), row([3], [4])]
    assert next_moves(rows, Room(1)) == [rows[3]]
    assert next_moves(rows, Room(2)) == rows[1:3], "the sender counts as the one that fetches does"


def test_what_copies_nothing_needs_no_room() -> None:
    rows = [row([1, 2], [2, 3], "moving"), row([1, 2], [2, 1]), row([1, 2, 3], [1, 2])]
    assert next_moves(rows, Room(1)) == rows[1:]


def sized(mb: float | None, state: str = "waiting", done_mb: float = 0) -> dict[str, Any]:
    known = {} if mb is None else {"bytes_total": int(mb * 1e6), "bytes": int(done_mb * 1e6)}
    return row([1, 2], [1, 3], state) | known


def test_small_ones_are_begun_ahead_of_the_next_look() -> None:
    """As many as keep a broker busy until then: each look is some seconds after the last one."""
    rows = [sized(1) for _ in range(300)]
    at_5_mb_per_s = room(None, 5_000_000)
    assert at_5_mb_per_s == Room(AT_ONCE, 5_000_000 * AHEAD_S)
    assert len(next_moves(rows, at_5_mb_per_s)) == 5 * AHEAD_S
    assert len(next_moves(rows, room(7, 5_000_000))) == 7, "what was asked for is held"
    assert len(next_moves([sized(0.001) for _ in range(300)], room(None, None))) == SMALL_MOST
    assert len(next_moves([sized(100) for _ in range(300)], at_5_mb_per_s)) == AT_ONCE


def test_what_is_copied_already_makes_room_and_an_unknown_size_none() -> None:
    under_way = [sized(10, "moving", done_mb=9.5) for _ in range(20)]
    waiting = [sized(10) for _ in range(20)]
    assert len(next_moves([*under_way, *waiting], Room(AT_ONCE, 25_000_000))) == 2
    assert next_moves([*under_way, sized(None, "moving"), *waiting], Room(AT_ONCE, 25_000_000)) == []


def test_each_of_two_copies_is_fetched_once_and_sent_twice() -> None:
    rows = [row([1], [1, 2, 3]) | {"bytes_total": 2_000_000} for _ in range(40)]
    assert len(next_moves(rows, Room(1, 20_000_000))) == 10, "the sender is full"


@given(
    rows=st.lists(st.builds(row, BROKERS, BROKERS, st.sampled_from(("waiting", "moving", "done", "failed"))), max_size=30),
    at_once=st.integers(1, 4),
)
def test_of_every_window(rows: list[dict[str, Any]], at_once: int) -> None:
    begun = next_moves(rows, Room(at_once))
    assert all(each["state"] == "waiting" for each in begun)
    before = [broker for each in rows if each["state"] == "moving" for broker in copying(each)]
    busy = [broker for each in begun for broker in copying(each)]
    assert all(before.count(broker) + busy.count(broker) <= max(at_once, before.count(broker)) for broker in set(busy))
    for each in begun:
        each["state"] = "moving"
    assert next_moves(rows, Room(at_once)) == [], "it leaves nobody waiting that has room"
    waiting = [each for each in rows if each["state"] == "waiting"]
    if waiting:
        assert any(each["state"] == "moving" for each in rows), "and never stands still"
