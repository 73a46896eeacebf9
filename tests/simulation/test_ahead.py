"""Producers with several requests on their way: begun while those before them wait, none lost, none twice, none out of order."""

from __future__ import annotations

import pytest

from tests.simulation.chaos import run

pytestmark = pytest.mark.spec("R5", "R12", "A", "C")


def test_five_requests_on_their_way_under_faults() -> None:
    outcome = run(1, ahead=5)
    assert outcome.violations == []
    assert outcome.acked > 3_000


def test_wrong_suspicions_beside_them() -> None:
    assert run(4, ahead=5, suspicions=4).violations == []
