"""A broker that lacks file handles for a moment: the replica whose role could not begin has one again without a restart."""

from __future__ import annotations

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.replication.leadership import Role
from tests.support.broker_cluster import BrokerCluster
from tests.support.replica_world import TP, ReplicaWorld

pytestmark = pytest.mark.spec("S6")
T0 = TopicPartition("t", 0)


def code(answer: dict[str, object]) -> int:
    return int(answer["topics"][0]["partition_errors"][0]["error_code"])  # type: ignore[index]


@pytest.mark.parametrize("newer", [False, True], ids=["the same epoch", "a newer epoch"])
@pytest.mark.parametrize("stopped", [False, True], ids=["at once", "after a StopReplica"])
def test_the_order_is_obeyed_when_it_comes_again(newer: bool, stopped: bool) -> None:
    """A controller that was told KAFKA_STORAGE_ERROR stops the replica, with the same epoch where it is in no ISR."""
    with ReplicaWorld() as cluster:
        disk = cluster.world.life("b3").disk
        disk.no_handles.append(f"/{TP}/")
        cluster.create(leader=1, isr=(1, 2))
        assert code(cluster.order(3)) == ErrorCode.KAFKA_STORAGE_ERROR, "it is tried again, not refused as old"
        assert cluster.partition(3).role is Role.NONE
        if stopped:
            cluster.stop_replica(3, delete=False, leader_epoch=cluster.state.leader_epoch)
        disk.heal()
        if newer:
            cluster.elect(leader=1, isr=(1, 2))
        else:
            assert code(cluster.order(3)) == ErrorCode.NONE
        assert cluster.partition(3).role is Role.FOLLOWER
        assert code(cluster.order(3)) == ErrorCode.STALE_CONTROLLER_EPOCH, "once carried out it is old"


@pytest.mark.parametrize("replicas", [1, 3])
def test_it_has_itself_asked_again(replicas: int) -> None:
    """Also where nobody else has the partition: then it waits for its leader until then."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("other", 1)
        victim = cluster.controller() % 3 + 1
        disk = cluster.world.life(f"b{victim}").disk
        disk.no_handles.append("/data/t-")
        create_on(cluster, [victim, victim % 3 + 1, (victim + 1) % 3 + 1][:replicas])
        cluster.until(lambda: victim in offline_replicas(cluster))
        assert cluster.brokers[victim].services.logs.folders.all[0].state.failure is None
        cluster.world.run_for(20_000)
        assert victim in offline_replicas(cluster)
        disk.heal()
        cluster.until(lambda: victim in isr(cluster) and victim not in offline_replicas(cluster), 60_000)
        cluster.produce_until_acked("t", "a")
        assert cluster.consume("t") == ["a"]


def test_nobody_is_asked_where_nothing_was_put_off() -> None:
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t", 3)
        assert all(broker.services.replicas._ask_again._task is None for broker in cluster.brokers.values())


def create_on(cluster: BrokerCluster, brokers: list[int]) -> None:
    topic = {"name": "t", "num_partitions": -1, "replication_factor": -1, "configs": []}
    rows = {"assignments": [{"partition_index": 0, "broker_ids": brokers}]}
    cluster.ask(cluster.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [topic | rows], "timeout": 1_000})


def offline_replicas(cluster: BrokerCluster) -> tuple[int, ...]:
    state = cluster.brokers[cluster.controller()].services.metadata.partition(T0)
    return () if state is None else state.offline_replicas


def isr(cluster: BrokerCluster) -> tuple[int, ...]:
    state = cluster.brokers[cluster.controller()].services.metadata.partition(T0)
    return () if state is None or state.leader < 0 else state.isr
