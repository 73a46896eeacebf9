"""Java's string hash, by which Kafka divides groups among partitions (spec G2) and partitions among fetchers (spec R7)."""

from __future__ import annotations

_INT_BITS = 32
_INT_MIN = -(1 << 31)


def java_hash(text: str) -> int:
    """`String.hashCode`: a signed 32-bit number over the UTF-16 code units of `text`."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8) + units[index + 1]) & 0xFFFFFFFF
    return value - (1 << _INT_BITS) if value >> (_INT_BITS - 1) else value


def kafka_abs(number: int) -> int:
    """The absolute value; the least 32-bit number, whose negation does not fit, counts as 0."""
    return 0 if number == _INT_MIN else abs(number)


def partition_for(key: str, partition_count: int) -> int:
    """The partition of an internal topic that holds `key` (a group or a transactional id)."""
    return kafka_abs(java_hash(key)) % partition_count
