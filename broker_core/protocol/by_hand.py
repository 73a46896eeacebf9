"""What the messages that are read by hand have in common: pieces of flexible versions, and a way out.

What every message of its kind has is read by hand. `RareError` is raised where one has something else in it, or bytes that are no message:
that is the compiled codec's to read, or to refuse and to say what is wrong.
"""

from __future__ import annotations

import struct
from uuid import UUID

from broker_core.errors import ProtocolViolation
from broker_core.protocol.reader_values import MAX_STRING_BYTES, to_uuid
from broker_core.protocol.varint import read_unsigned

_UUID_BYTES = 16
_ONE_BYTE = 0x7F


class RareError(Exception):
    """The message has something that is not read by hand."""


UNREADABLE = (RareError, ProtocolViolation, struct.error, IndexError, UnicodeDecodeError)
"""What reading by hand raises of a message that is the codec's."""


def read_count(frame: memoryview, position: int, most: int) -> tuple[int, int]:
    """Of a list or a text that must be there, with at most so many elements or bytes."""
    found = frame[position]
    position += 1
    if found > _ONE_BYTE:
        found, position = read_unsigned(frame, position - 1)
    if not 0 < found <= most + 1:
        raise RareError
    return found - 1, position


def read_text(frame: memoryview, position: int) -> tuple[str, int]:
    length, position = read_count(frame, position, MAX_STRING_BYTES)
    return text_of(frame, position, length)


def text_of(frame: memoryview, position: int, length: int) -> tuple[str, int]:
    """One whose length was read already."""
    end = position + length
    if not 0 <= length <= MAX_STRING_BYTES or end > len(frame):
        raise RareError
    return str(frame[position:end], "utf-8"), end


def read_topic_id(frame: memoryview, position: int) -> tuple[UUID | None, int]:
    end = position + _UUID_BYTES
    raw = bytes(frame[position:end])
    if len(raw) < _UUID_BYTES:
        raise RareError
    return to_uuid(raw), end


def untagged(frame: memoryview, position: int) -> int:
    """Behind a section of tagged fields that is empty."""
    if frame[position]:
        raise RareError
    return position + 1
