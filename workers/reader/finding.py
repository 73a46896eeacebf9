"""A message as it is kept: bounded, decoded in the chosen format."""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from msgspec.structs import replace

from console.rules.records.decoding import Part, part_of
from console.rules.records.progress import Found, Header, Search
from workers.reader.veiled import Seen, Veiled

HEADERS_MAX = 50
HEADER_CHARS_MAX = 1000
NAME_CHARS_MAX = 200
_TYPES: dict[int, Literal["create", "append"]] = {TIMESTAMP_CREATE_TIME: "create", TIMESTAMP_LOG_APPEND_TIME: "append"}


def found_of(message: Seen, search: Search) -> Found:
    query = search.query
    kind, at_ms = message.timestamp()
    headers: list[Any] = list(message.headers() or ())
    masked = message.masked if isinstance(message, Veiled) else frozenset[str | int]()

    def part(raw: bytes | None, wanted: str, chars: int, name: str | int) -> Part | None:
        found = part_of(raw, wanted, chars)
        return replace(found, masked=True, size=None) if found is not None and name in masked else found

    return Found(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=at_ms if kind in _TYPES else None,
        timestamp_type=_TYPES.get(kind),
        key=part(message.key(), query.key, search.chars, "key"),
        value=part(message.value(), query.value, search.chars, "value"),
        headers=[
            Header(name[:NAME_CHARS_MAX], part(raw, "auto", HEADER_CHARS_MAX, n)) for n, (name, raw) in enumerate(headers[:HEADERS_MAX])
        ],
        headers_total=len(headers),
        leader_epoch=message.leader_epoch(),
    )
