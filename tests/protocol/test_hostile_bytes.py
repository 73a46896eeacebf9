"""Whatever bytes a peer sends, only `ProtocolViolation` comes out, and no memory goes."""

from __future__ import annotations

import random
import struct
import tracemalloc

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import FLEXIBLE_FROM, MAX_VERSION_3_9, ApiKey, is_flexible
from broker_core.protocol.headers import parse_request_header
from broker_core.protocol.reader import MAX_CLIENT_ELEMENTS, MAX_ELEMENTS
from broker_core.protocol.reader_values import MAX_STRING_BYTES
from broker_core.protocol.schema import Side, message_spec
from broker_core.protocol.varint import write_unsigned
from tests.support.payloads import sample

pytestmark = pytest.mark.spec("N1")

HUGE_INT32 = struct.pack(">i", 2**31 - 1)
HUGE_COMPACT = b"\xff\xff\xff\xff\x0f"
RANDOM_FRAMES = 12


def survives(key: int, version: int, frame: bytes) -> None:
    try:
        codec.decode_request(key, version, frame, 0)
    except ProtocolViolation:
        return


@pytest.mark.parametrize("key", MAX_VERSION_3_9, ids=lambda key: key.name)
def test_random_and_mutated_requests(key: ApiKey) -> None:
    for version in range(MAX_VERSION_3_9[key] + 1):
        rng = random.Random(f"{key} {version}")
        good = codec.encode_request(key, version, sample(message_spec(key, version, Side.REQUEST), rng))[:400]
        for _ in range(RANDOM_FRAMES):
            survives(key, version, rng.randbytes(rng.randrange(60)))
            cut = bytearray(good[: rng.randrange(len(good) + 1)])
            for _ in range(min(len(cut), 3)):
                cut[rng.randrange(len(cut))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            survives(key, version, bytes(cut))


@pytest.mark.parametrize("key", MAX_VERSION_3_9, ids=lambda key: key.name)
def test_huge_counts_anywhere_take_no_memory(key: ApiKey) -> None:
    for version in range(MAX_VERSION_3_9[key] + 1):
        good = codec.encode_request(key, version, {})
        survives(key, version, good)
        huge = HUGE_COMPACT if is_flexible(key, version) else HUGE_INT32
        tracemalloc.start()
        for position in range(len(good)):
            survives(key, version, good[:position] + huge + good[position + 1 :])
            survives(key, version, good[:position] + huge + bytes(40))
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 1 << 20


@pytest.mark.parametrize(
    ("key", "version", "frame", "message"),
    [
        pytest.param(ApiKey.METADATA, 0, HUGE_INT32, "2147483647 elements of topics cannot be in the 0 bytes left", id="count"),
        pytest.param(ApiKey.METADATA, 9, HUGE_COMPACT, "4294967294 elements of topics cannot be in", id="compact count"),
        pytest.param(ApiKey.METADATA, 0, struct.pack(">i", -5), "the length -5 is negative", id="negative count"),
        pytest.param(ApiKey.METADATA, 0, struct.pack(">ih", 1, -1), "null where a value of type string", id="null string"),
        pytest.param(ApiKey.METADATA, 0, struct.pack(">ih", 1, -7), "the length -7 is negative", id="negative length"),
        pytest.param(ApiKey.METADATA, 0, struct.pack(">ih", 1, 9) + b"abc", "type string ends at 15, the frame at 9", id="long string"),
        pytest.param(ApiKey.METADATA, 0, struct.pack(">ih", 1, 2) + b"\xff\xfe", "utf-8", id="no UTF-8"),
        pytest.param(ApiKey.API_VERSIONS, 3, b"\x82\x80\x80\x80\x80\x00ab", "exceeds 32 bits", id="varint of six bytes"),
        pytest.param(ApiKey.API_VERSIONS, 3, b"\xff\xff\xff\xff\x7fab", "exceeds 32 bits", id="varint of 35 bits"),
        pytest.param(ApiKey.API_VERSIONS, 3, b"\x02a\x02b\x01\x05" + HUGE_COMPACT, "tagged field 5 ends at", id="tag beyond the frame"),
        pytest.param(ApiKey.API_VERSIONS, 3, b"\x02a\x02b" + HUGE_COMPACT, "more than 131072 elements", id="tag count"),
        pytest.param(ApiKey.API_VERSIONS, 3, b"", "unreadable request", id="nothing"),
    ],
)
def test_violations(key: ApiKey, version: int, frame: bytes, message: str) -> None:
    with pytest.raises(ProtocolViolation, match=message):
        codec.decode_request(key, version, frame, 0)


def test_a_message_has_a_budget_of_elements() -> None:
    """A large frame of the smallest elements must not hold the loop up for long."""
    count = MAX_CLIENT_ELEMENTS + 1
    topics = struct.pack(">i", count) + b"\0\0" * count
    with pytest.raises(ProtocolViolation, match="more than 131072 elements"):
        codec.decode_request(ApiKey.METADATA, 0, topics, 0)
    tags = bytearray(b"\x02a\x02b")
    write_unsigned(tags, count)
    with pytest.raises(ProtocolViolation, match="more than 131072 elements"):
        codec.decode_request(ApiKey.API_VERSIONS, 3, bytes(tags + b"\x09\x00" * count), 0)
    numbers = b"\0\1g" + struct.pack(">i", 1) + b"\0\1t" + struct.pack(">i", count) + bytes(4 * count)
    with pytest.raises(ProtocolViolation, match="more than 131072 elements"):
        codec.decode_request(ApiKey.OFFSET_FETCH, 5, numbers, 0)
    codec.decode_request(ApiKey.METADATA, 0, struct.pack(">i", 1000) + b"\0\0" * 1000, 0)


def test_a_controller_may_name_more_than_a_client() -> None:
    """All partitions of a cluster come in one UpdateMetadata; StopReplica v1 to v2 lists plain numbers."""

    def stop(count: int) -> bytes:
        return struct.pack(">iiq?ih", 1, 1, 1, False, 1, 1) + b"t" + struct.pack(">i", count) + bytes(4 * count)

    (topic,) = codec.decode_request(ApiKey.STOP_REPLICA, 1, stop(MAX_CLIENT_ELEMENTS + 1), 0).topics
    assert len(topic.partition_indexes) == MAX_CLIENT_ELEMENTS + 1
    with pytest.raises(ProtocolViolation, match="more than 1048576 elements"):
        codec.decode_request(ApiKey.STOP_REPLICA, 1, stop(MAX_ELEMENTS + 1), 0)


def test_no_text_is_longer_than_an_old_version_could_have_it() -> None:
    """As in Kafka: compact lengths reach further, but what is read in one version is told in another."""
    for size in (MAX_STRING_BYTES, MAX_STRING_BYTES + 1):
        frame = codec.encode_request(ApiKey.METADATA, 12, {"topics": [{"name": "x" * size, "topic_id": None}]})
        if size == MAX_STRING_BYTES:
            assert len(codec.decode_request(ApiKey.METADATA, 12, frame, 0).topics[0].name) == size
        else:
            with pytest.raises(ProtocolViolation, match="a text of 32768 bytes"):
                codec.decode_request(ApiKey.METADATA, 12, frame, 0)


def test_a_known_tag_must_have_the_length_it_claims() -> None:
    start = codec.encode_request(ApiKey.FETCH, 12, {})[:-1]
    assert codec.decode_request(ApiKey.FETCH, 12, start + b"\x01\x00\x03\x03ab", 0).cluster_id == "ab"
    for length in (b"\x02", b"\x04"):
        with pytest.raises(ProtocolViolation):
            codec.decode_request(ApiKey.FETCH, 12, start + b"\x01\x00" + length + b"\x03abZ", 0)


@pytest.mark.parametrize("key", [key for key in FLEXIBLE_FROM if is_flexible(key, MAX_VERSION_3_9[key])], ids=lambda key: key.name)
def test_tags_of_a_newer_client_are_skipped(key: ApiKey) -> None:
    """KIP-482: a tagged field that this side does not know is no error."""
    for version in range(MAX_VERSION_3_9[key] + 1):
        if is_flexible(key, version):
            frame = codec.encode_request(key, version, {})
            if frame[-1] == 0:
                with_tag = frame[:-1] + b"\x01\xe4\x05\x03abc"
                assert codec.decode_request(key, version, with_tag, 0) == codec.decode_request(key, version, frame, 0)


def test_random_headers() -> None:
    rng = random.Random(39)
    for _ in range(20_000):
        frame = struct.pack(">hh", rng.choice((rng.randrange(90), rng.randrange(-40000, 40000) % 32768)), rng.randrange(-1, 20))
        frame += rng.randbytes(rng.randrange(20))
        try:
            header = parse_request_header(frame[: rng.randrange(len(frame) + 1)])
        except ProtocolViolation:
            continue
        assert header.body_offset <= len(frame)
