"""Avro's binary encoding as JSON, by fastavro."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fastavro
import msgspec

Shown = tuple[bytes, str, bool]
"""JSON, the message's name (Protobuf's alone), and whether bytes of it are shown otherwise than as they are."""
FIELD = "value"


def reader(text: str, references: Sequence[tuple[str, str]]) -> Callable[[bytes], Shown]:
    """The schema is put into a record of one field, which adds no byte: so a union or the name of another schema can be read by it too."""
    named: dict[str, Any] = {}
    for _, referred in references:
        fastavro.parse_schema(msgspec.json.decode(referred), named_schemas=named)
    whole = {"type": "record", "name": "HighwaterValue", "fields": [{"name": FIELD, "type": msgspec.json.decode(text)}]}
    schema = fastavro.parse_schema(whole, named_schemas=named)

    def read(body: bytes) -> Shown:
        stream = io.BytesIO(body)
        found: Any = fastavro.schemaless_reader(stream, schema, None)
        if left := len(body) - stream.tell():
            raise ValueError(f"{left} bytes are left over: it was written by another schema")
        plainer = Plainer()
        return msgspec.json.encode(plainer.plain(found[FIELD])), "", plainer.encoded

    return read


class Plainer:
    """Values as JSON has them: bytes as text where they are UTF-8, else in hexadecimal, of which `encoded` tells."""

    encoded = False

    def plain(self, value: Any) -> Any:
        match value:
            case Mapping():
                return {str(name): self.plain(inner) for name, inner in value.items()}
            case list() | tuple():
                return [self.plain(inner) for inner in value]
            case bytes():
                return self._text(value)
            case float() if not math.isfinite(value):
                return str(value)
        return value

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.encoded = True
            return f"0x{raw.hex()}"
