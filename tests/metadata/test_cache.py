"""What a broker knows of the cluster."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from broker_core.metadata.cache import MetadataCache, PartitionState
from broker_core.model import Endpoint, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_request, encode_request

pytestmark = pytest.mark.spec("Z4")

ID, OTHER_ID = UUID(int=1), UUID(int=2)
TP = TopicPartition("t", 0)


def update(
    topics: dict[str, dict[int, tuple[int, int]]], *, brokers: tuple[int, ...] = (1, 2), topic_id: UUID | None = ID, version: int = 8
) -> Any:
    """`topics`: name → partition → (leader, leader epoch), through the codec."""
    topic_states = [
        {
            "topic_name": name,
            "topic_id": topic_id,
            "partition_states": [
                {
                    "topic_name": name,
                    "partition_index": number,
                    "controller_epoch": 3,
                    "leader": leader,
                    "leader_epoch": epoch,
                    "isr": [1, 2],
                    "zk_version": 4,
                    "replicas": [1, 2],
                    "offline_replicas": [2],
                }
                for number, (leader, epoch) in partitions.items()
            ],
        }
        for name, partitions in topics.items()
    ]
    payload = {
        "controller_id": 2,
        "controller_epoch": 3,
        "broker_epoch": -1,
        "live_brokers": [
            {
                "id_": broker,
                "v0_host": "h",
                "v0_port": 9090 + broker,
                "rack": "a" if broker == 1 else None,
                "endpoints": [{"port": 9090 + broker, "host": "h", "listener": "PLAINTEXT", "security_protocol": 0}],
            }
            for broker in brokers
        ],
        "topic_states": topic_states,
        "ungrouped_partition_states": [state for topic in topic_states for state in topic["partition_states"]],
    }
    return decode_request(ApiKey.UPDATE_METADATA, version, encode_request(ApiKey.UPDATE_METADATA, version, payload), 0)


@pytest.fixture
def cache() -> MetadataCache:
    cache = MetadataCache("cluster")
    cache.update(update({"t": {0: (1, 5), 1: (2, 6)}}), 1_000)
    return cache


def test_what_the_controller_told(cache: MetadataCache) -> None:
    assert (cache.controller_id, cache.updated_ms, cache.topics()) == (2, 1_000, ["t"])
    assert cache.partition(TP) == PartitionState(1, 5, (1, 2), (1, 2), (2,), 4)
    assert sorted(cache.partitions("t")) == [0, 1]
    assert (cache.topic_id("t"), cache.topic_name(ID)) == (ID, "t")
    assert [(broker.broker_id, broker.rack) for broker in cache.live_brokers()] == [(1, "a"), (2, None)]
    endpoint = cache.endpoint(1, "PLAINTEXT")
    assert endpoint is not None
    assert (endpoint.host, endpoint.port, endpoint.security_protocol) == ("h", 9091, "PLAINTEXT")
    assert cache.partition_count() == 2


@pytest.mark.parametrize("version", range(9))
def test_every_version_tells_the_same(version: int) -> None:
    """Brokers are told by the version that the controller's inter.broker.protocol.version has."""
    cache = MetadataCache("cluster")
    cache.update(update({"t": {0: (1, 5), 1: (2, 6)}, "u": {0: (1, 0)}}, version=version), 1_000)
    assert (cache.controller_id, cache.topics(), sorted(cache.partitions("t"))) == (2, ["t", "u"], [0, 1])
    state = cache.partition(TP)
    assert state is not None
    assert (state.leader, state.leader_epoch, state.isr, state.replicas, state.zk_version) == (1, 5, (1, 2), (1, 2), 4)
    assert cache.endpoint(2, "PLAINTEXT") == Endpoint("PLAINTEXT", "h", 9092, "PLAINTEXT")
    assert cache.update(update({"u": {0: (-2, -2)}}, version=version), 2_000) == [TopicPartition("u", 0)]
    assert cache.topics() == ["t"]


def test_what_nobody_told(cache: MetadataCache) -> None:
    assert cache.partition(TopicPartition("t", 9)) is None
    assert cache.partition(TopicPartition("u", 0)) is None
    assert cache.partitions("u") == {}
    assert cache.topic_id("u") is None
    assert cache.topic_name(OTHER_ID) is None
    assert cache.endpoint(9, "PLAINTEXT") is None
    assert cache.endpoint(1, "SSL") is None
    assert not cache.has_topic("u")


def test_brokers_are_replaced_partitions_are_added(cache: MetadataCache) -> None:
    cache.update(update({"t": {1: (1, 7)}}, brokers=(2, 3)), 2_000)
    assert [broker.broker_id for broker in cache.live_brokers()] == [2, 3]
    assert not cache.is_alive(1)
    assert cache.partition(TP) == PartitionState(1, 5, (1, 2), (1, 2), (2,), 4)
    assert cache.partitions("t")[1].leader_epoch == 7


def test_deleting_partitions_and_then_the_topic(cache: MetadataCache) -> None:
    assert cache.update(update({"t": {0: (-2, -2)}}), 2_000) == [TP]
    assert cache.topics() == ["t"]
    cache.update(update({"t": {1: (-2, -2)}}), 3_000)
    assert cache.topics() == []
    assert (cache.topic_id("t"), cache.topic_name(ID)) == (None, None)
    cache.update(update({"t": {0: (1, 0)}}, topic_id=OTHER_ID), 4_000)
    assert (cache.topic_id("t"), cache.topic_name(OTHER_ID)) == (OTHER_ID, "t")


def test_a_topic_made_anew_gets_its_new_id(cache: MetadataCache) -> None:
    cache.update(update({"t": {0: (1, 0)}}, topic_id=OTHER_ID), 2_000)
    assert (cache.topic_id("t"), cache.topic_name(ID), cache.topic_name(OTHER_ID)) == (OTHER_ID, None, "t")


def test_a_version_without_ids_keeps_the_known_one(cache: MetadataCache) -> None:
    cache.update(update({"t": {0: (1, 6)}}, version=6), 2_000)
    assert cache.topic_id("t") == ID


def test_every_update_is_counted_and_told(cache: MetadataCache) -> None:
    told: list[int] = []
    cache.on_change(lambda: told.append(cache.version))
    before = cache.version
    cache.update(update({}), 2_000)
    assert told == [before + 1]
