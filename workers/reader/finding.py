"""A message as it is kept: bounded, decoded in the chosen format."""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from console.rules.records.decoding import part_of
from console.rules.records.progress import Found, Header, Search

HEADERS_MAX = 50
HEADER_CHARS_MAX = 1000
NAME_CHARS_MAX = 200
_TYPES: dict[int, Literal["create", "append"]] = {TIMESTAMP_CREATE_TIME: "create", TIMESTAMP_LOG_APPEND_TIME: "append"}


def found_of(message: Message, search: Search) -> Found:
    query = search.query
    kind, at_ms = message.timestamp()
    headers: list[Any] = list(message.headers() or ())
    return Found(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=at_ms if kind in _TYPES else None,
        timestamp_type=_TYPES.get(kind),
        key=part_of(message.key(), query.key, search.chars),
        value=part_of(message.value(), query.value, search.chars),
        headers=[Header(name[:NAME_CHARS_MAX], part_of(raw, "auto", HEADER_CHARS_MAX)) for name, raw in headers[:HEADERS_MAX]],
        headers_total=len(headers),
        leader_epoch=message.leader_epoch(),
    )
