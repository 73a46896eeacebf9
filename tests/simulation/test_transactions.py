"""Transactions under faults: whole or not at all, whatever brokers, coordinators and producers go through."""

from __future__ import annotations

import pytest

from tests.simulation.chaos import run

pytestmark = pytest.mark.spec("G5", "B17", "C")


def test_transactions_under_faults_are_whole() -> None:
    outcome = run(1, writers=4)
    assert outcome.violations == []
    assert outcome.events["transactions committed"] > 20
    assert outcome.events["transactions aborted"] > 10
