"""The hand-made encoders give what the compiled codec gives, and a Fetch response leaves records where they are."""

from __future__ import annotations

import random
import uuid

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol import codec
from broker_core.protocol.api import MAX_VERSION_3_9, ApiKey
from broker_core.protocol.headers import encode_request_frame, response_header
from broker_core.protocol.hot_common import NodeEndpoint
from broker_core.protocol.hot_fetch import FetchPartitionResult, FetchPosition, FollowerFetch, encode_fetch_request, encode_fetch_response
from broker_core.protocol.hot_produce import ProducedPartition, encode_produce_response
from broker_core.seams import FileRange

TOPIC_ID = uuid.UUID(int=77)
ENDPOINTS = [NodeEndpoint(1, "host", 9092, None), NodeEndpoint(2, "höst", 9093, "rack")]


class NoFile:
    """Stands for a segment file whose bytes nobody may read here."""

    path = "/segment"


def random_result(rng: random.Random, partition: int) -> FetchPartitionResult:
    records = [rng.randbytes(rng.choice((0, 10, 5000))) for _ in range(rng.choice((0, 1, 2)))]
    return FetchPartitionResult(
        partition,
        rng.choice(list(ErrorCode)),
        rng.getrandbits(40),
        rng.getrandbits(40),
        rng.getrandbits(40),
        rng.choice((None, [], [(1, 2), (3, 4)], [(i, i) for i in range(200)])),
        rng.choice((-1, 3)),
        rng.choice((None, (-1, -1), (4, 99))),
        records,
        sum(map(len, records)),
        rng.choice((None, (-1, -1), (2, 7))),
    )


def fetch_payload(results: list[FetchPartitionResult], version: int) -> dict:
    def row(got: FetchPartitionResult) -> dict:
        return {
            "partition_index": got.partition,
            "error_code": got.error_code,
            "high_watermark": got.high_watermark,
            "last_stable_offset": got.last_stable_offset,
            "log_start_offset": got.log_start_offset,
            "aborted_transactions": None if got.aborted is None else [{"producer_id": p, "first_offset": o} for p, o in got.aborted],
            "preferred_read_replica": got.preferred_read_replica,
            "diverging_epoch": {} if got.diverging is None else {"epoch": got.diverging[0], "end_offset": got.diverging[1]},
            "current_leader": {}
            if got.current_leader is None
            else {"leader_id": got.current_leader[0], "leader_epoch": got.current_leader[1]},
            "records": b"".join(got.records),
        }

    topic = {"topic": "tøpic", "topic_id": TOPIC_ID, "partitions": [row(got) for got in results]}
    return {
        "throttle_time": 5,
        "error_code": 70,
        "session_id": 8,
        "responses": [topic, {"topic": "empty"}],
        "node_endpoints": [endpoint._asdict() for endpoint in ENDPOINTS],
    }


@pytest.mark.parametrize("version", range(MAX_VERSION_3_9[ApiKey.FETCH] + 1))
def test_fetch_response(version: int) -> None:
    rng = random.Random(version)
    for count in (0, 1, 5, 130):
        results = [random_result(rng, partition) for partition in range(count)]
        parts = encode_fetch_response(version, 9, 5, 70, 8, [("tøpic", TOPIC_ID, results), ("empty", None, [])], ENDPOINTS)
        body = codec.encode_response(ApiKey.FETCH, version, fetch_payload(results, version))
        assert b"".join(parts) == response_header(ApiKey.FETCH, version, 9) + body


@pytest.mark.spec("S5")
@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_file_ranges_pass_unread_and_in_place(version: int) -> None:
    """The shell sends them, by sendfile where that is faster."""
    piece = FileRange(NoFile(), 100, 5000)
    results = [FetchPartitionResult(0, 0, 1, 1, 0, None, records=[piece, b"x" * 10], records_bytes=5010), FetchPartitionResult(1, 0)]
    parts = encode_fetch_response(version, 9, 0, 0, 0, [("t", TOPIC_ID, results)])
    assert parts[1] is piece
    flat = b"".join(b"f" * part.length if isinstance(part, FileRange) else part for part in parts)
    answer = codec.decode_response(ApiKey.FETCH, version, flat, len(response_header(ApiKey.FETCH, version, 9)))
    assert bytes(answer.responses[0].partitions[0].records) == b"f" * 5000 + b"x" * 10


@pytest.mark.parametrize("version", range(MAX_VERSION_3_9[ApiKey.PRODUCE] + 1))
def test_produce_response(version: int) -> None:
    partitions = [
        ProducedPartition(0, 0, 5, -1, 2),
        ProducedPartition(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, error_message="mövéd", current_leader=(2, 9)),
        ProducedPartition(300, ErrorCode.NONE, 1 << 40, 1_700_000_000_000, 0, "", (-1, -1)),
        ProducedPartition(2, ErrorCode.INVALID_RECORD, error_message="some", record_errors=((0, "nö key"), (70_000, ""))),
    ]
    rows = [
        {
            "index": row.partition,
            "error_code": row.error_code,
            "base_offset": row.base_offset,
            "log_append_time": row.log_append_time_ms,
            "log_start_offset": row.log_start_offset,
            "record_errors": [{"batch_index": index, "batch_index_error_message": why} for index, why in row.record_errors],
            "error_message": row.error_message,
            "current_leader": {}
            if row.current_leader is None
            else {"leader_id": row.current_leader[0], "leader_epoch": row.current_leader[1]},
        }
        for row in partitions
    ]
    payload = {
        "throttle_time": 3,
        "responses": [{"name": "t", "partition_responses": rows}, {"name": "u", "partition_responses": []}],
        "node_endpoints": [endpoint._asdict() for endpoint in ENDPOINTS],
    }
    expected = response_header(ApiKey.PRODUCE, version, 4) + codec.encode_response(ApiKey.PRODUCE, version, payload)
    assert encode_produce_response(version, 4, 3, [("t", partitions), ("u", [])], ENDPOINTS) == expected


@pytest.mark.parametrize("version", range(12, MAX_VERSION_3_9[ApiKey.FETCH] + 1))
def test_followers_fetch_request(version: int) -> None:
    fetch = FollowerFetch(replica_id=3, replica_epoch=44, max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, session_id=7, session_epoch=2)
    positions = [FetchPosition(partition, 5, 100 + partition, 4, 1, 1 << 20) for partition in range(130)]
    payload = {
        "replica_id": 3,
        "replica_state": {"replica_id": 3, "replica_epoch": 44},
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": 7,
        "session_epoch": 2,
        "topics": [{"topic": "t", "topic_id": TOPIC_ID, "partitions": [_position_row(position) for position in positions]}],
        "forgotten_topics_data": [{"topic": "u", "topic_id": None, "partitions": [1, 2]}],
    }
    frame = encode_fetch_request(version, 6, "replica", fetch, [("t", TOPIC_ID, positions)], forgotten=[("u", None, [1, 2])])
    assert frame == encode_request_frame(ApiKey.FETCH, version, 6, "replica", payload)


def _position_row(position: FetchPosition) -> dict:
    row = position._asdict()
    return row | {"partition_max_bytes": row.pop("max_bytes")}
