"""Variable-length integers of the Kafka protocol: 7 bits a byte, least significant first."""

from __future__ import annotations

from broker_core.errors import ProtocolViolation

Buffer = bytes | bytearray | memoryview

_MAX_UNSIGNED = (1 << 32) - 1


def write_unsigned(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def unsigned(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    write_unsigned(out, value)
    return bytes(out)


def read_unsigned(buffer: Buffer, position: int) -> tuple[int, int]:
    """(value, next position); at most five bytes and 32 bits. `IndexError` past the end of the buffer."""
    byte = buffer[position]
    position += 1
    if byte < 0x80:
        return byte, position
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _MAX_UNSIGNED:
                break
            return value, position
    raise ProtocolViolation("a variable-length integer exceeds 32 bits")
