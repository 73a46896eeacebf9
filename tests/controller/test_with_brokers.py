"""The controller's work on whole brokers with records in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from broker_core.coordination import layout
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("B11")

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=4) as made:
        made.start_all()
        yield made


def reassign(cluster: BrokerCluster, target: Sequence[int] | None) -> int:
    rows = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": target}]}]
    answer = cluster.ask(cluster.controller(), ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"timeout": 30_000, "topics": rows})
    assert answer.error_code == ErrorCode.NONE
    return int(answer.responses[0].partitions[0].error_code)


def state(cluster: BrokerCluster, broker_id: int) -> Any:
    return cluster.brokers[broker_id].services.metadata.partition(T0)


def hosts(cluster: BrokerCluster) -> list[int]:
    """Brokers with a log of the partition."""
    return [broker_id for broker_id, broker in sorted(cluster.brokers.items()) if broker.services.logs.get(T0) is not None]


def set_up(cluster: BrokerCluster) -> tuple[list[int], int]:
    """A topic with records; its three replicas, preferred one first, and the broker without one."""
    cluster.create("t", factor=3)
    cluster.produce("t", "a", "b")
    replicas = list(state(cluster, cluster.leader("t")).replicas)
    return replicas, next(broker_id for broker_id in cluster.ids if broker_id not in replicas)


def settled_on(cluster: BrokerCluster, replicas: Sequence[int]) -> bool:
    """All brokers know these replicas and that all are in sync; nobody else has a log."""
    known = [state(cluster, broker_id) for broker_id in cluster.brokers]
    agreed = all(each is not None and set(each.isr) == set(replicas) == set(each.replicas) for each in known)
    return agreed and hosts(cluster) == sorted(replicas)


def test_a_partition_is_moved_with_its_records(cluster: BrokerCluster) -> None:
    """KIP-455: the new replica fetches, the old leader goes, its log is deleted, nothing is lost."""
    replicas, free = set_up(cluster)
    target = [free, *replicas[1:]]
    assert reassign(cluster, target) == ErrorCode.NONE
    cluster.until(lambda: settled_on(cluster, target))
    assert cluster.produce("t", "c").error_code == ErrorCode.NONE
    assert cluster.consume("t") == ["a", "b", "c"]
    assert cluster.leader("t") in target


@pytest.mark.spec("B14")
def test_a_cancelled_move_leaves_no_log_behind(cluster: BrokerCluster) -> None:
    """KAFKA-13972: the adding replica cannot catch up, the move is cancelled, its log goes."""
    replicas, free = set_up(cluster)
    leader = cluster.leader("t")
    cluster.world.cut(f"b{free}", f"b{leader}")
    assert reassign(cluster, [*replicas[:2], free]) == ErrorCode.NONE
    assert reassign(cluster, None) == ErrorCode.NONE
    cluster.world.heal(f"b{free}", f"b{leader}")
    cluster.until(lambda: settled_on(cluster, replicas))
    assert reassign(cluster, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert cluster.consume("t") == ["a", "b"]


@pytest.mark.spec("Z3")
def test_the_controller_dies_during_a_move(cluster: BrokerCluster) -> None:
    """The target is down, so the move cannot end; a new controller ends it when the target is back."""
    replicas, free = set_up(cluster)
    target = [*replicas[:2], free]
    assert reassign(cluster, target) == ErrorCode.NONE
    controller = cluster.controller()
    cluster.kill(controller)
    assert cluster.controller() != controller
    cluster.start(controller)
    cluster.until(lambda: settled_on(cluster, target))
    assert cluster.produce("t", "c").error_code == ErrorCode.NONE
    assert cluster.consume("t") == ["a", "b", "c"]


@pytest.mark.spec("Z4")
def test_a_topic_is_deleted_with_a_broker_down_then_up(cluster: BrokerCluster) -> None:
    """The topic goes for good only when the last replica's broker has come back and deleted it."""
    replicas, _ = set_up(cluster)
    down = next(broker_id for broker_id in replicas if broker_id != cluster.controller())
    cluster.kill(down)
    cluster.until(lambda: all(len(broker.services.metadata.live_brokers()) == 3 for broker in cluster.brokers.values()))
    asked = {"topics": [{"name": "t", "topic_id": None}], "topic_names": ["t"], "timeout": 1_000}
    cluster.ask(cluster.controller(), ApiKey.DELETE_TOPICS, 5, asked)
    cluster.until(lambda: hosts(cluster) == [])
    active = cluster.brokers[cluster.controller()].services.controller
    assert active.snapshot().topics_to_delete == 1
    cluster.start(down)
    cluster.until(lambda: cluster.brokers[cluster.controller()].services.controller.snapshot().topics_to_delete == 0)
    assert hosts(cluster) == []


@pytest.mark.spec("O3")
def test_leadership_goes_back_to_the_preferred_replica(cluster: BrokerCluster) -> None:
    """A restarted broker leads nothing until the preferred election; the records stay."""
    replicas, _ = set_up(cluster)
    preferred = replicas[0]
    cluster.kill(preferred)
    cluster.until(lambda: all(state(cluster, broker_id).leader == replicas[1] for broker_id in cluster.brokers))
    assert cluster.produce("t", "c").error_code == ErrorCode.NONE
    cluster.start(preferred)
    cluster.until(lambda: len(cluster.isr(preferred, "t")) == 3)
    assert cluster.leader("t") != preferred
    rows = [{"topic": "t", "partitions": [0]}]
    answer = cluster.ask(cluster.controller(), ApiKey.ELECT_LEADERS, 2, {"election_type": 0, "topic_partitions": rows, "timeout": 30_000})
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
    cluster.until(lambda: state(cluster, preferred).leader == preferred)
    assert cluster.produce("t", "d").error_code == ErrorCode.NONE
    assert cluster.consume("t") == ["a", "b", "c", "d"]


@pytest.mark.spec("B12")
def test_a_paused_controller_is_replaced_and_fenced(cluster: BrokerCluster) -> None:
    """It sleeps beyond its session, wakes up, and does no harm."""
    set_up(cluster)
    first = cluster.controller()
    old = cluster.brokers[first].services.controller
    cluster.world.pause(f"b{first}")
    others = [broker.services.controller for broker_id, broker in cluster.brokers.items() if broker_id != first]
    cluster.until(lambda: any(controller.is_active for controller in others))
    cluster.world.resume(f"b{first}")
    cluster.until(lambda: not old.is_active)
    epochs = [controller.epoch for controller in others if controller.is_active]
    assert len(epochs) == 1
    cluster.until(lambda: len(cluster.isr(first, "t")) == 3)
    assert cluster.consume("t") == ["a", "b"]


@pytest.mark.spec("Z4")
def test_deleting_a_topic_with_an_unreadable_state_is_answered(cluster: BrokerCluster) -> None:
    """Brokers know its leader, the next controller does not; it used to wait for them until the client gave up."""
    cluster.create("t", factor=3)
    cluster.until(lambda: all(broker.services.metadata.has_topic("t") for broker in cluster.brokers.values()))

    async def spoil(node: Node) -> None:
        await node.store.connect(10_000)
        await node.store.set(layout.state_path(T0), b"rubbish")
        await node.store.delete(layout.CONTROLLER)

    cluster.world.run("client", spoil)
    cluster.until(lambda: any(broker.services.controller.epoch > 1 for broker in cluster.brokers.values()))
    answer = cluster.ask(cluster.controller(), ApiKey.DELETE_TOPICS, 5, {"topic_names": ["t"], "timeout": 30_000})
    assert [row.error_code for row in answer.responses] == [ErrorCode.NONE]
    cluster.until(lambda: not any(broker.services.metadata.has_topic("t") for broker in cluster.brokers.values()))
    cluster.until(lambda: hosts(cluster) == [])
