"""Transactions under faults: whole or not at all, whatever brokers, coordinators and producers go through."""

from __future__ import annotations

import pytest

from tests.simulation import planted
from tests.simulation.chaos import WRITERS, run

pytestmark = pytest.mark.spec("G5", "B17", "C")


def test_transactions_under_faults_are_whole() -> None:
    outcome = run(1, writers=WRITERS)
    assert outcome.violations == []
    assert outcome.events["transactions committed"] > 20
    assert outcome.events["transactions aborted"] > 10


FOUND = {
    "late batch begins a transaction": 1,
    "aborted offsets count": 1,
}
"""By which seed of a hundred (`python -m tests.simulation.find_flaw FLAW` finds it anew)."""


@pytest.mark.parametrize("flaw", FOUND)
def test_a_flaw_put_in_on_purpose_would_be_noticed(flaw: str) -> None:
    assert run(FOUND[flaw], writers=WRITERS, planted=flaw).violations


def test_every_flaw_has_its_seed() -> None:
    assert FOUND.keys() == planted.FLAWS.keys()
