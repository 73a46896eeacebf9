"""A message as it is kept: bounded, decoded in the chosen format."""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from msgspec.structs import replace

from console.rules.records.decoding import Part, part_of
from console.rules.records.masking import RAW
from console.rules.records.progress import Found, Header, Search
from workers.reader.opened import Decoded
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

    def of_record(name: str, raw: bytes | None, wanted: str) -> Part | None:
        opened = message.opened(name) if isinstance(message, Decoded | Veiled) else None
        if opened is None or (name in masked and (raw == RAW or opened.schema is None)):
            return part(raw, "auto" if wanted == "registry" else wanted, search.chars, name)
        if opened.schema is None:
            found = part(raw, "auto" if wanted == "registry" else wanted, search.chars, name)
            return found and replace(found, note=opened.note or found.note)
        found = part(raw, "json", search.chars, name)
        size = None if name in masked or opened.stored is None else len(opened.stored.raw)
        return found and replace(found, format=opened.schema.type.lower(), size=size, schema=opened.schema)

    def part(raw: bytes | None, wanted: str, chars: int, name: str | int) -> Part | None:
        found = part_of(raw, wanted, chars)
        return replace(found, masked=True, size=None) if found is not None and name in masked else found

    return Found(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=at_ms if kind in _TYPES else None,
        timestamp_type=_TYPES.get(kind),
        key=of_record("key", message.key(), query.key),
        value=of_record("value", message.value(), query.value),
        headers=[
            Header(name[:NAME_CHARS_MAX], part(raw, "auto", HEADER_CHARS_MAX, n)) for n, (name, raw) in enumerate(headers[:HEADERS_MAX])
        ],
        headers_total=len(headers),
        leader_epoch=message.leader_epoch(),
    )
