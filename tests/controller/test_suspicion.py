"""Whose death is agreed on while the session still lives."""

from __future__ import annotations

import pytest

from broker_core.controller.deciders.suspicion import agreed_dead
from broker_core.coordination.suspicions import Suspicion, gone_by, suspicions
from broker_core.model import BrokerInfo, Endpoint

pytestmark = pytest.mark.spec("Z4")


def registered(*broker_ids: int, without: int | None = None) -> dict[int, BrokerInfo]:
    """Epochs are ten times the ids; `without` is one that does not act before sessions end."""
    endpoints = (Endpoint("PLAINTEXT", "h", 1),)
    return {
        broker_id: BrokerInfo(broker_id, endpoints, None, 10 * broker_id, early_failover=broker_id != without) for broker_id in broker_ids
    }


def said(subject: int, *witnesses: int) -> list[Suspicion]:
    return [Suspicion(subject, 10 * subject, witness) for witness in witnesses]


def test_two_of_three_agree() -> None:
    assert agreed_dead(1, registered(1, 2, 3), said(3, 1, 2)) == {3: (1, 2)}


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        (1, said(3, 1)),
        (1, said(3, 2)),
        (1, said(3, 1, 3)),
        (1, said(3, 1, 7)),
        (1, [Suspicion(3, 29, 1), Suspicion(3, 29, 2)]),
    ],
    ids=["one alone", "others alone", "of itself", "not registered", "an earlier registration"],
)
def test_nothing_less_counts(mine: int, told: list[Suspicion]) -> None:
    assert agreed_dead(mine, registered(1, 2, 3), told) == {}


def test_a_cluster_of_two_has_no_second_witness() -> None:
    assert agreed_dead(1, registered(1, 2), said(2, 1)) == {}


def test_of_two_halves_that_see_each_other_refuse_neither_acts() -> None:
    told = said(1, 3, 4) + said(2, 3, 4) + said(3, 1, 2) + said(4, 1, 2)
    assert all(agreed_dead(mine, registered(1, 2, 3, 4), told) == {} for mine in (1, 2, 3, 4))


def test_two_of_five_that_die_at_once_are_dead() -> None:
    assert agreed_dead(1, registered(1, 2, 3, 4, 5), said(4, 1, 2, 3) + said(5, 1, 2, 3)) == {4: (1, 2, 3), 5: (1, 2, 3)}


def test_one_broker_that_does_not_take_part_leaves_it_to_the_sessions() -> None:
    assert agreed_dead(1, registered(1, 2, 3, 4, without=4), said(3, 1, 2, 4)) == {}


def test_znodes_of_others_making_are_left_out() -> None:
    assert suspicions(["3-30-1", "3-30", "x-1-2", "3-30-1-4", "-1-2", "²-1-2", ""]) == [Suspicion(3, 30, 1)]


@pytest.mark.parametrize("controller", [1, 3, None, 7], ids=["a witness", "the dead one", "none", "one that is not registered"])
def test_who_is_dead_for_most_is_gone_where_the_controller_sees_it_too(controller: int | None) -> None:
    assert gone_by(registered(1, 2, 3), said(3, 1, 2), controller) == {3: (1, 2)}


def test_who_answers_the_controller_is_not_gone() -> None:
    assert gone_by(registered(1, 2, 3, 4), said(4, 1, 2, 3), 1) == {4: (1, 2, 3)}
    assert gone_by(registered(1, 2, 3, 4, 5), said(5, 1, 2, 3), 4) == {}
