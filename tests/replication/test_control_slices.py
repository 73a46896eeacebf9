"""A broker carries large control requests out in slices, obeys nobody who was replaced meanwhile, and does none of them twice."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.replication import roles
from tests.support.broker_cluster import BrokerCluster

MANY = 6


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokerCluster]:
    monkeypatch.setattr(roles, "ORDERS_PER_SLICE", 2)
    with BrokerCluster(brokers=3, seed=5) as made:
        made.start_all()
        yield made


def codes(answer: Any) -> list[int]:
    return [row["error_code"] for row in answer["partition_errors"]]


def stop(epoch: int, topic: str, count: int) -> SimpleNamespace:
    rows = [SimpleNamespace(partition_index=number, leader_epoch=-2, delete_partition=True) for number in range(count)]
    states = [SimpleNamespace(topic_name=topic, partition_states=rows)]
    return SimpleNamespace(controller_id=1, controller_epoch=epoch, broker_epoch=-1, topic_states=states)


def hosted(cluster: BrokerCluster, broker_id: int, topic: str) -> list[int]:
    return [tp.partition for tp in (log.topic_partition for log in cluster.brokers[broker_id].services.logs.all()) if tp.topic == topic]


def test_a_topic_is_made_and_deleted_slice_by_slice(cluster: BrokerCluster) -> None:
    cluster.create("t", MANY)
    cluster.until(lambda: all(hosted(cluster, broker_id, "t") == list(range(MANY)) for broker_id in cluster.ids))
    replicas = cluster.brokers[2].services.replicas
    epoch = replicas.controller_epoch
    answer = cluster.world.run("b2", lambda _: replicas.stop_replicas(stop(epoch, "t", MANY)))
    assert codes(answer) == [ErrorCode.NONE] * MANY
    assert hosted(cluster, 2, "t") == []
    assert all(replicas.partitions.get(TopicPartition("t", number)) is None for number in range(MANY))


def test_the_rest_of_a_former_controller_s_request_is_refused(cluster: BrokerCluster) -> None:
    """What it deletes may have been made anew by then: deletions override every leader epoch."""
    cluster.create("t", MANY)
    replicas = cluster.brokers[2].services.replicas
    epoch = replicas.controller_epoch
    order = stop(epoch, "t", MANY)
    newer = SimpleNamespace(
        controller_id=3, controller_epoch=epoch + 1, broker_epoch=-1, live_brokers=[], topic_states=[], ungrouped_partition_states=[]
    )
    answer = cluster.world.spawn("b2", lambda _: replicas.stop_replicas(order))

    async def replace(_: Any) -> bool:
        return bool(replicas.update_metadata(newer)["error_code"] == ErrorCode.NONE)

    replaced = cluster.world.spawn("b2", replace)
    cluster.world.run_until(lambda: answer() is not None and replaced() is not None, 5_000)
    found = codes(answer())
    assert found[:2] == [ErrorCode.NONE] * 2
    assert found[-2:] == [ErrorCode.STALE_CONTROLLER_EPOCH] * 2
    assert hosted(cluster, 2, "t") == [number for number in range(MANY) if found[number] != ErrorCode.NONE]


def test_a_request_that_comes_again_meanwhile_is_carried_out_once(cluster: BrokerCluster) -> None:
    """The sender's time was up: were it begun anew, the second would overtake the first, and neither would ever be done."""
    cluster.create("t", MANY)
    replicas = cluster.brokers[2].services.replicas
    order = stop(replicas.controller_epoch, "t", MANY)
    answers = [cluster.world.spawn("b2", lambda _: replicas.stop_replicas(order)) for _ in range(3)]
    cluster.world.run_until(lambda: all(answer() is not None for answer in answers), 5_000)
    assert [codes(answer()) for answer in answers] == [[ErrorCode.NONE] * MANY] * 3
    assert hosted(cluster, 2, "t") == []
    assert replicas.control_work.joined == 2
