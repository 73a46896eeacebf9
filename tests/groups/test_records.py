"""Records of `__consumer_offsets`, byte for byte in Kafka's formats."""

import pytest

from broker_core.errors import CorruptData
from broker_core.groups.records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetCommit,
    OffsetKey,
    UnknownKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from broker_core.groups.subscription import subscribed_topics
from broker_core.model import TopicPartition

MEMBER = MemberValue("c-1", None, "c", "/127.0.0.1", 60_000, 10_000, b"\x00\x01", b"\x02")
VALUE = GroupValue("consumer", 3, "range", "c-1", 1_700_000_000_000, (MEMBER,))


@pytest.mark.spec("G3")
def test_offset_key_bytes():
    """Version 1, group, topic, partition."""
    data = encode_offset_key("grp", TopicPartition("t", 7))
    assert data == bytes.fromhex("0001 0003 677270 0001 74 00000007")
    assert decode_key(data) == OffsetKey("grp", TopicPartition("t", 7))
    assert decode_key(b"\x00\x00" + data[2:]) == OffsetKey("grp", TopicPartition("t", 7))


@pytest.mark.spec("G3")
def test_group_key_bytes():
    """Version 2, group."""
    assert encode_group_key("grp") == bytes.fromhex("0002 0003 677270")
    assert decode_key(encode_group_key("grp")) == GroupKey("grp")


def test_keys_of_later_releases_are_left_alone():
    assert decode_key(bytes.fromhex("0003 0003 677270")) == UnknownKey(3)


@pytest.mark.spec("G3")
def test_offset_value_bytes():
    """Version 3 is offset, leader epoch, metadata, commit time; an explicit expiry makes it version 1."""
    plain = OffsetCommit(42, 5, "me", 1_000)
    assert encode_offset_value(plain) == bytes.fromhex("0003 000000000000002a 00000005 0002 6d65 00000000000003e8")
    expiring = OffsetCommit(42, -1, "me", 1_000, 2_000)
    assert encode_offset_value(expiring) == bytes.fromhex("0001 000000000000002a 0002 6d65 00000000000003e8 00000000000007d0")
    assert decode_offset_value(encode_offset_value(plain)) == plain
    assert decode_offset_value(encode_offset_value(expiring)) == expiring


@pytest.mark.spec("G3")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("0000 000000000000002a 0002 6d65 00000000000003e8", OffsetCommit(42, -1, "me", 1_000)),
        ("0001 000000000000002a 0002 6d65 00000000000003e8 ffffffffffffffff", OffsetCommit(42, -1, "me", 1_000)),
        ("0002 000000000000002a 0002 6d65 00000000000003e8", OffsetCommit(42, -1, "me", 1_000)),
        ("0004 000000000000002a 00000005 03 6d65 00000000000003e8 01 00 02 ffff", OffsetCommit(42, 5, "me", 1_000)),
    ],
)
def test_offset_values_of_other_versions(data, expected):
    """0 to 2 were written by older brokers, 4 (flexible, with a tagged field here) by later ones."""
    assert decode_offset_value(bytes.fromhex(data)) == expected


@pytest.mark.spec("G3")
def test_group_value_bytes():
    """Version 3, as 3.9 writes it."""
    expected = (
        "0003 0008 636f6e73756d6572 00000003 0005 72616e6765 0003 632d31 0000018bcfe56800 00000001"
        "0003 632d31 ffff 0001 63 000a 2f3132372e302e302e31 0000ea60 00002710 00000002 0001 00000001 02"
    )
    assert encode_group_value(VALUE) == bytes.fromhex(expected)
    assert decode_group_value(encode_group_value(VALUE)) == VALUE


def test_empty_group_value():
    empty = GroupValue("consumer", 4, None, None, 5, ())
    assert encode_group_value(empty) == bytes.fromhex("0003 0008 636f6e73756d6572 00000004 ffff ffff 0000000000000005 00000000")
    assert decode_group_value(encode_group_value(empty)) == empty


@pytest.mark.spec("G3")
@pytest.mark.parametrize(
    "data",
    [
        "0000 0001 63 00000003 0001 72 0001 61 00000001 0001 61 0000 0000 00002710 00000000 00000000",
        "0001 0001 63 00000003 0001 72 0001 61 00000001 0001 61 0000 0000 00002710 00002710 00000000 00000000",
        "0002 0001 63 00000003 0001 72 0001 61 ffffffffffffffff 00000001 0001 61 0000 0000 00002710 00002710 00000000 00000000",
        "0004 02 63 00000003 02 72 02 61 ffffffffffffffff 02 02 61 00 01 01 00002710 00002710 01 01 00 00",
    ],
)
def test_group_values_of_other_versions(data):
    """Before version 1 the session timeout was the rebalance timeout, too; before 2 nobody wrote since when a group was empty."""
    member = MemberValue("a", None, "", "", 10_000, 10_000, b"", b"")
    assert decode_group_value(bytes.fromhex(data)) == GroupValue("c", 3, "r", "a", None, (member,))


@pytest.mark.parametrize("cut", range(2, len(encode_group_value(VALUE)), 7))
def test_truncated_values_are_corrupt(cut):
    with pytest.raises(CorruptData):
        decode_group_value(encode_group_value(VALUE)[:cut])


@pytest.mark.parametrize(
    "data",
    [
        "0009 00",
        "0003 0001 63 00000003 ffff ffff 0000000000000005 7fffffff",
        "0003 ffff 00000003 ffff ffff 0000000000000005 00000000",
        "0003 0001 ff 00000003 ffff ffff 0000000000000005 00000000",
        "0004 ffffffffff",
    ],
    ids=["version", "huge array", "null string", "not UTF-8", "endless varint"],
)
def test_nonsense_is_corrupt(data):
    with pytest.raises(CorruptData):
        decode_group_value(bytes.fromhex(data))


def test_a_member_named_twice_is_corrupt():
    twice = GroupValue("consumer", 3, "range", "c-1", 1, (MEMBER, MEMBER))
    with pytest.raises(CorruptData, match="twice"):
        decode_group_value(encode_group_value(twice))


def test_subscribed_topics_of_all_versions_of_the_consumer_protocol():
    """The topics come first in every version; what follows them is not needed."""
    version_0 = bytes.fromhex("0000 00000002 0001 61 0001 62 ffffffff")
    version_3 = bytes.fromhex("0003 00000001 0001 63 ffffffff 00000000 00000001 ffff")
    assert subscribed_topics([version_0, version_3]) == {"a", "b", "c"}
    assert subscribed_topics([version_0, b"\x00"]) is None
    assert subscribed_topics([]) == frozenset()
