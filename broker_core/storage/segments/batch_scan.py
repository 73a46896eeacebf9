"""Walking over the batches of a log file by their headers, without reading records.

Works on record batches (magic 2) and on the older message sets (magic 0 and 1), whose first 17 bytes agree:
offset (int64; magic 0 and 1: of the last message inside), size of the rest (int32), 4 bytes, magic (int8).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

from broker_core.seams import DiskFile

PREFIX_BYTES = 12
HEADER_BYTES = 61
LEGACY_HEADER_BYTES = 26
CHUNK_BYTES = 4096
_PREFIX = struct.Struct(">qi4xb")
_DELTA = struct.Struct(">i")
_TIMESTAMP = struct.Struct(">q")


class Span(Struct, frozen=True):
    """One batch in a log file; `max_timestamp` is -1 where there is none (magic 0)."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    magic: int

    @property
    def end(self) -> int:
        return self.position + self.size_bytes


def span_at(data: bytes | memoryview, start: int, position: int) -> Span | None:
    """The batch whose header begins at `data[start]` and in the file at `position`; None if the header is not whole or makes no sense."""
    available = len(data) - start
    if available < LEGACY_HEADER_BYTES:
        return None
    offset, rest, magic = _PREFIX.unpack_from(data, start)
    size_bytes = PREFIX_BYTES + rest
    if magic >= 2:
        if available < HEADER_BYTES or size_bytes < HEADER_BYTES:
            return None
        delta = _DELTA.unpack_from(data, start + 23)[0]
        return Span(position, size_bytes, offset, offset + delta, _TIMESTAMP.unpack_from(data, start + 35)[0], magic)
    if magic < 0 or size_bytes < LEGACY_HEADER_BYTES:
        return None
    timestamp = _TIMESTAMP.unpack_from(data, start + 18)[0] if magic == 1 else -1
    return Span(position, size_bytes, offset, offset, timestamp, magic)


def spans(file: DiskFile, position: int, end: int, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Span]:
    """The whole batches in [position, end), in order; stops at the first that is torn or makes no sense."""
    while position < end:
        chunk_start = position
        chunk = file.pread(chunk_start, min(chunk_bytes, end - chunk_start))
        while True:
            span = span_at(chunk, position - chunk_start, position)
            if span is None or span.end > end:
                break
            yield span
            position = span.end
            if position - chunk_start + HEADER_BYTES > len(chunk):
                break
        if position == chunk_start:
            return
