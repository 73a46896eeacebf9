"""A follower's decoder of fetch answers tells what the compiled codec tells, of good bytes and of bad ones."""

from __future__ import annotations

import random
import struct
import tracemalloc
from typing import Any
from uuid import UUID

import pytest

from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol import codec, hot_fetched
from broker_core.protocol.api import ApiKey
from broker_core.protocol.headers import parse_response_header
from broker_core.protocol.hot_fetch import FetchPartitionResult, encode_fetch_response
from broker_core.protocol.hot_fetched import FetchAnswer, FetchedPartition, decode_fetch_answer

pytestmark = pytest.mark.spec("N1")

VERSIONS = (12, 13, 15, 17)
HUGE = b"\xff\xff\xff\xff\x0f"
PLACES = 40


def answer_frame(version: int, rng: random.Random, *, plain: bool, topics: int = 3) -> bytes:
    rows = [
        (rng.choice(("t", "tøpic", "x" * 200)), UUID(int=rng.choice((0, rng.getrandbits(128)))), results(rng, plain=plain))
        for _ in range(rng.randrange(topics))
    ]
    parts = encode_fetch_response(version, rng.getrandbits(31), rng.getrandbits(20), rng.choice((0, 70, 999)), rng.getrandbits(31), rows)
    return b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]


def results(rng: random.Random, *, plain: bool) -> list[FetchPartitionResult]:
    made = []
    for _ in range(rng.choice((0, 1, 3, 130))):
        records = rng.randbytes(rng.choice((0, 0, 10, 200, 20_000)) // (1 if plain else 100))
        got = FetchPartitionResult(
            rng.getrandbits(31), rng.choice((0, 6, 999)), rng.getrandbits(40), rng.getrandbits(40), rng.getrandbits(40)
        )
        got.records, got.records_bytes, got.aborted = [records], len(records), rng.choice((None, []))
        if not plain:
            got.aborted = rng.choice((None, [], [(1, 2), (3, 4)]))
            got.diverging = rng.choice((None, (-1, -1), (4, 99), (0, -1)))
            got.current_leader = rng.choice((None, (2, 7)))
        made.append(got)
    return made


def by_codec(version: int, frame: bytes) -> FetchAnswer:
    answer = codec.decode_response(ApiKey.FETCH, version, frame, parse_response_header(ApiKey.FETCH, version, frame)[1])
    partitions = [fetched(version, topic, data) for topic in answer.responses for data in topic.partitions]
    return FetchAnswer(answer.error_code, answer.session_id, partitions)


def fetched(version: int, topic: Any, data: Any) -> FetchedPartition:
    name, end = topic.topic_id if version >= 13 else topic.topic, data.diverging_epoch
    diverging = (end.epoch, end.end_offset) if end.epoch != -1 else None
    marks = (data.high_watermark, data.log_start_offset)
    return FetchedPartition(name, data.partition_index, data.error_code, *marks, data.records, diverging)


def outcome(decode: Any, version: int, frame: bytes) -> Any:
    try:
        return decode(version, memoryview(frame))
    except ProtocolViolation as error:
        return str(error)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "rare"])
def test_good_answers(version: int, plain: bool) -> None:
    rng = random.Random(version)
    for _ in range(60):
        frame = answer_frame(version, rng, plain=plain)
        assert decode_fetch_answer(version, memoryview(frame)) == by_codec(version, frame)


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_answers_are_read_by_hand_and_records_stay_in_place(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_fetched, "decode_response", None)
    rng = random.Random(version)
    for _ in range(60):
        frame = memoryview(answer_frame(version, rng, plain=True))
        for data in decode_fetch_answer(version, frame).partitions:
            assert data.records is not None
            assert data.records.obj is frame.obj


@pytest.mark.parametrize("version", VERSIONS)
def test_cut_and_changed_answers(version: int) -> None:
    rng = random.Random(version)
    for number in range(1500):
        good = answer_frame(version, rng, plain=number % 2 == 0)[:600]
        bad = bytearray(good[: rng.randrange(len(good) + 1)] if rng.random() < 0.5 else good)
        for _ in range(min(len(bad), rng.randrange(3))):
            bad[rng.randrange(len(bad))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        frame = bytes(bad) + rng.choice((b"", b"", b"\0"))
        assert outcome(decode_fetch_answer, version, frame) == outcome(by_codec, version, frame)


@pytest.mark.parametrize("version", VERSIONS)
def test_huge_counts_anywhere_take_no_memory(version: int) -> None:
    rows = [("t", UUID(int=7), [FetchPartitionResult(0, 0, 1, 1, 0)])]
    good = b"".join(bytes(part) for part in encode_fetch_response(version, 1, 0, 0, 7, rows))  # type: ignore[arg-type]
    by_codec(version, good)
    tracemalloc.start()
    for position in range(len(good)):
        for frame in (good[:position] + HUGE + good[position + 1 :], good[:position] + HUGE + bytes(PLACES)):
            assert outcome(decode_fetch_answer, version, frame) == outcome(by_codec, version, frame)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1 << 20


@pytest.mark.parametrize("version", VERSIONS)
def test_more_elements_than_a_message_may_have(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is read by hand the codec's limit holds, too."""
    monkeypatch.setattr(hot_fetched, "MAX_ELEMENTS", 5)
    monkeypatch.setattr(hot_fetched, "decode_response", lambda *_: (_ for _ in ()).throw(ProtocolViolation("too many")))
    for partitions, fits in ((4, True), (5, False)):
        rows = [("t", UUID(int=7), [FetchPartitionResult(0, 0, 1, 1, 0)] * partitions)]
        frame = b"".join(bytes(part) for part in encode_fetch_response(version, 1, 0, 0, 7, rows))  # type: ignore[arg-type]
        assert (outcome(decode_fetch_answer, version, frame) != "too many") == fits


@pytest.mark.parametrize("version", [0, 11, 18])
def test_other_versions_are_refused(version: int) -> None:
    frame = struct.pack(">ib", 1, 0) + bytes(60)
    with pytest.raises(ProtocolViolation, match=f"version {version}"):
        decode_fetch_answer(version, memoryview(frame))


def test_an_unknown_error_code_is_an_error() -> None:
    frame = b"".join(bytes(part) for part in encode_fetch_response(15, 1, 0, 999, 7, []))  # type: ignore[arg-type]
    assert decode_fetch_answer(15, memoryview(frame)).error_code is ErrorCode.UNKNOWN_SERVER_ERROR
