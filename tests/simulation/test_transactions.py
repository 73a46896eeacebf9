"""Transactions under faults: whole or not at all, whatever brokers, coordinators and producers go through."""

from __future__ import annotations

import pytest

from broker_core.transactions import transaction
from tests.simulation import planted
from tests.simulation.chaos import WRITERS, run

pytestmark = pytest.mark.spec("G5", "B17", "C")


def test_transactions_under_faults_are_whole() -> None:
    outcome = run(1, writers=WRITERS)
    assert outcome.violations == []
    assert outcome.events["transactions committed"] > 20
    assert outcome.events["transactions aborted"] > 10


def test_a_flaw_put_in_on_purpose_would_be_noticed() -> None:
    """One of those in `planted.py`; `python -m tests.simulation.find_flaw FLAW FAULTS` finds the seeds of all."""
    assert run(12, faults=2, writers=WRITERS, planted="aborted offsets count").violations


def test_a_flaw_is_there_for_as_long_as_it_is_asked_for() -> None:
    for name in planted.FLAWS:
        before = transaction.fence
        with planted.flaw(name):
            pass
        assert transaction.fence is before
