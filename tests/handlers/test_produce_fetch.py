"""Produce, Fetch and ListOffsets through whole brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch, iter_headers
from broker_core.records.compression import Codec
from broker_core.records.legacy import build_message_set, is_legacy
from broker_core.records.message_set import message_chunks
from broker_core.storage.log import AppendOrigin
from tests.support.broker_cluster import BrokerCluster

TIME_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=2) as cluster:
        cluster.start_all()
        yield cluster


@pytest.fixture
def topic(cluster: BrokerCluster, request: pytest.FixtureRequest) -> str:
    name: str = request.node.originalname
    cluster.create(name)
    return name


def records(*values: str, compression: Codec = Codec.NONE) -> bytes:
    return build_batch([Record(i, TIME_MS + i, None, v.encode(), ()) for i, v in enumerate(values)], compression=compression)


def send(cluster: BrokerCluster, topic: str, data: bytes | None, *, broker: int | None = None, acks: int = -1, version: int = 11) -> Any:
    rows = [{"index": 0, "records": data}]
    payload = {"acks": acks, "timeout": 20_000, "topic_data": [{"name": topic, "partition_data": rows}]}
    answer = cluster.ask(broker or cluster.leader(topic), ApiKey.PRODUCE, version, payload)
    return answer.responses[0].partition_responses[0]


def fetch(cluster: BrokerCluster, topic: str, version: int, offset: int = 0, *, broker: int | None = None, **more: Any) -> Any:
    row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    leader = broker or cluster.leader(topic)
    topic_id = cluster.brokers[leader].services.metadata.topic_id(topic)
    payload = {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "topics": [{"topic": topic, "topic_id": topic_id, "partitions": [row]}],
        "forgotten_topics_data": [],
        **more,
    }
    return cluster.ask(leader, ApiKey.FETCH, version, payload)


def offsets(cluster: BrokerCluster, topic: str, timestamp: int, version: int = 9) -> Any:
    rows = [{"partition_index": 0, "timestamp": timestamp}]
    payload = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": rows}]}
    return cluster.ask(cluster.leader(topic), ApiKey.LIST_OFFSETS, version, payload).topics[0].partitions[0]


def follower(cluster: BrokerCluster, topic: str) -> int:
    """One that does not lead, once its metadata says who does."""
    found = next(broker for broker in cluster.ids if broker != cluster.leader(topic))
    cluster.until(lambda: cluster.brokers[found].services.metadata.has_topic(topic))
    return found


@pytest.mark.spec("R5")
def test_acks(cluster: BrokerCluster, topic: str) -> None:
    """-1 and 1 are answered, others refused for every partition."""
    assert send(cluster, topic, records("a")).base_offset == 0
    assert send(cluster, topic, records("b"), acks=1).base_offset == 1
    for acks in (2, -2):
        assert send(cluster, topic, records("c"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert cluster.consume(topic) == ["a", "b"]
    assert set(cluster.brokers[cluster.leader(topic)].metrics.produce_by_acks) <= {-1, 0, 1}


@pytest.mark.spec("R5")
def test_acks_0_is_not_answered_and_a_failure_closes_the_connection(cluster: BrokerCluster, topic: str) -> None:
    """The only way to tell is to hang up."""
    with pytest.raises(TimeoutError):
        cluster.ask(cluster.leader(topic), ApiKey.PRODUCE, 9, _acks_0(topic, records("a")), timeout_ms=500)
    assert cluster.consume(topic) == ["a"]
    with pytest.raises(ConnectionError):
        cluster.ask(follower(cluster, topic), ApiKey.PRODUCE, 9, _acks_0(topic, records("b")))


def _acks_0(topic: str, data: bytes) -> dict[str, Any]:
    return {"acks": 0, "timeout": 1_000, "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": data}]}]}


def test_wrong_records_are_refused(cluster: BrokerCluster, topic: str) -> None:
    good = records("a")
    broken = bytearray(good)
    broken[-1] ^= 0xFF
    assert send(cluster, topic, bytes(broken)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert send(cluster, topic, good + good).error_code == ErrorCode.INVALID_RECORD
    assert send(cluster, topic, None).error_code == ErrorCode.INVALID_RECORD
    assert send(cluster, topic, b"\0" * 30).error_code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
    assert send(cluster, topic, records("z", compression=Codec.ZSTD), version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    old = build_message_set([Record(0, TIME_MS, None, b"a", ())], 1)
    assert send(cluster, topic, old, version=3).error_code == ErrorCode.INVALID_RECORD
    assert offsets(cluster, topic, -1).offset == 0


def test_a_batch_that_ends_within_its_header_is_refused(cluster: BrokerCluster, topic: str) -> None:
    """It says itself that it is so short; nothing beyond it is looked at, and the connection lives."""
    data = bytearray(records("a"))
    data[8:12] = (40).to_bytes(4, "big")
    for acks in (1, -1):
        assert send(cluster, topic, bytes(data), acks=acks).error_code == ErrorCode.CORRUPT_MESSAGE


def test_internal_topics_are_not_for_clients(cluster: BrokerCluster) -> None:
    cluster.ask(1, ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
    cluster.until(lambda: cluster.known_leader("__consumer_offsets") > 0)
    assert send(cluster, "__consumer_offsets", records("a")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_who_does_not_lead_names_the_leader(cluster: BrokerCluster, topic: str) -> None:
    """KIP-951: from Produce v10 and Fetch v16 the answer says where to go."""
    leader, other = cluster.leader(topic), follower(cluster, topic)
    row = send(cluster, topic, records("a"), broker=other)
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert row.current_leader.leader_id == leader
    answer = fetch(cluster, topic, 17, broker=other, replica_state={"replica_id": 9, "replica_epoch": -1})
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.responses[0].partitions[0].current_leader.leader_id == leader
    assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(leader, 9092)]


def test_unknown_partitions(cluster: BrokerCluster) -> None:
    row = send(cluster, "nothing", records("a"), broker=1)
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(cluster, "nothing", 12, broker=1).responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(cluster, "nothing", 13, broker=1).responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.spec("S3")
@pytest.mark.parametrize("magic", [0, 1])
def test_old_producers_and_consumers(cluster: BrokerCluster, magic: int) -> None:
    """Message sets are stored as batches and given back as message sets to those who know nothing else."""
    topic = f"old-{magic}"
    cluster.create(topic)
    old = build_message_set([Record(i, TIME_MS, b"k", f"v{i}".encode(), ()) for i in range(3)], magic)
    assert send(cluster, topic, old, version=magic).base_offset == 0
    assert cluster.consume(topic) == ["v0", "v1", "v2"]
    for version in (0, 1, 2, 3):
        data = bytes(fetch(cluster, topic, version, 1).responses[0].partitions[0].records)
        assert is_legacy(data)
        assert [(m.offset, m.value) for chunk in message_chunks(data) for m in chunk] == [(1, b"v1"), (2, b"v2")]
    data = bytes(fetch(cluster, topic, 4).responses[0].partitions[0].records)
    assert not is_legacy(data)
    assert sum(header.record_count for _, header in iter_headers(data)) == 3


def test_conversion_can_be_forbidden(cluster: BrokerCluster) -> None:
    cluster.create("kept", configs={"message.downconversion.enable": "false"})
    send(cluster, "kept", records("a"))
    assert fetch(cluster, "kept", 2).responses[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.spec("G4")
def test_idempotent_duplicates_are_dropped(cluster: BrokerCluster, topic: str) -> None:
    """The same batch again gets the old offset."""
    first = build_batch([Record(0, TIME_MS, None, b"a", ())], producer_id=7, producer_epoch=0, base_sequence=0)
    assert send(cluster, topic, first).base_offset == 0
    assert send(cluster, topic, first).base_offset == 0
    gap = build_batch([Record(0, TIME_MS, None, b"c", ())], producer_id=7, producer_epoch=0, base_sequence=5)
    assert send(cluster, topic, gap).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert cluster.consume(topic) == ["a"]
    answer = cluster.ask(cluster.leader(topic), ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": topic, "partition_indexes": [0, 5]}]})
    known, unknown = answer.topics[0].partitions
    assert [(p.producer_id, p.last_sequence) for p in known.active_producers] == [(7, 0)]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_followers_tell_of_producers_as_well(cluster: BrokerCluster, topic: str) -> None:
    data = build_batch([Record(0, TIME_MS, None, b"a", ())], producer_id=7, producer_epoch=0, base_sequence=0)
    assert send(cluster, topic, data).error_code == ErrorCode.NONE
    asked = {"topics": [{"name": topic, "partition_indexes": [0]}]}
    for broker_id in cluster.ids:
        (row,) = cluster.ask(broker_id, ApiKey.DESCRIBE_PRODUCERS, 0, asked).topics[0].partitions
        assert (row.error_code, [producer.producer_id for producer in row.active_producers]) == (ErrorCode.NONE, [7]), broker_id


@pytest.mark.spec("P1")
def test_a_waiting_fetch_is_woken_by_a_produce(cluster: BrokerCluster, topic: str) -> None:
    """Held for `max_wait`, answered at the append."""
    started = cluster.world.scheduler.now_us
    cluster.world.scheduler.call_later_ms(300, lambda: _append(cluster, topic))
    answer = fetch(cluster, topic, 11, max_wait=20_000, min_bytes=1)
    assert answer.responses[0].partitions[0].records
    assert cluster.world.scheduler.now_us - started < 5_000_000


def _append(cluster: BrokerCluster, topic: str) -> None:
    leader = cluster.known_leader(topic)
    replicas = cluster.brokers[leader].services.replicas
    life = cluster.world.life(f"b{leader}")
    life.loop.call_soon(replicas.appending.append_now, TopicPartition(topic, 0), records("a"), AppendOrigin.CLIENT)


def test_fetch_sessions(cluster: BrokerCluster, topic: str) -> None:
    """KIP-227: the second request names nothing and is told only what changed."""
    send(cluster, topic, records("a"))
    opened = fetch(cluster, topic, 12, 1, session_id=0, session_epoch=0)
    assert opened.session_id > 0
    leader = cluster.leader(topic)
    go_on = {"replica_id": -1, "max_wait": 0, "min_bytes": 0, "topics": [], "session_id": opened.session_id}
    assert cluster.ask(leader, ApiKey.FETCH, 12, go_on | {"session_epoch": 1}).responses == ()
    send(cluster, topic, records("b"))
    told = cluster.ask(leader, ApiKey.FETCH, 12, go_on | {"session_epoch": 2})
    assert told.responses[0].partitions[0].high_watermark == 2
    assert cluster.ask(leader, ApiKey.FETCH, 12, go_on | {"session_epoch": 9}).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    lost = go_on | {"session_id": 1, "session_epoch": 3}
    assert cluster.ask(leader, ApiKey.FETCH, 12, lost).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_special_timestamps(cluster: BrokerCluster, topic: str) -> None:
    send(cluster, topic, records("a", "b", "c"))
    assert offsets(cluster, topic, -1).offset == 3
    assert offsets(cluster, topic, -2).offset == 0
    assert (offsets(cluster, topic, -3).offset, offsets(cluster, topic, -3).timestamp) == (2, TIME_MS + 2)
    assert offsets(cluster, topic, -4).offset == 0
    assert offsets(cluster, topic, -5).offset == -1
    assert offsets(cluster, topic, TIME_MS + 1).offset == 1
    assert offsets(cluster, topic, TIME_MS + 100).offset == -1
    assert offsets(cluster, topic, -3, version=6).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert list(offsets(cluster, topic, -1, version=0).old_style_offsets) == [3]


def test_deleted_records_are_out_of_range(cluster: BrokerCluster, topic: str) -> None:
    send(cluster, topic, records("a", "b", "c"))
    rows = [{"partition_index": 0, "offset": 2}]
    payload = {"topics": [{"name": topic, "partitions": rows}], "timeout": 10_000}
    answer = cluster.ask(cluster.leader(topic), ApiKey.DELETE_RECORDS, 2, payload)
    assert answer.topics[0].partitions[0].low_watermark == 2
    assert fetch(cluster, topic, 11, 0).responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets(cluster, topic, -2).offset == 2
    refused = cluster.ask(follower(cluster, topic), ApiKey.DELETE_RECORDS, 2, payload).topics[0].partitions[0]
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_records_of_no_transaction_are_refused(cluster: BrokerCluster, topic: str) -> None:
    data = build_batch([Record(0, TIME_MS, None, b"v", ())], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": data}]}]
    unheard = ErrorCode.NOT_ENOUGH_REPLICAS  # the id has no coordinator yet that could say whether there is a transaction
    for transactional_id, code in ((None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("t", unheard)):
        payload = {"transactional_id": transactional_id, "acks": -1, "timeout": 20_000, "topic_data": rows}
        answer = cluster.ask(cluster.leader(topic), ApiKey.PRODUCE, 11, payload)
        assert answer.responses[0].partition_responses[0].error_code == code
    assert fetch(cluster, topic, 11).responses[0].partitions[0].high_watermark == 0
