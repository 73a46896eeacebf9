"""A Fetch request read by hand is what the compiled codec makes of it, of good bytes and of bad ones."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any
from uuid import UUID

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_fetch_request import read_fetch_request
from broker_core.protocol.reader import MAX_CLIENT_ELEMENTS, message_reader
from broker_core.protocol.schema import Side, message_spec
from tests.support.payloads import sample

pytestmark = pytest.mark.spec("N1")

VERSIONS = range(12, 18)
HUGE = b"\xff\xff\xff\xff\x0f"


def request(version: int, rng: random.Random) -> bytes:
    """What clients send: no tagged fields but a follower's state."""
    topics = [named(rng) | {"partitions": [position(rng) for _ in range(rng.choice((0, 1, 130)))]} for _ in range(rng.randrange(3))]
    gone = [named(rng) | {"partitions": [rng.getrandbits(31) for _ in range(rng.randrange(3))]} for _ in range(rng.randrange(3))]
    payload = {
        "replica_id": rng.choice((-1, 3)),
        "replica_state": rng.choice(({}, {"replica_id": 3, "replica_epoch": rng.getrandbits(40)})),
        "max_wait": rng.getrandbits(20),
        "min_bytes": rng.getrandbits(31),
        "max_bytes": rng.getrandbits(31),
        "isolation_level": rng.choice((0, 1)),
        "session_id": rng.getrandbits(31),
        "session_epoch": rng.choice((-1, 0, 7)),
        "topics": topics,
        "forgotten_topics_data": gone,
        "rack_id": rng.choice(("", "räck", "x" * 200)),
    }
    return codec.encode_request(ApiKey.FETCH, version, payload)


def named(rng: random.Random) -> dict[str, Any]:
    return {"topic": rng.choice(("t", "tøpic")), "topic_id": UUID(int=rng.choice((0, rng.getrandbits(128))))}


def position(rng: random.Random) -> dict[str, Any]:
    numbers = ("partition", "current_leader_epoch", "last_fetched_epoch", "partition_max_bytes")
    return {name: rng.getrandbits(31) for name in numbers} | {"fetch_offset": rng.getrandbits(60), "log_start_offset": -1}


def by_codec(version: int, frame: bytes, offset: int = 0) -> Any:
    try:
        return message_reader(ApiKey.FETCH, version, Side.REQUEST)(memoryview(frame), offset)[0]
    except (ProtocolViolation, *codec._UNREADABLE) as error:
        return type(error)


def by_hand(version: int, frame: bytes, offset: int = 0) -> Any:
    return read_fetch_request(version, memoryview(frame), offset, MAX_CLIENT_ELEMENTS)


def names(value: Any) -> Any:
    """The fields' names, however deep."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ()), [names(each) for each in value]
    return None


@pytest.mark.parametrize("version", VERSIONS)
def test_what_clients_send_is_read_by_hand(version: int) -> None:
    rng = random.Random(version)
    for _ in range(200):
        frame = b"header" + request(version, rng) + rng.choice((b"", b"\0\0\0"))
        read, expected = by_hand(version, frame, 6), by_codec(version, frame, 6)
        assert read == expected
        assert names(read) == names(expected)
        assert codec.decode_request(ApiKey.FETCH, version, frame, 6) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_rare_cut_and_changed_requests(version: int) -> None:
    """Nothing is read otherwise than by the codec, and nothing is read that the codec refuses."""
    rng, spec, kept = random.Random(version), message_spec(ApiKey.FETCH, version, Side.REQUEST), 0
    for number in range(1500):
        good = request(version, rng) if number % 2 else codec.encode_request(ApiKey.FETCH, version, sample(spec, rng))
        bad = bytearray(good[: rng.randrange(len(good) + 1)] if rng.random() < 0.5 else good)[:600]
        for _ in range(min(len(bad), rng.randrange(3))):
            bad[rng.randrange(len(bad))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        read = by_hand(version, bytes(bad))
        kept += read is not None
        assert read is None or read == by_codec(version, bytes(bad))
    assert kept > 50


@pytest.mark.parametrize("version", VERSIONS)
def test_huge_counts_anywhere_take_no_memory(version: int) -> None:
    good = codec.encode_request(ApiKey.FETCH, version, {})
    tracemalloc.start()
    for place in range(len(good)):
        for frame in (good[:place] + HUGE + good[place + 1 :], good[:place] + HUGE + bytes(40)):
            read = by_hand(version, frame)
            assert read is None or read == by_codec(version, frame)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1 << 20


@pytest.mark.parametrize("version", VERSIONS)
def test_more_elements_than_a_request_may_have_are_the_codecs_to_refuse(version: int) -> None:
    topics = [{"topic": "t", "topic_id": UUID(int=7), "partitions": [{"partition": 1}] * 3}]
    gone = [{"topic": "t", "topic_id": UUID(int=7), "partitions": [1, 2]}]
    frame = memoryview(codec.encode_request(ApiKey.FETCH, version, {"topics": topics, "forgotten_topics_data": gone}))
    assert read_fetch_request(version, frame, 0, 7) is not None
    assert all(read_fetch_request(version, frame, 0, most) is None for most in range(7))


def test_earlier_versions_are_the_codecs() -> None:
    for version in range(12):
        assert by_hand(version, codec.encode_request(ApiKey.FETCH, version, {})) is None
