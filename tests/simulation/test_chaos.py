"""Whole clusters under faults keep every invariant; `make simulate` runs more seeds of the same."""

from __future__ import annotations

import pytest

from broker_core.errors import ErrorCode
from broker_core.replication.flaws import Flaws
from tests.simulation import control_faults, lost_replies
from tests.simulation.chaos import FAULTS, run
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("A", "C")


def test_a_run_under_faults_keeps_every_invariant() -> None:
    outcome = run(1)
    assert outcome.violations == []
    assert outcome.acked > 100


@pytest.mark.spec("Z5")
def test_control_requests_that_take_long_and_late_answers_keep_every_invariant() -> None:
    """By the time one is carried out it may have been sent again, or a newer controller been heard of."""
    outcome = run(11)
    assert outcome.violations == []
    assert all(outcome.faults[kind] for kind in control_faults.KINDS), outcome.faults


@pytest.mark.spec("R6", "B1", "B4", "B11")
@pytest.mark.parametrize(
    ("flaw", "seed", "faults"),
    [
        ("truncate_to_high_watermark", 3, 2),
        ("join_below_epoch_start", 17, FAULTS),
        ("accept_old_generations", 11, 4),
        ("obey_before_registration", 11, 4),
    ],
)
def test_a_flaw_put_in_on_purpose_would_be_noticed(flaw: str, seed: int, faults: int) -> None:
    """Acknowledged records are lost, or a leader or a member of the ISR lacks committed ones, and the run says so.

    A few faults are enough for most, and take a third of the time (`python -m tests.simulation.find_flaw FLAW FAULTS` finds seeds anew).
    """
    outcome = run(seed, flaws=Flaws(**{flaw: True}), faults=faults)
    assert any("acknowledged" in violation or "committed" in violation for violation in outcome.violations)


@pytest.mark.spec("R2", "R4")
@pytest.mark.parametrize(("flaw", "seed", "faults"), [("ignore_pending_isr", 7, 2), ("obey_late_alterations", 6, FAULTS)])
def test_a_flaw_of_those_who_agree_on_isrs_would_be_noticed(flaw: str, seed: int, faults: int) -> None:
    """Members of the ISR lack what is committed, or leader and store part for good."""
    assert run(seed, flaws=Flaws(**{flaw: True}), faults=faults).violations


@pytest.mark.spec("R4")
def test_leaders_that_write_isrs_into_the_store_keep_every_invariant() -> None:
    """As before 2.7-IV2."""
    outcome = run(21, protocol="2.7-IV1")
    assert outcome.violations == []
    assert outcome.acked > 100


def test_a_run_is_repeated_by_its_seed() -> None:
    assert run(4, faults=4).digest == run(4, faults=4).digest


@pytest.mark.spec("B11", "B15")
def test_a_leader_and_controller_that_loses_power_and_is_back_at_once_loses_nothing_acknowledged() -> None:
    """The controller elected meanwhile must treat the broker as bounced, though it never saw it gone."""
    with BrokerCluster(brokers=3, seed=11, **{"min.insync.replicas": "2"}) as cluster:
        cluster.start_all()
        cluster.create("t", partitions=3)
        controller = cluster.controller()
        partition = next(number for number in range(3) if cluster.leader("t", number) == controller)
        values = [f"value {number}" for number in range(20)]
        for value in values:
            assert cluster.produce("t", value, partition=partition).error_code == ErrorCode.NONE
        cluster.world.lose_power(f"b{controller}")
        cluster.start(controller)
        cluster.world.run_for(20_000)
        cluster.until(lambda: len(cluster.isr(controller, "t", partition)) == 3)
        assert cluster.consume("t", partition) == values


@pytest.mark.spec("B12")
def test_many_lost_replies_of_the_store_keep_every_invariant() -> None:
    """What a write whose reply was lost has changed is told as if it had been heard; `--lost-replies 30` tries more seeds."""
    outcome = run(600_014, lost_replies=30)
    assert outcome.violations == []
    assert outcome.faults[lost_replies.KIND] > 20
