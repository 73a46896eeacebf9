"""Brokers that act on deaths before sessions end: in time, only where they agree, and without loss where they are wrong."""

from __future__ import annotations

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from tests.simulation.chaos import run
from tests.simulation.scenarios import stored_state
from tests.simulation.suspicions import KIND, WrongSuspicions
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("Z2", "Z4", "A", "C")

SETTINGS = {"min.insync.replicas": "2"}
SESSION_MS = 6_000


def early() -> BrokerCluster:
    """As it is by default."""
    return BrokerCluster(brokers=3, seed=3, **SETTINGS)


def begin(cluster: BrokerCluster, *, led_by_controller: bool) -> tuple[int, int]:
    """A broker, the controller or another, and a partition that it leads."""
    cluster.start_all()
    controller = cluster.controller()
    cluster.create("t", partitions=3)
    led = {cluster.leader("t", partition): partition for partition in range(3)}
    leader = controller if led_by_controller else next(broker_id for broker_id in cluster.ids if broker_id != controller)
    cluster.world.run_for(3_000)
    return leader, led[leader]


@pytest.mark.parametrize("led_by_controller", [False, True], ids=["leader", "leader and controller"])
def test_a_killed_broker_is_replaced_while_its_session_lives(led_by_controller: bool) -> None:
    with early() as cluster:
        leader, partition = begin(cluster, led_by_controller=led_by_controller)
        killed_us = cluster.world.scheduler.now_us
        cluster.kill(leader)
        cluster.until(lambda: cluster.leads("t", partition), 1_000)
        assert cluster.produce("t", "next", partition=partition).error_code == ErrorCode.NONE
        assert cluster.world.scheduler.now_us - killed_us < SESSION_MS * 1000 / 2
        assert cluster.world.ensemble.expirations == 0
        assert str(leader) in cluster.world.ensemble.tree.children("/brokers/ids")
        cluster.start(leader)
        cluster.until(lambda: all(len(cluster.isr(broker_id, "t", partition)) == 3 for broker_id in cluster.ids))
        assert cluster.consume("t", partition) == ["next"]


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("led_by_controller", [False, True], ids=["leader", "leader and controller"])
def test_the_next_record_is_acknowledged_a_fifth_of_a_second_later(led_by_controller: bool, seed: int) -> None:
    """No follower holds the new leader up by a fetch that waits for other partitions, nor by a pause before it asks again."""
    with BrokerCluster(brokers=3, seed=seed, **SETTINGS) as cluster:
        leader, partition = begin(cluster, led_by_controller=led_by_controller)
        killed_us = cluster.world.scheduler.now_us
        cluster.kill(leader)
        cluster.until(lambda: cluster.leads("t", partition) and cluster.known_leader("t", partition) != leader, 1_000)
        assert cluster.produce("t", "next", partition=partition).error_code == ErrorCode.NONE
        assert cluster.world.scheduler.now_us - killed_us < 200_000


@pytest.mark.parametrize("fault", ["pause", "isolate"])
def test_silence_is_left_to_the_session(fault: str) -> None:
    with early() as cluster:
        leader, _ = begin(cluster, led_by_controller=True)
        getattr(cluster.world, fault)(f"b{leader}")
        cluster.world.run_for(SESSION_MS / 2)
        others = [broker_id for broker_id in cluster.ids if broker_id != leader]
        assert cluster.world.ensemble.expirations == 0
        assert not any(cluster.brokers[broker_id].services.controller.is_active for broker_id in others)
        assert cluster.world.ensemble.tree.children("/broker_suspicions") == []
        cluster.world.resume(f"b{leader}") if fault == "pause" else cluster.world.rejoin(f"b{leader}")


def test_one_witness_is_not_enough() -> None:
    """The third broker is paused when the leader dies: the session decides."""
    with early() as cluster:
        leader, partition = begin(cluster, led_by_controller=False)
        controller = cluster.controller()
        third = next(broker_id for broker_id in cluster.ids if broker_id not in (leader, controller))
        cluster.world.pause(f"b{third}")
        cluster.kill(leader)
        cluster.world.run_for(SESSION_MS / 2)
        assert stored_state(cluster, TopicPartition("t", partition))[0] == leader
        cluster.world.resume(f"b{third}")


def test_one_broker_that_has_it_off_turns_it_off_for_all() -> None:
    with early() as cluster:
        cluster.start(1)
        cluster.start(2)
        cluster.settings["highwater.early.failover.enable"] = "false"
        cluster.start(3)
        cluster.create("t")
        cluster.world.run_for(1_000)
        victim = cluster.controller()
        cluster.kill(victim)
        cluster.world.run_for(SESSION_MS / 2)
        assert not any(broker.services.controller.is_active for broker in cluster.brokers.values())


def follows(cluster: BrokerCluster, broker_id: int, tp: TopicPartition, leader: int) -> bool:
    """Until it has heard of another leader it may still store what the old one does not acknowledge any more."""
    partition = cluster.brokers[broker_id].services.replicas.partitions.get(tp)
    return partition is not None and partition.leader_id in (leader, -1)


def ask_to_write(cluster: BrokerCluster, broker_id: int, partition: int, value: str) -> int:
    """The error code of one acks=all record sent to that broker, whoever leads."""
    records = build_batch([Record(0, cluster.world.scheduler.wall_ms(), None, value.encode(), ())])
    data = [{"index": partition, "records": records}]
    payload = {"transactional_id": None, "acks": -1, "timeout": 10_000, "topic_data": [{"name": "t", "partition_data": data}]}
    return int(cluster.ask(broker_id, ApiKey.PRODUCE, 11, payload).responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("led_by_controller", [False, True], ids=["leader", "leader and controller"])
def test_a_leader_that_lives_is_taken_back_and_nothing_is_lost(led_by_controller: bool) -> None:
    """All others take it for dead while it serves on, and acknowledges nothing; then it answers again, in the session it had."""
    with early() as cluster:
        leader, partition = begin(cluster, led_by_controller=led_by_controller)
        tp = TopicPartition("t", partition)
        assert cluster.produce("t", "before", partition=partition).error_code == ErrorCode.NONE
        wrong = WrongSuspicions(cluster, 1, 0, 0)
        wrong.suspect(leader, cluster.world.scheduler.now_us / 1000 + 3_000)
        cluster.until(lambda: not any(follows(cluster, broker_id, tp, leader) for broker_id in cluster.ids if broker_id != leader), 1_000)
        deposed = ask_to_write(cluster, leader, partition, "lost")
        cluster.until(lambda: all(len(cluster.isr(broker_id, "t", partition)) == 3 for broker_id in cluster.ids), 20_000)
        assert cluster.world.ensemble.expirations == 0
        assert stored_state(cluster, tp)[0] != leader
        assert deposed != ErrorCode.NONE
        assert cluster.produce("t", "after", partition=partition).error_code == ErrorCode.NONE
        assert cluster.consume("t", partition) == ["before", "after"]


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_controller_that_most_see_refuse_does_not_take_the_office_back_until_they_see_it_answer(seed: int) -> None:
    """It lives, and is the first to know that the office is free; a controller that nobody reaches would serve nobody."""
    with BrokerCluster(brokers=3, seed=seed, **SETTINGS) as cluster:
        cluster.start_all()
        suspected = cluster.controller()
        others = [broker_id for broker_id in cluster.ids if broker_id != suspected]
        cluster.world.run_for(3_000)
        WrongSuspicions(cluster, seed, 0, 0).suspect(suspected, cluster.world.scheduler.now_us / 1000 + 3_000)
        cluster.until(lambda: any(cluster.brokers[broker_id].services.controller.is_active for broker_id in others), 1_000)
        cluster.world.run_for(2_000)
        assert not cluster.brokers[suspected].services.controller.is_active
        cluster.world.run_for(2_000)
        for broker_id in others:
            cluster.kill(broker_id)
        cluster.until(lambda: cluster.brokers[suspected].services.controller.is_active, 3 * SESSION_MS)


def test_wrong_suspicions_among_other_faults_keep_every_invariant() -> None:
    outcome = run(2, faults=3, suspicions=4)
    assert outcome.violations == []
    assert outcome.faults[KIND] and outcome.events["deaths agreed on"], outcome


def test_a_run_with_suspicions_is_repeated_by_its_seed() -> None:
    assert run(4, faults=1, suspicions=3).digest == run(4, faults=1, suspicions=3).digest
