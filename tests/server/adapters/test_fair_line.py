"""Groups take turns, whoever came first in a group is first, and a turn ends by requests or by time."""

from __future__ import annotations

import pytest

from broker_core.server.adapters.fair_line import FairLine
from broker_core.server.adapters.turn import REQUESTS_MAX, TURN_MS, Turn


def filled(*items: tuple[str, int]) -> FairLine[tuple[str, int]]:
    line: FairLine[tuple[str, int]] = FairLine()
    for group, number in items:
        line.add(group, (group, number))
    return line


def all_of(line: FairLine[tuple[str, int]]) -> list[tuple[str, int]]:
    return [line.take() for _ in range(line.count)]


def test_first_come_first_served_in_one_group() -> None:
    assert all_of(filled(("a", 1), ("a", 2), ("a", 3))) == [("a", 1), ("a", 2), ("a", 3)]


def test_groups_take_turns_whatever_their_size() -> None:
    line = filled(*[("clients", number) for number in range(1000)], ("brokers", 1), ("brokers", 2))
    assert [line.take() for _ in range(5)] == [("clients", 0), ("brokers", 1), ("clients", 1), ("brokers", 2), ("clients", 2)]
    line.add("brokers", ("brokers", 3))
    assert [line.take(), line.take()] == [("clients", 3), ("brokers", 3)]
    assert line.count == 1000 - 4


def test_one_that_could_not_go_is_first_of_its_group() -> None:
    line = filled(("a", 1), ("a", 2), ("b", 1))
    called = line.take()
    line.add_first("a", called)
    assert all_of(line) == [("b", 1), ("a", 1), ("a", 2)]


def test_nobody_is_taken_from_an_empty_line() -> None:
    line = filled(("a", 1))
    line.take()
    with pytest.raises(KeyError):
        line.take()


def test_a_turn_ends_by_requests() -> None:
    turn = Turn(1_000.0)
    assert [turn.served(1_000.0) for _ in range(REQUESTS_MAX)] == [True] * (REQUESTS_MAX - 1) + [False]


def test_a_turn_ends_by_time() -> None:
    turn = Turn(1_000.0)
    assert turn.served(1_000.0 + TURN_MS - 0.1)
    assert not turn.served(1_000.0 + TURN_MS)
