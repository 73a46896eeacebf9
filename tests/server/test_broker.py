"""Whole brokers in the simulator: one, then three, with clients, kills and stops."""

from __future__ import annotations

import pytest

from broker_core.config import BrokerConfig
from broker_core.errors import ErrorCode, KafkaError
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from broker_core.server.broker import Broker
from tests.support.broker_cluster import BrokerCluster


@pytest.mark.spec("G1")
def test_one_broker_serves_what_it_was_given() -> None:
    """A topic is created, written and read; the broker is its own controller."""
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t", partitions=2)
        assert cluster.produce("t", "a", "b").base_offset == 0
        assert cluster.produce("t", "c", acks=1).base_offset == 2
        assert cluster.consume("t") == ["a", "b", "c"]


@pytest.mark.spec("R1", "R2", "Z4")
def test_three_brokers_replicate() -> None:
    """What is acknowledged by all is on all, and every broker knows the topic."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t", partitions=3, configs={"min.insync.replicas": "2"})
        for partition in range(3):
            assert cluster.produce("t", f"p{partition}", partition=partition).error_code == ErrorCode.NONE
            assert cluster.consume("t", partition) == [f"p{partition}"]
        assert {cluster.leader("t", partition) for partition in range(3)} == {1, 2, 3}
        for broker_id in cluster.ids:
            assert cluster.brokers[broker_id].services.config.topic("t").min_insync_replicas == 2


@pytest.mark.spec("Z3", "R8", "B1")
def test_a_killed_leader_is_replaced_and_comes_back() -> None:
    """Nothing acknowledged is lost over a kill of leader and controller, and the killed broker catches up."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "before")
        killed = cluster.leader("t")
        cluster.kill(killed)
        cluster.until(lambda: cluster.known_leader("t") not in (killed, -1))
        cluster.produce_until_acked("t", "during")
        cluster.start(killed)
        cluster.until(lambda: len(cluster.isr(killed, "t")) == 3)
        assert cluster.consume("t") == ["before", "during"]


@pytest.mark.spec("Z5")
def test_a_controlled_stop_moves_leaderships_first() -> None:
    """The stopped broker leads nothing when it goes, and its log is clean at the next start."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t", partitions=3)
        stopped = cluster.leader("t", 0)
        cluster.stop(stopped)
        for partition in range(3):
            assert cluster.leader("t", partition) != stopped
        cluster.start(stopped)
        cluster.until(lambda: len(cluster.isr(stopped, "t")) == 3)


@pytest.mark.spec("B13")
def test_an_expired_session_is_renewed() -> None:
    """The broker registers anew with a larger epoch and is a replica again."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t")
        broker_id = cluster.leader("t")
        broker = cluster.brokers[broker_id]
        before = broker.epoch
        cluster.world.expire_session(f"b{broker_id}")
        cluster.until(lambda: broker.epoch > before)
        cluster.until(lambda: len(cluster.isr(broker_id, "t")) == 3)
        while (code := cluster.produce("t", "x").error_code) == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            cluster.world.run_for(100)
        assert code == ErrorCode.NONE


@pytest.mark.spec("Z3")
def test_the_controller_is_replaced() -> None:
    """Another broker takes the office and serves the controller's keys."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        first = cluster.controller()
        cluster.kill(first)
        second = cluster.controller()
        assert second != first
        cluster.until(lambda: len(cluster.brokers[second].services.metadata.live_brokers()) == 2)
        answer = cluster.ask(second, ApiKey.DESCRIBE_CLUSTER, 1, {"include_cluster_authorized_operations": False})
        assert answer.controller_id == second
        assert sorted(broker.broker_id for broker in answer.brokers) == sorted(cluster.brokers)


@pytest.mark.spec("S6")
def test_a_start_that_fails_leaves_the_folder_clean() -> None:
    """A broker that cannot register has opened its logs, and closes them as a stopped one does."""
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.stop(1)

        async def squat(node: Node) -> None:
            await node.store.connect(6_000)
            await node.store.create("/brokers/ids/1", b"{}", ephemeral=True)

        async def start(node: Node) -> None:
            node.disk.make_dirs("/data")
            listeners = "PLAINTEXT://b1:9092"
            broker = Broker(node, BrokerConfig.load({"broker.id": "1", "listeners": listeners, **cluster.settings}))
            with pytest.raises(KafkaError, match="registered already"):
                await broker.start()

        cluster.world.run("client", squat)
        cluster.world.machines["b1"].main = start
        node = cluster.world.start("b1")
        cluster.until(lambda: node.disk.exists("/data/.kafka_cleanshutdown"))
