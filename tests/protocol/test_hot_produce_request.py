"""A Produce request read by hand is what the compiled codec makes of it, of good bytes and of bad ones."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest

from broker_core.errors import ProtocolViolation
from broker_core.protocol import codec
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_produce_request import read_produce_request
from broker_core.protocol.reader import MAX_CLIENT_ELEMENTS, message_reader
from broker_core.protocol.schema import Side, message_spec
from tests.support.payloads import sample

pytestmark = pytest.mark.spec("N1")

VERSIONS = range(3, 12)
HUGE = b"\xff\xff\xff\xff\x0f"


def request(version: int, rng: random.Random) -> bytes:
    topics = [
        {
            "name": rng.choice(("t", "tøpic", "x" * 249)),
            "partition_data": [
                {"index": rng.getrandbits(31), "records": rng.randbytes(rng.choice((0, 1, 61, 200)))}
                for _ in range(rng.choice((0, 1, 130)))
            ],
        }
        for _ in range(rng.randrange(3))
    ]
    payload = {
        "transactional_id": rng.choice((None, "", "tränsaction", "x" * 300)),
        "acks": rng.choice((-1, 0, 1, 7)),
        "timeout": rng.getrandbits(31),
        "topic_data": topics,
    }
    return codec.encode_request(ApiKey.PRODUCE, version, payload)


def by_codec(version: int, frame: bytes, offset: int = 0) -> Any:
    try:
        return message_reader(ApiKey.PRODUCE, version, Side.REQUEST)(memoryview(frame), offset)[0]
    except (ProtocolViolation, *codec._UNREADABLE) as error:
        return type(error)


def by_hand(version: int, frame: bytes, offset: int = 0) -> Any:
    return read_produce_request(version, memoryview(frame), offset, MAX_CLIENT_ELEMENTS)


def names(value: Any) -> Any:
    """The fields' names, however deep."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ()), [names(each) for each in value]
    return type(value)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_clients_send_is_read_by_hand(version: int) -> None:
    rng = random.Random(version)
    for _ in range(200):
        frame = b"header" + request(version, rng) + rng.choice((b"", b"\0\0\0"))
        read, expected = by_hand(version, frame, 6), by_codec(version, frame, 6)
        assert read == expected
        assert names(read) == names(expected)
        assert codec.decode_request(ApiKey.PRODUCE, version, frame, 6) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_rare_cut_and_changed_requests(version: int) -> None:
    """Nothing is read otherwise than by the codec, and nothing is read that the codec refuses."""
    rng, spec, kept = random.Random(version), message_spec(ApiKey.PRODUCE, version, Side.REQUEST), 0
    for number in range(1500):
        good = request(version, rng) if number % 2 else codec.encode_request(ApiKey.PRODUCE, version, sample(spec, rng))
        bad = bytearray(good[: rng.randrange(len(good) + 1)] if rng.random() < 0.5 else good)[:600]
        for _ in range(min(len(bad), rng.randrange(3))):
            bad[rng.randrange(len(bad))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        read = by_hand(version, bytes(bad))
        kept += read is not None
        assert read is None or read == by_codec(version, bytes(bad))
    assert kept > 50


@pytest.mark.parametrize("version", VERSIONS)
def test_huge_counts_anywhere_take_no_memory(version: int) -> None:
    good = codec.encode_request(ApiKey.PRODUCE, version, {"acks": 1, "timeout": 1, "topic_data": []})
    tracemalloc.start()
    for place in range(len(good)):
        for frame in (good[:place] + HUGE + good[place + 1 :], good[:place] + HUGE + bytes(40), good[:place] + b"\x7f" + HUGE):
            read = by_hand(version, frame)
            assert read is None or read == by_codec(version, frame)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1 << 20


@pytest.mark.parametrize("version", VERSIONS)
def test_more_elements_than_a_request_may_have_are_the_codecs_to_refuse(version: int) -> None:
    topics = [{"name": "t", "partition_data": [{"index": 1, "records": b"r"}] * 3}]
    frame = memoryview(codec.encode_request(ApiKey.PRODUCE, version, {"acks": 1, "timeout": 1, "topic_data": topics}))
    assert read_produce_request(version, frame, 0, 4) is not None
    assert all(read_produce_request(version, frame, 0, most) is None for most in range(4))


def test_earlier_versions_are_the_codecs() -> None:
    for version in range(3):
        assert by_hand(version, codec.encode_request(ApiKey.PRODUCE, version, {"acks": 1, "timeout": 1, "topic_data": []})) is None
