"""Keys and values in a schema registry's format, opened: what they hold as JSON, or why that cannot be told."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from confluent_kafka import Message
from msgspec import Struct

from console.gateway.schema_registry import Schema, SchemaRegistry, Unavailable
from console.rules.records.masking import Stored
from console.rules.records.schemas import SchemaName, likeliest, unframed
from workers.decoding.frames import Answer
from workers.reader.decoder import Decoder
from workers.reader.wrapped import Wrapped

SCHEMAS_MAX = 200
"""Of one search; bytes that only look like the format name many."""
AWAY_S = 10.0
"""For so long a registry that did not answer is not asked again."""
JSON_BYTES_MAX = 8 * 1024 * 1024


class Opened(Struct, frozen=True, kw_only=True):
    """`shown`: JSON where there is a `schema`, else the bytes as they are; `note` says why they are not decoded, and `stored` what
    masking has to know beside what is shown."""

    shown: bytes
    schema: SchemaName | None = None
    note: str = ""
    stored: Stored | None = None


class Schemas:
    """Those of one search, each asked for once. `registry` is None where none is set, or why it cannot be used."""

    def __init__(self, registry: SchemaRegistry | str | None, topic: str, decoder: Decoder) -> None:
        self._registry, self._topic, self._decoder = registry, topic, decoder
        self._known: dict[int, Schema | Unavailable] = {}
        self._away: tuple[float, Unavailable] | None = None

    @property
    def are_there(self) -> bool:
        return self._registry is not None

    def open(self, raw: bytes, part: str, form: str) -> Opened:
        framed = unframed(raw)
        if self._registry is None or framed is None:
            why = "no schema registry is set for this cluster" if self._registry is None else "it names no schema: its first byte is not 0"
            return Opened(shown=raw, note=why if form == "registry" else "")
        number, body = framed
        found = self._schema(number)
        if isinstance(found, Unavailable):
            return self._closed(raw, f"schema {number} could not be had: {found.message}", is_missing=found.is_missing)
        return self._opened(raw, found, body, part)

    def _opened(self, raw: bytes, schema: Schema, body: bytes, part: str) -> Opened:
        answer = _json(body) if schema.type == "JSON" else self._decoder.decode(schema, body)
        if answer.error:
            return self._closed(raw, f"schema {schema.id} {answer.error}")
        subject, version = likeliest(list(schema.subjects), self._topic, part)
        name = SchemaName(
            id=schema.id, type=schema.type, subject=subject, version=version, subjects=len(schema.subjects), message=answer.message
        )
        return Opened(shown=answer.text, schema=name, stored=Stored(raw, encoded=answer.encoded))

    def _closed(self, raw: bytes, why: str, *, is_missing: bool = False) -> Opened:
        """What no schema is registered for may be bytes of any kind; of all else a rule cannot know what they hold."""
        return Opened(shown=raw, note=why, stored=None if is_missing else Stored(raw, unread=True))

    def _schema(self, number: int) -> Schema | Unavailable:
        if number in self._known:
            return self._known[number]
        if self._away is not None and time.monotonic() < self._away[0]:
            return self._away[1]
        if len(self._known) >= SCHEMAS_MAX:
            return Unavailable(f"these records name more than {SCHEMAS_MAX} schemas")
        found = self._had(number)
        if not isinstance(found, Unavailable) or found.is_missing or found.is_of_schema:
            self._known[number] = found
        else:
            self._away = time.monotonic() + AWAY_S, found
        return found

    def _had(self, number: int) -> Schema | Unavailable:
        if not isinstance(self._registry, SchemaRegistry):
            return Unavailable(self._registry or "none is set")
        try:
            return self._registry.schema(number)
        except Unavailable as error:
            return error

    def close(self) -> None:
        self._decoder.close()


def _json(body: bytes) -> Answer:
    if len(body) > JSON_BYTES_MAX:
        return Answer(error="names JSON that is too large to be shown")
    try:
        msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Answer(error=f"does not fit: not JSON: {str(error)[:100]}")
    return Answer(text=body)


class Decoded(Wrapped):
    """A message with its key and value opened when they are first asked for."""

    def __init__(self, message: Message, open_part: Callable[[str, bytes], Opened | None]) -> None:
        super().__init__(message)
        self._raw, self._open = message, open_part
        self._parts: dict[str, Opened | None] = {}

    def opened(self, part: str) -> Opened | None:
        if part not in self._parts:
            raw = self.stored(part)
            self._parts[part] = None if raw is None else self._open(part, raw)
        return self._parts[part]

    def stored(self, part: str) -> bytes | None:
        return self._raw.key() if part == "key" else self._raw.value()  # type: ignore[return-value, unused-ignore]

    def _seen(self, part: str) -> bytes | None:
        found = self.opened(part)
        return self.stored(part) if found is None else found.shown

    def key(self) -> bytes | None:
        return self._seen("key")

    def value(self) -> bytes | None:
        return self._seen("value")
