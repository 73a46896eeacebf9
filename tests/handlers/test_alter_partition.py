"""AlterPartition and AllocateProducerIds as brokers send them, in each version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from broker_core.coordination.layout import state_path
from broker_core.coordination.znode_data import decode_partition_state
from broker_core.errors import ErrorCode
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.protocol.api import ApiKey
from tests.support.broker_cluster import BrokerCluster

T0 = TopicPartition("t", 0)
UNKNOWN = UUID(int=99)


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=3) as made:
        made.start_all()
        made.create("t")
        yield made


def stored(cluster: BrokerCluster) -> LeaderAndIsr:
    znode = cluster.world.ensemble.tree.get(state_path(T0))
    return decode_partition_state(T0, znode.data, znode.version)[0]


def epoch(cluster: BrokerCluster, broker_id: int) -> int:
    return cluster.brokers[broker_id].epoch


def alter(
    cluster: BrokerCluster,
    version: int,
    isr: tuple[int, ...],
    *,
    at: int | None = None,
    ids: tuple[str, UUID | None] | None = None,
    state: LeaderAndIsr | None = None,
    epochs: dict[int, int] | None = None,
    times: int = 1,
) -> Any:
    """Broker `state.leader` asks; the answer of the controller, or of the broker `at`."""
    known = state or stored(cluster)
    controller = cluster.controller()
    name, topic_id = ids or ("t", cluster.brokers[controller].services.metadata.topic_id("t"))
    row = {
        "partition_index": 0,
        "leader_epoch": known.leader_epoch,
        "new_isr": isr,
        "new_isr_with_epochs": [{"broker_id": member, "broker_epoch": (epochs or {}).get(member, -1)} for member in isr],
        "leader_recovery_state": 0,
        "partition_epoch": known.zk_version,
    }
    topics = [{"topic_name": name, "topic_id": topic_id, "partitions": [row] * times}]
    payload = {"broker_id": known.leader, "broker_epoch": epoch(cluster, known.leader), "topics": topics}
    return cluster.ask(at or controller, ApiKey.ALTER_PARTITION, version, payload)


@pytest.mark.spec("R4")
@pytest.mark.parametrize("version", range(4))
def test_each_version_is_carried_out(cluster: BrokerCluster, version: int) -> None:
    before = stored(cluster)
    turned = (*before.isr[1:], before.isr[0])
    answer = alter(cluster, version, turned, epochs={each: epoch(cluster, each) for each in turned}, times=2)
    assert answer.error_code == ErrorCode.NONE
    ((row,),) = [topic.partitions for topic in answer.topics]
    after = stored(cluster)
    assert (row.error_code, row.leader_id, row.leader_epoch, row.isr) == (ErrorCode.NONE, before.leader, before.leader_epoch, turned)
    assert row.partition_epoch == after.zk_version == before.zk_version + 1
    assert after.isr == turned


@pytest.mark.spec("R4")
@pytest.mark.parametrize(("version", "told"), [(0, ErrorCode.OPERATION_NOT_ATTEMPTED), (1, ErrorCode.OPERATION_NOT_ATTEMPTED)])
def test_old_versions_know_no_ineligible_replica(cluster: BrokerCluster, version: int, told: ErrorCode) -> None:
    """KIP-841."""
    present = stored(cluster)
    gone = next(broker_id for broker_id in present.isr if broker_id not in (present.leader, cluster.controller()))
    cluster.kill(gone)
    cluster.until(lambda: gone not in stored(cluster).isr)
    asked = (*stored(cluster).isr, gone)
    assert alter(cluster, version, asked).topics[0].partitions[0].error_code == told
    assert alter(cluster, 2, asked).topics[0].partitions[0].error_code == ErrorCode.INELIGIBLE_REPLICA
    cluster.start(gone)
    cluster.until(lambda: gone in stored(cluster).isr)


@pytest.mark.spec("R4")
def test_topics_that_nobody_knows(cluster: BrokerCluster) -> None:
    by_name = alter(cluster, 1, (1,), ids=("no", None)).topics[0].partitions[0]
    by_id = alter(cluster, 3, (1,), ids=("", UNKNOWN)).topics[0]
    assert by_name.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (by_id.topic_id, by_id.partitions[0].error_code) == (UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.spec("R4")
@pytest.mark.parametrize(
    ("leader_epochs", "partition_epochs", "told"),
    [
        (-1, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, 0, ErrorCode.NOT_CONTROLLER),
        (0, 1, ErrorCode.NOT_CONTROLLER),
        (0, -1, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_epochs_of_the_past_and_the_future(cluster: BrokerCluster, leader_epochs: int, partition_epochs: int, told: ErrorCode) -> None:
    present = stored(cluster)
    shifted = LeaderAndIsr(present.leader, present.leader_epoch + leader_epochs, present.isr, present.zk_version + partition_epochs)
    assert alter(cluster, 3, (present.leader,), state=shifted).topics[0].partitions[0].error_code == told
    assert stored(cluster) == present


@pytest.mark.spec("R4")
def test_another_broker_is_not_the_controller(cluster: BrokerCluster) -> None:
    other = next(broker_id for broker_id in cluster.ids if broker_id != cluster.controller())
    assert alter(cluster, 3, stored(cluster).isr, at=other).error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.spec("G4")
def test_blocks_of_producer_ids_are_given_once(cluster: BrokerCluster) -> None:
    """KIP-730."""
    controller = cluster.controller()

    def ask(broker_id: int, broker_epoch: int, at: int = controller) -> Any:
        return cluster.ask(at, ApiKey.ALLOCATE_PRODUCER_IDS, 0, {"broker_id": broker_id, "broker_epoch": broker_epoch})

    first, second = (ask(each, epoch(cluster, each)) for each in (1, 2))
    assert (first.error_code, first.producer_id_len, second.producer_id_len) == (ErrorCode.NONE, 1_000, 1_000)
    assert second.producer_id_start == first.producer_id_start + 1_000
    assert ask(1, epoch(cluster, 1) - 1).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert ask(9, 1).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    other = next(broker_id for broker_id in cluster.ids if broker_id != controller)
    assert ask(1, epoch(cluster, 1), at=other).error_code == ErrorCode.NOT_CONTROLLER
