"""Reading from a follower (KIP-392)."""

from __future__ import annotations

import pytest

from broker_core.replication.serving.replica_selector import RACK_AWARE, RANDOM, Candidate, select

pytestmark = pytest.mark.spec("R10")

LEADER = Candidate(1, "a", 100, 0)
NEAR = Candidate(2, "b", 90, 500)
NEARER = Candidate(3, "b", 95, 900)


def test_no_selector_means_the_leader() -> None:
    assert select(None, [NEAR], LEADER, "b", 0.9) is None


def test_rack_aware_takes_the_most_caught_up_of_the_rack() -> None:
    assert select(RACK_AWARE, [NEAR, NEARER], LEADER, "b", 0) == 3
    assert select(RACK_AWARE, [NEAR, NEARER], LEADER, "a", 0) is None
    assert select(RACK_AWARE, [NEAR, NEARER], LEADER, "c", 0) is None
    assert select(RACK_AWARE, [NEAR, NEARER], LEADER, "", 0) is None


def test_rack_aware_prefers_the_fresher_of_equals() -> None:
    assert select(RACK_AWARE, [Candidate(2, "b", 90, 500), Candidate(3, "b", 90, 100)], LEADER, "b", 0) == 3


def test_random_reaches_everyone() -> None:
    """MetaQ's choice."""
    assert [select(RANDOM, [NEAR, NEARER], LEADER, "", draw) for draw in (0.0, 0.34, 0.99)] == [None, 2, 3]
