"""Reading and writing the primitive types of records in internal topics, in both of Kafka's encodings."""

from __future__ import annotations

import struct

from broker_core.errors import CorruptData


def put_string(out: bytearray, text: str) -> None:
    data = text.encode()
    out += struct.pack(">h", len(data))
    out += data


def put_nullable(out: bytearray, text: str | None) -> None:
    if text is None:
        out += b"\xff\xff"
    else:
        put_string(out, text)


def put_bytes(out: bytearray, data: bytes) -> None:
    out += struct.pack(">i", len(data))
    out += data


class Reader:
    """Reads one key or value; bytes that end early, or a length that makes no sense, are `CorruptData`.

    With `flexible` set, lengths are unsigned varints plus one and structures end in tagged fields.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self.flexible = False

    def int8(self) -> int:
        return int.from_bytes(self._take(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise CorruptData(f"null instead of a string before byte {self._position}")
        return text

    def nullable_string(self) -> str | None:
        length = self._varint() - 1 if self.flexible else self.int16()
        if length < 0:
            return None
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise CorruptData(f"a string that is not UTF-8 before byte {self._position}") from error

    def byte_string(self) -> bytes:
        """A byte string; null reads as empty."""
        length = self._varint() - 1 if self.flexible else self.int32()
        return self._take(max(length, 0))

    def array_length(self) -> int:
        """How many elements follow; never more than bytes are left."""
        length = self._varint() - 1 if self.flexible else self.int32()
        if length > len(self._data) - self._position:
            raise CorruptData(f"an array of {length} elements before byte {self._position} of {len(self._data)}")
        return max(length, 0)

    def tagged_fields(self) -> None:
        """Skips the tagged fields that end a flexible structure."""
        if self.flexible:
            for _ in range(self._varint()):
                self._varint()
                self._take(self._varint())

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise CorruptData(f"a varint of more than five bytes before byte {self._position}")

    def _take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise CorruptData(f"{count} bytes wanted at byte {self._position} of {len(self._data)}")
        data = self._data[self._position : end]
        self._position = end
        return data
