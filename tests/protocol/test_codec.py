"""The compiled codec against kio's own writer, for every key and version of Kafka 3.9."""

from __future__ import annotations

import datetime
import io
import random
import subprocess
import sys
import uuid

import pytest
from kio.serial import entity_writer

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import MAX_VERSION_3_9, ApiKey
from broker_core.protocol.reader import default_value, message_reader
from broker_core.protocol.schema import EntitySpec, FieldSpec, Side, message_spec
from broker_core.protocol.writer import EncodedItems, items_writer, message_writer
from tests.support.payloads import every_message, kio_object, kio_type, sample, unknown_names

pytestmark = pytest.mark.spec("N2")

SAMPLES_PER_MESSAGE = 3


def encode(key: int, version: int, side: Side, payload: object) -> bytes:
    out = bytearray()
    message_writer(key, version, side)(out, payload)
    return bytes(out)


def expected(spec: EntitySpec, payload: dict) -> dict:
    """What decoding gives for a payload, as plain dicts and tuples."""
    return {field.name: _expected_field(field, payload[field.name]) for field in spec.fields + spec.tagged}


def _expected_field(field: FieldSpec, value: object) -> object:
    if value is None:
        return plain(field, default_value(field)) if field.tag is not None else None
    if field.array:
        return tuple(_expected_value(field, each) for each in value)
    return _expected_value(field, value)


def _expected_value(field: FieldSpec, value: object) -> object:
    return expected(field.nested, value) if field.nested is not None else value


def plain(field: FieldSpec | None, value: object) -> object:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(None, each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return tuple(plain(None, each) for each in value)
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.parametrize("key", MAX_VERSION_3_9, ids=lambda key: key.name)
def test_encodes_as_kio_does_and_reads_itself_back(key: ApiKey) -> None:
    for each, version, side in every_message():
        if each is not key:
            continue
        spec, entity = message_spec(key, version, side), kio_type(key, version, side)
        for seed in range(SAMPLES_PER_MESSAGE):
            payload = sample(spec, random.Random(f"{key} {version} {side} {seed}"))
            reference = io.BytesIO()
            entity_writer(entity)(reference, kio_object(entity, spec, payload))
            encoded = encode(key, version, side, payload)
            assert encoded == reference.getvalue(), (key.name, version, side)
            decoded, end = message_reader(key, version, side)(memoryview(encoded), 0)
            assert end == len(encoded)
            assert plain(None, decoded) == expected(spec, payload), (key.name, version, side)
            assert encode(key, version, side, decoded) == encoded


def test_one_payload_serves_all_versions() -> None:
    payload = {
        "throttle_time": 7,
        "error_code": ErrorCode.NONE,
        "session_id": 3,
        "responses": [
            {"topic": "t", "topic_id": uuid.UUID(int=5), "partitions": [{"partition_index": 1, "records": b"abc", "high_watermark": 9}]}
        ],
    }
    for version in range(MAX_VERSION_3_9[ApiKey.FETCH] + 1):
        answer = codec.decode_response(ApiKey.FETCH, version, codec.encode_response(ApiKey.FETCH, version, payload), 0)
        assert codec.field(answer, "throttle_time", 7) == 7
        topic = answer.responses[0]
        assert codec.field(topic, "topic", "t") == "t"
        assert codec.field(topic, "topic_id", uuid.UUID(int=5)).int == 5
        assert bytes(topic.partitions[0].records) == b"abc"


def test_names_that_only_old_versions_have_are_written_by_those() -> None:
    """LeaderAndIsr v0 and v1 list partitions flat, later ones by topic: a payload carries both."""
    row = {"topic_name": "t", "partition_index": 4, "isr": [1], "replicas": [1, 2]}
    payload = {"ungrouped_partition_states": [row], "topic_states": [{"topic_name": "t", "partition_states": [row]}]}
    old = codec.decode_request(ApiKey.LEADER_AND_ISR, 1, codec.encode_request(ApiKey.LEADER_AND_ISR, 1, payload), 0)
    new = codec.decode_request(ApiKey.LEADER_AND_ISR, 4, codec.encode_request(ApiKey.LEADER_AND_ISR, 4, payload), 0)
    assert old.ungrouped_partition_states[0].partition_index == new.topic_states[0].partition_states[0].partition_index == 4


def test_missing_values_take_the_schemas_default() -> None:
    request = codec.decode_request(ApiKey.FETCH, 12, codec.encode_request(ApiKey.FETCH, 12, {}), 0)
    assert (request.max_bytes, request.session_epoch, request.rack_id, request.cluster_id) == (2**31 - 1, -1, "", None)
    answer = codec.decode_response(ApiKey.CREATE_TOPICS, 5, codec.encode_response(ApiKey.CREATE_TOPICS, 5, {"topics": [{"name": "t"}]}), 0)
    assert answer.topics[0].error_message is None
    assert answer.topics[0].num_partitions == -1


def test_times_are_milliseconds_and_may_be_given_natively() -> None:
    native = codec.encode_request(ApiKey.JOIN_GROUP, 5, {"session_timeout": datetime.timedelta(seconds=10), "rebalance_timeout": 60_000})
    request = codec.decode_request(ApiKey.JOIN_GROUP, 5, native, 0)
    assert (request.session_timeout, request.rebalance_timeout) == (10_000, 60_000)
    assert codec.millis(None) == -1
    assert codec.millis(datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=datetime.UTC)) == 1500


def test_an_error_code_that_nobody_knows_is_the_unknown_server_error() -> None:
    frame = codec.encode_response(ApiKey.HEARTBEAT, 0, {"error_code": 9999})
    assert codec.decode_response(ApiKey.HEARTBEAT, 0, frame, 0).error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_records_are_a_view_of_the_frame() -> None:
    payload = {"acks": 1, "timeout": 5, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": b"r" * 100}]}]}
    frame = bytearray(codec.encode_request(ApiKey.PRODUCE, 9, payload))
    records = codec.decode_request(ApiKey.PRODUCE, 9, memoryview(frame), 0).topic_data[0].partition_data[0].records
    assert records.obj is frame


def test_bytes_after_a_request_are_ignored_after_a_response_refused() -> None:
    """librdkafka 2 sends three bytes too many with Metadata v12, and Kafka does not mind."""
    frame = codec.encode_request(ApiKey.METADATA, 12, {})
    assert codec.decode_request(ApiKey.METADATA, 12, frame + b"\0\0\0", 0) == codec.decode_request(ApiKey.METADATA, 12, frame, 0)
    answer = codec.encode_response(ApiKey.HEARTBEAT, 0, {"error_code": 0})
    with pytest.raises(ProtocolViolation, match="1 bytes after a response"):
        codec.decode_response(ApiKey.HEARTBEAT, 0, answer + b"\0", 0)


def test_unknown_versions_are_violations() -> None:
    frame = codec.encode_request(ApiKey.METADATA, 12, {})
    with pytest.raises(ProtocolViolation, match="no version 13"):
        codec.decode_request(ApiKey.METADATA, 13, frame, 0)
    with pytest.raises(ProtocolViolation, match="no version 0 of request key 999"):
        codec.decode_request(999, 0, frame, 0)


def test_null_where_none_may_be_is_refused_on_both_ways() -> None:
    with pytest.raises(ValueError, match="topics must not be null"):
        codec.encode_request(ApiKey.CREATE_TOPICS, 7, {"topics": None})
    with pytest.raises(ProtocolViolation, match="null where the list topics is required"):
        codec.decode_request(ApiKey.CREATE_TOPICS, 7, b"\0" * 7, 0)


def test_a_mistyped_name_is_found() -> None:
    assert unknown_names(ApiKey.FETCH, "response", {"responses": [{"topics": "t", "partitions": []}], "session": 1}) == [
        "responses.topics",
        "session",
    ]


def test_nothing_of_kio_is_loaded_before_a_message_needs_it() -> None:
    script = (
        "import sys, broker_core.protocol.codec as codec, broker_core.protocol.headers, broker_core.protocol.hot_fetch\n"
        "assert not [name for name in sys.modules if name.startswith('kio')]\n"
        "codec.encode_request(3, 12, {})\n"
        "assert 'kio.schema.metadata.v12.request' in sys.modules and 'kio.schema.fetch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_array_whose_elements_are_encoded_apart_is_the_same_in_all_versions() -> None:
    """The partitions of a topic that has ten thousand are encoded in slices."""
    row = {"leader_id": 1, "leader_epoch": 4, "replica_nodes": [1, 2, 3], "isr_nodes": [1, 2], "offline_replicas": [3]}
    rows = [{"error_code": 0, "partition_index": number, **row} for number in range(5)]
    for version in range(13):
        topic = {"error_code": 0, "name": "t", "topic_id": None, "is_internal": False, "partitions": rows}
        payload = {"brokers": [], "cluster_id": "x", "controller_id": 1, "topics": [topic]}
        whole = codec.encode_response(ApiKey.METADATA, version, payload)
        write, out = items_writer(ApiKey.METADATA, version, Side.RESPONSE, "topics", "partitions"), bytearray()
        write(out, rows[:2])
        write(out, rows[2:])
        assert (
            codec.encode_response(ApiKey.METADATA, version, {**payload, "topics": [{**topic, "partitions": EncodedItems(5, out)}]}) == whole
        )
