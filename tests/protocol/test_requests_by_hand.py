"""Produce and Fetch requests read by hand are what the compiled codec makes of them, of good bytes and of bad ones."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_fetch_request import read_fetch_request
from broker_core.protocol.hot_produce_request import read_produce_request
from broker_core.protocol.reader import MAX_CLIENT_ELEMENTS, message_reader
from broker_core.protocol.schema import Side, message_spec
from tests.support.payloads import sample

pytestmark = pytest.mark.spec("N1")

HUGE = b"\xff\xff\xff\xff\x0f"


class Kind(NamedTuple):
    """`made` is what clients send: no tagged fields but a follower's state. `several` has so many elements in its lists."""

    key: ApiKey
    versions: range
    read: Callable[[int, memoryview, int, int], Any]
    made: Callable[[random.Random], dict[str, Any]]
    least: Mapping[str, Any]
    several: Mapping[str, Any]
    elements: int


def fetch(rng: random.Random) -> dict[str, Any]:
    topics = [named(rng) | {"partitions": [position(rng) for _ in range(rng.choice((0, 1, 130)))]} for _ in range(rng.randrange(3))]
    gone = [named(rng) | {"partitions": [rng.getrandbits(31) for _ in range(rng.randrange(3))]} for _ in range(rng.randrange(3))]
    return {
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


def named(rng: random.Random) -> dict[str, Any]:
    return {"topic": rng.choice(("t", "tøpic")), "topic_id": UUID(int=rng.choice((0, rng.getrandbits(128))))}


def position(rng: random.Random) -> dict[str, Any]:
    numbers = ("partition", "current_leader_epoch", "last_fetched_epoch", "partition_max_bytes")
    return {name: rng.getrandbits(31) for name in numbers} | {"fetch_offset": rng.getrandbits(60), "log_start_offset": -1}


def produce(rng: random.Random) -> dict[str, Any]:
    return {
        "transactional_id": rng.choice((None, "", "tränsaction", "x" * 300)),
        "acks": rng.choice((-1, 0, 1, 7)),
        "timeout": rng.getrandbits(31),
        "topic_data": [
            {"name": rng.choice(("t", "tøpic", "x" * 249)), "partition_data": [batch(rng) for _ in range(rng.choice((0, 1, 130)))]}
            for _ in range(rng.randrange(3))
        ],
    }


def batch(rng: random.Random) -> dict[str, Any]:
    return {"index": rng.getrandbits(31), "records": rng.randbytes(rng.choice((0, 1, 61, 200)))}


FETCH = Kind(
    ApiKey.FETCH,
    range(12, 18),
    read_fetch_request,
    fetch,
    least={},
    several={
        "topics": [{"topic": "t", "topic_id": UUID(int=7), "partitions": [{"partition": 1}] * 3}],
        "forgotten_topics_data": [{"topic": "t", "topic_id": UUID(int=7), "partitions": [1, 2]}],
    },
    elements=7,
)
NO_TOPICS = {"acks": 1, "timeout": 1, "topic_data": []}
PRODUCE = Kind(
    ApiKey.PRODUCE,
    range(3, 12),
    read_produce_request,
    produce,
    least=NO_TOPICS,
    several=NO_TOPICS | {"topic_data": [{"name": "t", "partition_data": [{"index": 1, "records": b"r"}] * 3}]},
    elements=4,
)
KINDS = (FETCH, PRODUCE)
each_version = pytest.mark.parametrize(
    ("kind", "version"), [pytest.param(kind, version, id=f"{kind.key.name} v{version}") for kind in KINDS for version in kind.versions]
)


def encoded(kind: Kind, version: int, payload: Mapping[str, Any]) -> bytes:
    return codec.encode_request(kind.key, version, payload)


def by_codec(kind: Kind, version: int, frame: bytes, offset: int = 0) -> Any:
    try:
        return message_reader(kind.key, version, Side.REQUEST)(memoryview(frame), offset)[0]
    except (ProtocolViolation, *codec._UNREADABLE) as error:
        return type(error)


def by_hand(kind: Kind, version: int, frame: bytes, offset: int = 0) -> Any:
    return kind.read(version, memoryview(frame), offset, MAX_CLIENT_ELEMENTS)


def names(value: Any) -> Any:
    """The fields' names, however deep, and the kinds of what is in them."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ()), [names(each) for each in value]
    return type(value)


@each_version
def test_what_clients_send_is_read_by_hand(kind: Kind, version: int) -> None:
    rng = random.Random(version)
    for _ in range(200):
        frame = b"header" + encoded(kind, version, kind.made(rng)) + rng.choice((b"", b"\0\0\0"))
        read, expected = by_hand(kind, version, frame, 6), by_codec(kind, version, frame, 6)
        assert read == expected
        assert names(read) == names(expected)
        assert codec.decode_request(kind.key, version, frame, 6) == expected


@each_version
def test_rare_cut_and_changed_requests(kind: Kind, version: int) -> None:
    """Nothing is read otherwise than by the codec, and nothing is read that the codec refuses."""
    rng, spec, kept = random.Random(version), message_spec(kind.key, version, Side.REQUEST), 0
    for number in range(1500):
        good = encoded(kind, version, kind.made(rng) if number % 2 else sample(spec, rng))
        bad = bytearray(good[: rng.randrange(len(good) + 1)] if rng.random() < 0.5 else good)[:600]
        for _ in range(min(len(bad), rng.randrange(3))):
            bad[rng.randrange(len(bad))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        read = by_hand(kind, version, bytes(bad))
        kept += read is not None
        assert read is None or read == by_codec(kind, version, bytes(bad))
    assert kept > 50


@each_version
def test_huge_counts_anywhere_take_no_memory(kind: Kind, version: int) -> None:
    good = encoded(kind, version, kind.least)
    tracemalloc.start()
    for place in range(len(good)):
        for frame in (good[:place] + HUGE + good[place + 1 :], good[:place] + HUGE + bytes(40), good[:place] + b"\x7f" + HUGE):
            read = by_hand(kind, version, frame)
            assert read is None or read == by_codec(kind, version, frame)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1 << 20


@each_version
def test_more_elements_than_a_request_may_have_are_the_codecs_to_refuse(kind: Kind, version: int) -> None:
    frame = memoryview(encoded(kind, version, kind.several))
    assert kind.read(version, frame, 0, kind.elements) is not None
    assert all(kind.read(version, frame, 0, most) is None for most in range(kind.elements))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key.name)
def test_earlier_versions_are_the_codecs(kind: Kind) -> None:
    for version in range(kind.versions.start):
        assert by_hand(kind, version, encoded(kind, version, kind.least)) is None
