"""Reading groups back from the log: last record wins, tombstones remove, transactions count when committed."""

import pytest

from broker_core.groups.messages import Protocol
from broker_core.groups.records import (
    GroupValue,
    MemberValue,
    OffsetCommit,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from broker_core.groups.replay import Replay
from broker_core.groups.states import GroupState
from broker_core.model import TopicPartition
from tests.support.group_driver import GroupDriver

pytestmark = pytest.mark.spec("G3")

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SUBSCRIPTION = bytes.fromhex("0000 00000001 0001 74 ffffffff")
MEMBERS = tuple(MemberValue(f"m{n}", f"i{n}", "c", "/h", 60_000, 10_000, SUBSCRIPTION, b"a%d" % n) for n in (1, 2))


def offset(tp: TopicPartition, number: int | None, group_id: str = "g") -> tuple[bytes, bytes | None]:
    return encode_offset_key(group_id, tp), None if number is None else encode_offset_value(OffsetCommit(number, -1, "", 0))


def group_record(value: GroupValue | None) -> tuple[bytes, bytes | None]:
    return encode_group_key("g"), None if value is None else encode_group_value(value)


def offset_of(replay: Replay, tp: TopicPartition) -> int | None:
    groups = {group.group_id: group for group in replay.build(0)}
    commit = groups["g"].offsets.get(tp) if "g" in groups else None
    return None if commit is None else commit.offset


def test_last_commit_wins_and_tombstones_remove():
    replay = Replay()
    replay.batch(0, None, [offset(T0, 1), offset(T1, 1)])
    replay.batch(2, None, [offset(T0, 2)])
    replay.batch(3, None, [offset(T1, None)])
    assert (offset_of(replay, T0), offset_of(replay, T1)) == (2, None)
    replay.batch(4, None, [offset(T0, None)])
    assert not list(replay.build(0))


@pytest.mark.spec("G2")
def test_group_comes_back_stable_with_its_members():
    """The generation goes on at the new coordinator without a rebalance."""
    replay = Replay()
    replay.batch(0, None, [group_record(GroupValue("consumer", 4, "range", "m2", 77, MEMBERS))])
    (group,) = replay.build(1000)
    assert (group.state, group.generation, group.members.leader, group.state_ms) == (GroupState.STABLE, 4, "m2", 77)
    assert group.members.static_id("i1") == "m1"
    assert group.members["m1"].assignment == b"a1"
    assert group.members["m1"].protocols == (Protocol("range", SUBSCRIPTION),)
    assert group.subscribed == {"t"}


def test_what_a_group_stores_is_what_comes_back():
    driver = GroupDriver()
    driver.stable(3)
    driver.join("l", "m1")
    for member_id in ("m2", "m3"):
        driver.join(f"again-{member_id}", member_id)
    driver.sync("s", "m1", {"m1": b"1", "m2": b"2", "m3": b"3"})
    value = driver.stores[-1].value
    driver.stored()
    replay = Replay()
    replay.batch(0, None, [group_record(value)])
    (group,) = replay.build(0)
    assert group.assignment() == driver.group.assignment()
    assert (group.generation, group.protocol_name, group.members.leader) == (2, "range", "m1")


def test_empty_group_and_removed_group():
    replay = Replay()
    replay.batch(0, None, [group_record(GroupValue("consumer", 4, None, None, 77, ()))])
    (group,) = replay.build(0)
    assert (group.state, group.generation, group.protocol_type) == (GroupState.EMPTY, 4, "consumer")
    replay.batch(1, None, [group_record(None)])
    assert not list(replay.build(0))


def test_offsets_without_a_group_record():
    """A simple consumer, or a tool, has committed for a group that never had members."""
    replay = Replay()
    replay.batch(0, None, [offset(T0, 7)])
    (group,) = replay.build(0)
    assert (group.state, group.protocol_type, group.generation) == (GroupState.EMPTY, None, 0)


@pytest.mark.spec("G5")
def test_transactional_commits_count_from_their_marker():
    """Aborted ones never do, open ones make the offset unstable."""
    replay = Replay()
    replay.batch(0, 1, [offset(T0, 10)])
    assert offset_of(replay, T0) is None
    (group,) = replay.build(0)
    assert group.offsets.is_unstable(T0)
    replay.marker(1, commit=True)
    assert offset_of(replay, T0) == 10
    replay.batch(2, 1, [offset(T0, 20)])
    replay.marker(1, commit=False)
    assert offset_of(replay, T0) == 10


def test_later_record_wins_over_a_later_marker():
    replay = Replay()
    replay.batch(0, 1, [offset(T0, 10)])
    replay.batch(1, None, [offset(T0, 11)])
    replay.marker(1, commit=True)
    assert offset_of(replay, T0) == 11


def test_tombstone_in_a_transaction():
    replay = Replay()
    replay.batch(0, 1, [offset(T0, 10)])
    replay.batch(1, 1, [offset(T0, None)])
    replay.marker(1, commit=True)
    assert not list(replay.build(0))


def test_unreadable_records_are_skipped_and_counted():
    """One bad record must not take all groups of its partition away."""
    replay = Replay()
    bad = [
        (None, b""),
        (b"\x00", b""),
        (b"\x00\x09", b""),
        (encode_offset_key("g", T1), b"\x00\x63"),
        (encode_group_key("x"), b"\x00\x03\x00"),
    ]
    replay.batch(0, None, [*bad, offset(T0, 3)])
    assert replay.skipped == len(bad)
    assert offset_of(replay, T0) == 3
