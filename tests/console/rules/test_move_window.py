"""Which moves begin next: room on each broker, passing over, and what copies nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console.rules.move_window import copying, next_moves

BROKERS = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True)


def row(before: list[int], after: list[int], state: str = "waiting") -> dict[str, Any]:
    return {"from": before, "to": after, "state": state}


def test_a_broker_with_enough_to_do_gets_no_more_and_others_do() -> None:
    rows = [row([1], [2], "moving"), row([3], [2]), row([1], [3]), row([3], [4])]
    assert next_moves(rows, 1) == [rows[3]]
    assert next_moves(rows, 2) == rows[1:3], "the sender counts as the one that fetches does"


def test_what_copies_nothing_needs_no_room() -> None:
    rows = [row([1, 2], [2, 3], "moving"), row([1, 2], [2, 1]), row([1, 2, 3], [1, 2])]
    assert next_moves(rows, 1) == rows[1:]


@given(
    rows=st.lists(st.builds(row, BROKERS, BROKERS, st.sampled_from(("waiting", "moving", "done", "failed"))), max_size=30),
    at_once=st.integers(1, 4),
)
def test_of_every_window(rows: list[dict[str, Any]], at_once: int) -> None:
    begun = next_moves(rows, at_once)
    assert all(each["state"] == "waiting" for each in begun)
    before = [broker for each in rows if each["state"] == "moving" for broker in copying(each)]
    busy = [broker for each in begun for broker in copying(each)]
    assert all(before.count(broker) + busy.count(broker) <= max(at_once, before.count(broker)) for broker in set(busy))
    for each in begun:
        each["state"] = "moving"
    assert next_moves(rows, at_once) == [], "it leaves nobody waiting that has room"
    waiting = [each for each in rows if each["state"] == "waiting"]
    if waiting:
        assert any(each["state"] == "moving" for each in rows), "and never stands still"
