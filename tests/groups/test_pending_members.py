"""KIP-394: a dynamic member gets its id first and joins with it; ids that are never used expire. Limits of a group's size."""

import pytest

from broker_core.errors import ErrorCode
from broker_core.groups.messages import LeavingMember
from broker_core.groups.states import GroupState
from tests.support.group_driver import SESSION_MS, GroupDriver

E = ErrorCode


def test_member_joins_with_the_id_it_was_given():
    driver = GroupDriver()
    given = driver.join("first", requires_member_id=True)
    assert (given.error, given.member_id) == (E.MEMBER_ID_REQUIRED, "m1")
    assert driver.state is GroupState.EMPTY
    driver.join("second", given.member_id)
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.advance(3000)
    assert driver.answers["second"].member_id == "m1"


def test_rebalance_waits_for_pending_members():
    """A member that has just been given an id is about to join."""
    driver = GroupDriver()
    leader, follower = driver.stable()
    pending = driver.join("p", requires_member_id=True).member_id
    driver.join("l", leader)
    driver.join("f", follower)
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.join("p2", pending)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert len(driver.group.members) == 3


@pytest.mark.spec("B19")
def test_pending_member_that_never_joins_expires():
    """KAFKA-9752, 7909: it must not hold a rebalance up for longer than its session."""
    driver = GroupDriver()
    leader, follower = driver.stable()
    driver.join("p", requires_member_id=True)
    driver.join("l", leader)
    driver.join("f", follower)
    driver.advance(SESSION_MS)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert driver.join("late", "m3").error is E.UNKNOWN_MEMBER_ID


def test_pending_member_that_leaves_completes_the_rebalance():
    driver = GroupDriver()
    leader, follower = driver.stable()
    pending = driver.join("p", requires_member_id=True).member_id
    driver.join("l", leader)
    driver.join("f", follower)
    assert driver.leave(LeavingMember(pending)) == [E.NONE]
    assert driver.state is GroupState.COMPLETING_REBALANCE


def test_pending_member_is_no_member_yet():
    driver = GroupDriver()
    driver.stable()
    pending = driver.join("p", requires_member_id=True).member_id
    assert driver.heartbeat(pending) is E.UNKNOWN_MEMBER_ID
    assert driver.sync("s", pending).error is E.UNKNOWN_MEMBER_ID
    assert driver.join("p2", pending, instance_id="i").error is E.UNKNOWN_MEMBER_ID


def test_group_max_size():
    """`group.max.size`: the one too many is refused and told to forget its id."""
    driver = GroupDriver(max_size=2)
    _leader, follower = driver.stable(2)
    refused = driver.join("x")
    assert (refused.error, refused.member_id) == (E.GROUP_MAX_SIZE_REACHED, "")
    assert driver.join("again", follower).error is E.NONE
    assert driver.state is GroupState.STABLE


def test_group_max_size_counts_those_that_have_joined_a_rebalance():
    """A group loaded with too many members loses those that join last."""
    driver = GroupDriver(max_size=10)
    first, second, third = driver.stable(3)
    driver.rules = type(driver.rules)(2, 3000, 100)
    driver.join("a", first)
    driver.join("b", second)
    assert driver.join("c", third).error is E.GROUP_MAX_SIZE_REACHED
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert len(driver.group.members) == 2


def test_pending_members_are_bounded():
    driver = GroupDriver(max_pending=2)
    assert [driver.join(f"p{index}", requires_member_id=True).error for index in range(3)] == [
        E.MEMBER_ID_REQUIRED,
        E.MEMBER_ID_REQUIRED,
        E.GROUP_MAX_SIZE_REACHED,
    ]
