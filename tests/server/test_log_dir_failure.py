"""An I/O error takes a broker's data folder offline; the cluster goes on without it, and a restart brings it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_core.coordination.layout import LOG_DIR_EVENTS
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.replication.leadership import Role
from broker_core.seams import Node
from tests.simulation.kernel.disk import SimDisk
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("S6")

T0 = TopicPartition("t", 0)
FIELDS: dict[str, Any] = {"min.insync.replicas": "2", "log.flush.offset.checkpoint.interval.ms": "3000"}


def full(disk: SimDisk) -> None:
    disk.capacity_bytes = disk.state.used_bytes


def no_checkpoint(disk: SimDisk) -> None:
    disk.failing_writes.append("/data/recovery-point-offset-checkpoint")


def no_read(disk: SimDisk) -> None:
    disk.failing_reads.append("/data/t-0/")


def no_append(disk: SimDisk) -> None:
    disk.failing_writes.append("/data/t-0/")


def settled(cluster: BrokerCluster, victim: int) -> bool:
    """Everything that the victim led is led by others, and it is in no ISR, as all brokers know it."""
    states = [broker.services.metadata.partition(T0) for broker in cluster.brokers.values()]
    return all(state is not None and state.leader not in (-1, victim) and victim not in state.isr for state in states)


def create_led_by(cluster: BrokerCluster, leader: int) -> None:
    brokers = [leader, leader % 3 + 1, (leader + 1) % 3 + 1]
    topic = {
        "name": "t",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": brokers}],
        "configs": [],
    }
    answer = cluster.ask(cluster.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout": 30_000})
    assert answer.topics[0].error_code == ErrorCode.NONE, answer
    cluster.until(lambda: cluster.leads("t"))
    assert cluster.leader("t") == leader


def events(cluster: BrokerCluster) -> list[str]:
    async def ask(node: Node) -> list[str]:
        await node.store.connect(10_000)
        found = await node.store.children(LOG_DIR_EVENTS)
        await node.store.close()
        return found

    return cluster.world.run("client", ask)


@pytest.mark.parametrize("strike", [full, no_checkpoint, no_read, no_append])
@pytest.mark.parametrize("controls", [True, False], ids=["controller", "other"])
def test_leaders_move_and_a_restart_brings_the_folder_back(strike: Callable[[SimDisk], None], controls: bool) -> None:
    with BrokerCluster(**FIELDS) as cluster:
        cluster.start_all()
        controller = cluster.controller()
        victim = controller if controls else controller % 3 + 1
        create_led_by(cluster, victim)
        cluster.produce_until_acked("t", "before")
        disk = cluster.world.life(f"b{victim}").disk
        strike(disk)
        cluster.produce("t", "during")
        cluster.until(lambda: settled(cluster, victim), 20_000)
        cluster.produce_until_acked("t", "after")
        broker = cluster.brokers[victim]
        assert broker.services.logs.folders.all[0].state.failure is not None
        assert [info.broker_id for info in cluster.brokers[victim % 3 + 1].services.metadata.live_brokers()] == [1, 2, 3], (
            "it stays registered"
        )
        assert {partition.role for partition in broker.services.replicas.partitions.all()} == {Role.OFFLINE}
        assert events(cluster) == [], "taken by the controller"
        answer = cluster.ask(victim, ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None})
        assert [(row.error_code, list(row.topics)) for row in answer.results] == [(ErrorCode.KAFKA_STORAGE_ERROR, [])]
        metadata = cluster.ask(victim, ApiKey.METADATA, 9, {"topics": [{"name": "t"}]})
        assert list(metadata.topics[0].partitions[0].offline_replicas) == [victim]

        disk.heal()
        cluster.world.run_for(10_000)
        assert broker.services.logs.folders.all[0].state.failure is not None, "space that comes back is not enough"
        cluster.stop(victim)
        assert "/data/.kafka_cleanshutdown" not in disk.state.files
        cluster.start(victim)
        cluster.until(lambda: len(cluster.isr(victim, "t")) == 3)
        values = cluster.consume("t")
        assert values[0] == "before"
        assert values[-1] == "after"
