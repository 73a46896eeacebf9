"""The state feed's messages: a vendor key of the Kafka protocol that tells what a broker knows, as it changes.

Key 32000, version 0, on an ordinary listener; not in ApiVersions. Request header v1 (key, version, correlation id, client
id), response header v0 (correlation id). The rest of the frame is one UTF-8 JSON object without further framing.

Request
    cursor           what the last answer gave, or null at first; opaque
    broker_epoch     the epoch the last answer came from, or -1; another one makes the cursor stale
    topics           names to tell of, or null for all (at most 1000); groups and the broker are always told
    min_interval_ms  least time between two answers with changes on one connection, 50 … 30000
    max_wait_ms      an answer comes after this time at the latest, changed or not; at most 30000
    max_bytes        most bytes of rows in an answer (65536 … 8 MiB); one row is sent whatever its size

Response: `contract.feed.Answer`, or with an error `Refusal`.

All values are absolute. A cursor that is stale (broker restarted, nobody watched for a while, too much changed since) gets a full
answer in pages.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from broker_core.contract.feed import Answer, Cursor, Refusal
from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation

STATE_FEED_KEY = 32_000
STATE_FEED_VERSION = 0
REQUEST_BYTES_MAX = 256 * 1024
TOPICS_MAX = 1000
MIN_INTERVAL_MS = 50
MAX_WAIT_MS = 30_000
MIN_BYTES, MAX_BYTES = 64 * 1024, 8 * 1024 * 1024
_CORRELATION = struct.Struct(">i")
_ANSWER, _REFUSAL = msgspec.json.Decoder(Answer), msgspec.json.Decoder(Refusal)


class FeedRequest(Struct, frozen=True):
    """One request, checked and within its limits."""

    cursor: Cursor | None
    broker_epoch: int
    topics: frozenset[str] | None
    min_interval_ms: int
    max_wait_ms: int
    max_bytes: int = 1024 * 1024


def parse_request(body: bytes | memoryview) -> FeedRequest:
    """`ProtocolViolation` for what is not JSON, INVALID_REQUEST for JSON that is no request; numbers are brought into their limits."""
    if len(body) > REQUEST_BYTES_MAX:
        raise ProtocolViolation(f"a state feed request of {len(body)} bytes is too large")
    try:
        value = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise ProtocolViolation("a state feed request is not JSON") from None
    try:
        return _request(value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the state feed request is malformed") from None


def _request(value: Mapping[str, Any]) -> FeedRequest:
    topics = value.get("topics")
    if topics is not None and (len(topics) > TOPICS_MAX or not all(isinstance(topic, str) for topic in topics)):
        raise ValueError("topics")
    return FeedRequest(
        _cursor(value.get("cursor")),
        int(value.get("broker_epoch", -1)),
        None if topics is None else frozenset(topics),
        min(MAX_WAIT_MS, max(MIN_INTERVAL_MS, int(value.get("min_interval_ms", 100)))),
        min(MAX_WAIT_MS, max(0, int(value.get("max_wait_ms", 5000)))),
        min(MAX_BYTES, max(MIN_BYTES, int(value.get("max_bytes", 1024 * 1024)))),
    )


def _cursor(value: Any) -> Cursor | None:
    if value is None:
        return None
    watch, sequence, event, after = value
    return Cursor(str(watch), int(sequence), int(event), None if after is None else (str(after[0]), str(after[1]), int(after[2])))


def encode_response_frame(correlation_id: int, payload: Answer | Refusal) -> bytes:
    """Header and JSON."""
    return _CORRELATION.pack(correlation_id) + msgspec.json.encode(payload)


def parse_response_frame(frame: bytes | memoryview) -> Answer:
    """The answer in a response frame; `KafkaError` when it is a refusal, `ProtocolViolation` when it is neither."""
    body = frame[_CORRELATION.size :]
    try:
        return _ANSWER.decode(body)
    except (ValueError, RecursionError) as wrong:
        raise _refused(body) or ProtocolViolation(f"a state feed response is no answer: {wrong}") from None


def _refused(body: bytes | memoryview) -> KafkaError | None:
    try:
        refusal = _REFUSAL.decode(body)
        return KafkaError(ErrorCode(refusal.error), refusal.message) if refusal.error else None
    except (ValueError, RecursionError):
        return None
