"""A broker loses power and is back while no controller looks, and others write the states it is a member in.

What it had not flushed is gone, so it may not lead before it has fetched it again, though the ISR names it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from tests.simulation.scenarios import stored_state
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("B11", "B15")

CONTROLLER, LEADER, VICTIM = 1, 2, 3
TP = TopicPartition("t", 0)
VALUES = [f"value {number}" for number in range(20)]


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    """Broker 1 is the controller, 2 leads the one partition, all three hold its records, unflushed."""
    with BrokerCluster(brokers=3, seed=11, **{"min.insync.replicas": "2", "replica.lag.time.max.ms": "2000"}) as cluster:
        cluster.start_all()
        assert cluster.controller() == CONTROLLER
        assignment = {"partition_index": 0, "broker_ids": [LEADER, VICTIM, CONTROLLER]}
        topic = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": [assignment], "configs": []}
        cluster.ask(CONTROLLER, ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout": 30_000})
        for value in VALUES:
            assert cluster.produce("t", value).error_code is ErrorCode.NONE
        cluster.world.run_for(3_000)
        yield cluster


def restart_after_power_loss(cluster: BrokerCluster) -> None:
    assert any("/t-0/" in path for path in cluster.world.lose_power(f"b{VICTIM}")), "it must have had something to lose"
    cluster.start(VICTIM)


def test_the_leader_rewrites_the_state_between_the_restart_and_the_election(cluster: BrokerCluster) -> None:
    """The state is younger than the victim's registration; the leader, which has everything, dies before the victim has it again."""
    cluster.kill(CONTROLLER)
    cluster.world.run_for(1_300)
    assert cluster.produce("t", "uncertain", acks=1).error_code is ErrorCode.NONE
    cluster.world.run_for(100)
    restart_after_power_loss(cluster)
    cluster.until(lambda: stored_state(cluster, TP)[1] == (LEADER, VICTIM))
    cluster.kill(LEADER)
    cluster.world.run_for(20_000)
    cluster.start(LEADER)
    cluster.start(CONTROLLER)
    cluster.until(lambda: len(cluster.isr(VICTIM, "t")) == 3)
    assert cluster.consume("t")[: len(VALUES)] == VALUES


def test_those_whose_sessions_expired_stay_in_sync_when_the_controller_loses_power(cluster: BrokerCluster) -> None:
    """The store stood still for longer than a session; taken for restarted ones they would leave the ISR before the dead one, which
    then would lead alone without its records."""
    for broker_id in cluster.ids:
        cluster.world.expire_session(f"b{broker_id}")
    assert any("/t-0/" in path for path in cluster.world.lose_power(f"b{CONTROLLER}")), "it must have had something to lose"
    cluster.world.run_for(20_000)
    cluster.start(CONTROLLER)
    cluster.until(lambda: len(cluster.isr(LEADER, "t")) == 3)
    assert cluster.consume("t")[: len(VALUES)] == VALUES


def test_all_others_are_dead_when_the_victim_takes_the_office(cluster: BrokerCluster) -> None:
    """Of the members that are not there, one that has its records stays in the ISR, not the one that came back without."""
    cluster.kill(LEADER)
    cluster.kill(CONTROLLER)
    restart_after_power_loss(cluster)
    cluster.world.run_for(20_000)
    cluster.start(LEADER)
    cluster.start(CONTROLLER)
    cluster.until(lambda: len(cluster.isr(VICTIM, "t")) == 3)
    assert cluster.consume("t")[: len(VALUES)] == VALUES
