"""Static members (KIP-345, KIP-814): an instance id keeps its place over restarts; whoever had it before is fenced."""

from broker_core.errors import ErrorCode
from broker_core.groups.group import SYNC_TIMER
from broker_core.groups.messages import LeavingMember, Protocol
from broker_core.groups.states import GroupState
from tests.support.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver

E = ErrorCode


def stable_static() -> tuple[GroupDriver, str, str]:
    """A stable group of two static members, instances i0 (leader) and i1."""
    driver = GroupDriver()
    driver.join("j0", instance_id="i0", requires_member_id=True)
    driver.join("j1", instance_id="i1", requires_member_id=True)
    driver.advance(6000)
    leader, follower = driver.answers["j0"].member_id, driver.answers["j1"].member_id
    driver.sync("s0", leader, {leader: b"zero", follower: b"one"}, instance_id="i0")
    driver.sync("s1", follower, instance_id="i1")
    driver.stored()
    return driver, leader, follower


def test_static_member_needs_no_second_join():
    """KIP-345: MEMBER_ID_REQUIRED is for dynamic members only."""
    driver = GroupDriver()
    assert driver.join("j", instance_id="i", requires_member_id=True) is None
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_restart_replaces_the_member_without_a_rebalance():
    driver, leader, _follower = stable_static()
    driver.join("back", instance_id="i1")
    assert driver.state is GroupState.STABLE
    assert "back" not in driver.answers
    driver.stored()
    back = driver.answers["back"]
    assert (back.error, back.generation, back.leader, back.members) == (E.NONE, 1, leader, ())
    assert driver.sync("s", back.member_id, instance_id="i1").assignment == b"one"


def test_old_id_is_fenced():
    driver, _leader, follower = stable_static()
    driver.join("back", instance_id="i1")
    driver.stored()
    assert driver.heartbeat(follower, instance_id="i1") is E.FENCED_INSTANCE_ID
    assert driver.admit_commit(follower, instance_id="i1") is E.FENCED_INSTANCE_ID
    assert driver.sync("s", follower, instance_id="i1").error is E.FENCED_INSTANCE_ID
    assert driver.join("j", follower, instance_id="i1").error is E.FENCED_INSTANCE_ID
    assert driver.leave(LeavingMember(follower, "i1")) == [E.FENCED_INSTANCE_ID]
    assert driver.heartbeat(follower) is E.UNKNOWN_MEMBER_ID
    assert driver.heartbeat(driver.answers["back"].member_id, instance_id="i7") is E.UNKNOWN_MEMBER_ID


def test_leader_that_comes_back_may_skip_the_assignment():
    """KIP-814 (v9): it learns that it leads and sees the members, but must not assign: the group is stable."""
    driver, _, follower = stable_static()
    driver.join("back", instance_id="i0", can_skip_assignment=True)
    driver.stored()
    back = driver.answers["back"]
    assert (back.skip_assignment, back.leader) == (True, back.member_id)
    assert {member.member_id for member in back.members} == {back.member_id, follower}


def test_older_leader_that_comes_back_is_not_told_that_it_leads():
    """Before v9 it is shown its old id as leader, so that it does not make an assignment nobody would take."""
    driver, leader, _ = stable_static()
    driver.join("back", instance_id="i0", can_skip_assignment=False)
    driver.stored()
    back = driver.answers["back"]
    assert (back.skip_assignment, back.leader, back.members) == (False, leader, ())


def test_restart_with_another_protocol_rebalances():
    both = (Protocol("range", b"m"), Protocol("sticky", b"m"))
    driver = GroupDriver()
    driver.join("j0", instance_id="i0", protocols=both)
    driver.join("j1", instance_id="i1", protocols=both[::-1])
    driver.advance(6000)
    leader = driver.answers["j0"].member_id
    assert driver.answers["j0"].protocol_name == "range"
    driver.sync("s0", leader, {}, instance_id="i0")
    driver.stored()
    driver.join("back", instance_id="i0", protocols=(Protocol("sticky", b"m"),))
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_restart_while_others_wait_for_the_assignment_rebalances():
    """The leader's assignment would name an id that no longer exists."""
    driver = GroupDriver()
    driver.join("j0", instance_id="i0")
    driver.join("j1", instance_id="i1")
    driver.advance(6000)
    driver.sync("s1", driver.answers["j1"].member_id, instance_id="i1")
    driver.join("back", instance_id="i1")
    assert driver.answers["s1"].error is E.FENCED_INSTANCE_ID
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_restart_during_a_rebalance_fences_the_parked_join():
    driver = GroupDriver()
    driver.join("j0", instance_id="i0")
    driver.join("twin", instance_id="i0")
    assert driver.answers["j0"].error is E.FENCED_INSTANCE_ID
    driver.advance(6000)
    assert driver.answers["twin"].generation == 1
    assert len(driver.group.members) == 1


def test_replacement_that_cannot_be_stored_is_taken_back():
    driver, _leader, follower = stable_static()
    driver.join("back", instance_id="i1", session_ms=SESSION_MS * 2)
    driver.stored(E.NOT_COORDINATOR)
    assert (driver.answers["back"].error, driver.answers["back"].member_id) == (E.NOT_COORDINATOR, "")
    assert driver.heartbeat(follower, instance_id="i1") is E.NONE
    assert driver.group.members[follower].session_timeout_ms == SESSION_MS


def test_rebalance_that_begins_during_the_write_answers_the_join():
    driver, leader, _follower = stable_static()
    driver.join("back", instance_id="i1")
    driver.join("new")
    driver.stored()
    assert "back" not in driver.answers
    driver.join("l", leader, instance_id="i0")
    assert driver.answers["back"].generation == 2


def test_static_members_outlive_a_rebalance_they_miss():
    """Only their session timeout removes them: a restart may take longer than a rebalance."""
    driver = GroupDriver()
    driver.join("j0", instance_id="i0", session_ms=REBALANCE_MS * 3)
    driver.join("j1", instance_id="i1", session_ms=REBALANCE_MS * 3)
    driver.advance(6000)
    leader, follower = driver.answers["j0"].member_id, driver.answers["j1"].member_id
    driver.sync("s0", leader, {}, instance_id="i0")
    driver.sync("s1", follower, instance_id="i1")
    driver.stored()
    driver.join("again", leader, instance_id="i0")
    driver.advance(REBALANCE_MS)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert follower in driver.group.members
    assert {member.member_id for member in driver.answers["again"].members} == {leader, follower}


def test_rebalance_nobody_joins_waits_on_for_static_members():
    """The join phase starts again until somebody joins or their sessions end."""
    driver = GroupDriver()
    driver.join("j0", instance_id="i0", session_ms=REBALANCE_MS * 3)
    driver.join("d", rebalance_ms=REBALANCE_MS)
    driver.advance(6000)
    static, dynamic = driver.answers["j0"].member_id, driver.answers["d"].member_id
    driver.sync("s0", static, {}, instance_id="i0")
    driver.sync("s1", dynamic)
    driver.stored()
    driver.leave(dynamic)
    driver.advance(REBALANCE_MS + 1)
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.join("again", static, instance_id="i0")
    assert driver.answers["again"].generation == 2


def test_leaving_by_instance_id_alone():
    """KIP-345: an administrator removes a static member without knowing its member id."""
    driver, _leader, follower = stable_static()
    assert driver.leave(LeavingMember("", "i1")) == [E.NONE]
    assert follower not in driver.group.members
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_replaced_member_still_has_to_sync():
    """The sync that was due from the old id is due from the new one, and then nothing is."""
    driver = GroupDriver()
    driver.join("j0", instance_id="i0")
    driver.join("j1", instance_id="i1")
    driver.advance(6000)
    leader = driver.answers["j0"].member_id
    driver.sync("s0", leader, {}, instance_id="i0")
    driver.stored()
    driver.join("back", instance_id="i1")
    driver.stored()
    assert list(driver.group.members.unsynced) == [driver.answers["back"].member_id]
    driver.sync("s1", driver.answers["back"].member_id, instance_id="i1")
    assert SYNC_TIMER not in driver.timers


def test_session_begins_anew_when_a_long_write_ends():
    """While its join is parked the member cannot expire; afterwards it can."""
    driver, leader, _ = stable_static()
    driver.join("back", instance_id="i1")
    for _ in range(3):
        driver.advance(SESSION_MS // 2)
        driver.heartbeat(leader, instance_id="i0")
    driver.stored()
    back = driver.answers["back"].member_id
    driver.advance(SESSION_MS // 2)
    driver.heartbeat(leader, instance_id="i0")
    assert back in driver.group.members
    driver.advance(SESSION_MS // 2)
    assert back not in driver.group.members
