"""The checksum in the header of an lz4 frame, which messages of magic 0 carry wrongly computed.

A frame starts with four bytes of magic, FLG, BD, eight bytes of content size if FLG bit 3 is set, four of dictionary id if
bit 0 is, and one byte of checksum: bits 8–15 of xxHash32 over what lies between magic and checksum. Kafka before 0.10 took
the magic into that hash, and its clients expect magic 0 to stay so (KAFKA-3160).
"""

from __future__ import annotations

import struct

from broker_core.errors import CorruptData

_PRIMES = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
_MASK = 0xFFFFFFFF
_MAGIC_BYTES = 4
_CONTENT_SIZE_BIT = 0x08
_DICTIONARY_BIT = 0x01


def mend_checksum(frame: bytes) -> bytes:
    """The frame with the checksum that the lz4 format asks for."""
    end = _descriptor_end(frame)
    return frame[:end] + _checksum(frame[_MAGIC_BYTES:end]) + frame[end + 1 :]


def age_checksum(frame: bytes) -> bytes:
    """The frame as magic 0 has it; its header must be one without content size and dictionary."""
    end = _descriptor_end(frame)
    return frame[:end] + _checksum(frame[:end]) + frame[end + 1 :]


def _descriptor_end(frame: bytes) -> int:
    flags = frame[_MAGIC_BYTES] if len(frame) > _MAGIC_BYTES else 0
    end = _MAGIC_BYTES + 2 + (8 if flags & _CONTENT_SIZE_BIT else 0) + (4 if flags & _DICTIONARY_BIT else 0)
    if len(frame) <= end:
        raise CorruptData(f"an lz4 frame of {len(frame)} bytes has no whole header")
    return end


def _checksum(descriptor: bytes) -> bytes:
    return bytes(((short_xxh32(descriptor) >> 8) & 0xFF,))


def short_xxh32(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes."""
    assert len(data) < 16
    value = (_PRIMES[4] + len(data)) & _MASK
    words = len(data) // 4
    for word in struct.unpack_from(f"<{words}I", data):
        value = _rotate(value + word * _PRIMES[2], 17) * _PRIMES[3] & _MASK
    for byte in data[words * 4 :]:
        value = _rotate(value + byte * _PRIMES[4], 11) * _PRIMES[0] & _MASK
    value = (value ^ value >> 15) * _PRIMES[1] & _MASK
    value = (value ^ value >> 13) * _PRIMES[2] & _MASK
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK
