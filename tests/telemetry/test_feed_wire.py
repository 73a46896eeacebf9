"""The state feed's messages: limits and hostile bytes."""

from __future__ import annotations

import json

import pytest

from broker_core.contract.feed import Answer, Cursor, Refusal
from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation
from broker_core.telemetry.feed_wire import (
    MAX_BYTES,
    MAX_WAIT_MS,
    MIN_BYTES,
    MIN_INTERVAL_MS,
    REQUEST_BYTES_MAX,
    encode_response_frame,
    parse_request,
    parse_response_frame,
)
from tests.support.feed_rows import says


def test_numbers_are_brought_into_their_limits() -> None:
    low = parse_request(json.dumps({"min_interval_ms": 0, "max_wait_ms": -5, "max_bytes": 1}).encode())
    assert (low.min_interval_ms, low.max_wait_ms, low.max_bytes) == (MIN_INTERVAL_MS, 0, MIN_BYTES)
    high = parse_request(json.dumps({"min_interval_ms": 10**400, "max_wait_ms": 10**9, "max_bytes": 10**12}).encode())
    assert (high.min_interval_ms, high.max_wait_ms, high.max_bytes) == (MAX_WAIT_MS, MAX_WAIT_MS, MAX_BYTES)
    assert (low.cursor, low.topics, low.broker_epoch) == (None, None, -1)


def test_a_cursor_travels_as_a_list() -> None:
    cursor = Cursor("w", 5, 6, ("p", "t", 1))
    assert parse_request(json.dumps({"cursor": list(cursor), "topics": ["t"]}).encode()).cursor == cursor


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff", b" " * (REQUEST_BYTES_MAX + 1)])
def test_bytes_that_are_no_json_close_the_connection(body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        parse_request(body)


@pytest.mark.parametrize(
    "value",
    [[], 5, {"cursor": 5}, {"cursor": [1]}, {"topics": [1]}, {"topics": ["t"] * 2000}, {"max_wait_ms": "soon"}, {"max_bytes": 1e999}],
)
def test_json_that_is_no_request_is_told(value: object) -> None:
    with pytest.raises(KafkaError) as caught:
        parse_request(json.dumps(value).encode())
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_response_frames() -> None:
    answer = Answer(cursor=Cursor("w", 1, 2), kind="delta", now_ms=5, broker=says(1), removed_groups=["größer"])
    frame = encode_response_frame(77, answer)
    assert frame[:4] == (77).to_bytes(4, "big")
    assert parse_response_frame(frame) == answer
    with pytest.raises(KafkaError) as caught:
        parse_response_frame(encode_response_frame(77, Refusal(int(ErrorCode.THROTTLING_QUOTA_EXCEEDED), "too many")))
    assert (caught.value.code, str(caught.value)) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, "too many")
    for wrong in (frame[:4], frame[:-1], b"\0\0\0\1[]", b"\0\0\0\1{}", b'\0\0\0\1{"error":0}'):
        with pytest.raises(ProtocolViolation):
            parse_response_frame(wrong)
