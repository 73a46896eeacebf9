"""A group's partition: Java's hash of its id, so that every client and tool agrees."""

import pytest

from broker_core.hashing import java_hash, kafka_abs, partition_for

INT_MIN = -(2**31)


@pytest.mark.spec("G2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("test-group", 627841412),
        ("hello world", 1794106052),
        ("polygenelubricants", INT_MIN),
        ("é", 233),
        ("\U0001f600", 1772899),
    ],
)
def test_java_hash(text, expected):
    """Values of `String.hashCode`, surrogate pairs included."""
    assert java_hash(text) == expected


@pytest.mark.spec("G2")
def test_abs_of_the_least_int_is_zero():
    """Its negation does not fit into 32 bits; Kafka counts it as 0, not as a negative partition."""
    assert kafka_abs(INT_MIN) == 0
    assert partition_for("polygenelubricants", 50) == 0


def test_partition_for_is_in_range():
    assert partition_for("a", 50) == 97 % 50
    assert all(0 <= partition_for(f"group-{index}", 50) < 50 for index in range(500))
