"""Requests of a few kilobytes that would cost seconds or gigabytes are refused, and the broker goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Codec, Record, build_batch, iter_headers
from broker_core.records.legacy import build_message_set, down_convert
from tests.support.bombs import OLD_PACKERS, PACKERS, many_records, uneven_records, wrapper_of
from tests.support.broker_cluster import BrokerCluster

TIME_MS = 1_700_000_000_000
RECORDS_MAX = 10_000
BYTES_MAX = 1 << 20
REASONS = {
    "compact": {"cleanup.policy": "compact"},
    "codec": {"compression.type": "uncompressed"},
    "old": {"message.timestamp.before.max.ms": str(1 << 50)},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    settings = {"highwater.decoding.max.records": str(RECORDS_MAX), "highwater.decoding.max.bytes": str(BYTES_MAX)}
    with BrokerCluster(brokers=1, **settings) as cluster:
        cluster.start_all()
        for name, configs in REASONS.items():
            cluster.create(name, configs=configs)
        for name in ("plain", "mixed", "stored", "timed"):
            cluster.create(name, partitions=2)
        yield cluster


def produce(cluster: BrokerCluster, topic: str, data: bytes, *, version: int = 9, partition: int = 0) -> int:
    rows = [{"index": partition, "records": data}]
    payload = {"acks": 1, "timeout": 20_000, "topic_data": [{"name": topic, "partition_data": rows}]}
    row = cluster.ask(1, ApiKey.PRODUCE, version, payload).responses[0].partition_responses[0]
    return int(row.error_code)


@contextlib.contextmanager
def larger_budget(cluster: BrokerCluster) -> Iterator[None]:
    config = cluster.brokers[1].services.config
    config.set_broker({"highwater.decoding.max.records": "1000000"})
    yield
    config.set_broker({})


def fetch(cluster: BrokerCluster, topic: str, *partitions: int, version: int = 3, offset: int = 0) -> list[Any]:
    rows = [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20} for index in partitions]
    payload = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "max_bytes": 1 << 20, "topics": [{"topic": topic, "partitions": rows}]}
    return list(cluster.ask(1, ApiKey.FETCH, version, payload).responses[0].partitions)


def end(cluster: BrokerCluster, topic: str, partition: int = 0) -> int:
    log = cluster.brokers[1].services.logs.get(TopicPartition(topic, partition))
    assert log is not None
    return log.log_end_offset


@pytest.mark.parametrize("codec", PACKERS, ids=lambda codec: codec.name)
@pytest.mark.parametrize("topic", REASONS)
def test_a_batch_of_too_many_records_or_bytes(cluster: BrokerCluster, topic: str, codec: Codec) -> None:
    """MESSAGE_TOO_LARGE: a Java producer splits such a batch and sends it again."""
    before = end(cluster, topic)
    for bomb in (many_records(3 * RECORDS_MAX, codec, timestamp_ms=TIME_MS), many_records(64, codec, timestamp_ms=TIME_MS, size=20_000)):
        assert len(bomb) < 200_000
        assert produce(cluster, topic, bomb) == ErrorCode.MESSAGE_TOO_LARGE
    assert end(cluster, topic) == before
    assert produce(cluster, topic, uneven_records(1_000, codec, TIME_MS)) == ErrorCode.NONE
    assert end(cluster, topic) == before + 1_000


@pytest.mark.parametrize("codec", OLD_PACKERS, ids=lambda codec: codec.name)
def test_a_message_set_of_wrappers(cluster: BrokerCluster, codec: Codec) -> None:
    before = end(cluster, "plain")
    for bomb in (wrapper_of(2, codec, size=100_000) * 6, wrapper_of(2 * RECORDS_MAX, codec)):
        assert produce(cluster, "plain", bomb, version=2) == ErrorCode.MESSAGE_TOO_LARGE
    assert end(cluster, "plain") == before
    assert produce(cluster, "plain", wrapper_of(2, codec, size=100_000) * 3, version=2) == ErrorCode.NONE
    assert end(cluster, "plain") == before + 6


def test_partitions_of_a_request_share_its_budget(cluster: BrokerCluster) -> None:
    data = uneven_records(RECORDS_MAX * 2 // 3, Codec.ZSTD, TIME_MS)
    wanted = [{"name": name, "partition_data": [{"index": 0, "records": data}]} for name in ("compact", "old")]
    answer = cluster.ask(1, ApiKey.PRODUCE, 9, {"acks": 1, "timeout": 20_000, "topic_data": wanted})
    assert [topic.partition_responses[0].error_code for topic in answer.responses] == [0, ErrorCode.MESSAGE_TOO_LARGE]


def test_an_old_consumer_gets_what_the_budget_allows_and_then_the_rest(cluster: BrokerCluster) -> None:
    batches = [build_batch([Record(0, TIME_MS, b"k", bytes(200_000))], compression=Codec.GZIP) for _ in range(8)]
    for batch in batches:
        assert produce(cluster, "mixed", batch) == produce(cluster, "mixed", batch, partition=1) == ErrorCode.NONE
    first, second = fetch(cluster, "mixed", 0, 1)
    assert (first.error_code, second.error_code) == (0, 0)
    assert [header.last_offset for _, header in iter_headers(first.records)] == [0, 1, 2, 3, 4]
    assert not second.records, "nothing is left for it, which is no error"
    (rest,) = fetch(cluster, "mixed", 0, offset=5)
    assert [header.last_offset for _, header in iter_headers(rest.records)] == [5, 6, 7]


def test_a_stored_batch_that_no_request_may_convert(cluster: BrokerCluster) -> None:
    """It came while more was allowed, or from another broker: old consumers are told, new ones get it as it is."""
    bomb = uneven_records(3 * RECORDS_MAX, Codec.GZIP, TIME_MS)
    with larger_budget(cluster):
        assert produce(cluster, "stored", bomb) == ErrorCode.NONE
    good = build_message_set([Record(0, TIME_MS, b"k", b"v")], 1)
    assert produce(cluster, "stored", good, version=2, partition=1) == ErrorCode.NONE
    stuck, other = fetch(cluster, "stored", 0, 1)
    assert stuck.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert (other.error_code, other.records) == (0, down_convert(fetch(cluster, "stored", 1, version=4)[0].records, 1, 0))
    (as_it_is,) = fetch(cluster, "stored", 0, version=4)
    assert len(as_it_is.records) == len(bomb)


def test_a_time_inside_a_batch_that_is_not_looked_into(cluster: BrokerCluster) -> None:
    """ListOffsets tells where the batch begins: who reads from there misses nothing."""
    assert produce(cluster, "timed", build_batch([Record(0, TIME_MS, b"k", b"v")])) == ErrorCode.NONE
    with larger_budget(cluster):
        assert produce(cluster, "timed", uneven_records(3 * RECORDS_MAX, Codec.ZSTD, TIME_MS + 5)) == ErrorCode.NONE
    rows = [{"partition_index": 0, "timestamp": TIME_MS + 3}]
    payload = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "timed", "partitions": rows}]}
    row = cluster.ask(1, ApiKey.LIST_OFFSETS, 7, payload).topics[0].partitions[0]
    assert (row.error_code, row.offset, row.timestamp) == (0, 1, TIME_MS + 5)
