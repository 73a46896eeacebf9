"""Variable-length integers as Kafka's Java code reads them: seven bits a byte, the lowest first, in fields of 32 or 64 bits.

What goes beyond the field is dropped (the fifth byte of 32 bits counts by its low four bits); a byte too many is an error.
"""

from __future__ import annotations

from broker_core.errors import CorruptData

_BYTES_32, _BYTES_64 = 5, 10


def varint32(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """(value as it stands, next position); `IndexError` past the end, `CorruptData` beyond five bytes."""
    return _varint(data, position, _BYTES_32, 0xFFFF_FFFF)


def varint64(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """The same with at most ten bytes."""
    return _varint(data, position, _BYTES_64, 0xFFFF_FFFF_FFFF_FFFF)


def unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _varint(data: bytes | bytearray, position: int, most_bytes: int, mask: int) -> tuple[int, int]:
    value = 0
    for place in range(most_bytes):
        byte = data[position + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & mask, position + place + 1
    raise CorruptData(f"a variable-length integer at {position} has more than {most_bytes} bytes")
