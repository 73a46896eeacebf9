"""Rebalances of a group: what starts one, who leads, which protocol wins, what happens to those that are late."""

import pytest

from broker_core.errors import ErrorCode
from broker_core.groups import liveness
from broker_core.groups.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from broker_core.groups.messages import LeavingMember, Protocol, TimerKey, TimerKind
from broker_core.groups.replay import group_from_value
from broker_core.groups.states import GroupState
from tests.support.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver

E = ErrorCode


def rejoin_all(driver: GroupDriver, ids: list[str], mark: str) -> None:
    for member_id in ids:
        driver.join(f"{mark}-{member_id}", member_id)


@pytest.mark.spec("G2")
def test_first_member_leads_and_gets_all_members():
    """The first to join leads; only the leader is told of the members."""
    driver = GroupDriver()
    leader, follower = driver.completing()
    first, second = driver.answers["first-0"], driver.answers["first-1"]
    assert (first.generation, first.leader, second.leader) == (1, leader, leader)
    assert [member.member_id for member in first.members] == [leader, follower]
    assert first.members[0].metadata == b"meta"
    assert second.members == ()
    assert (first.protocol_type, first.protocol_name) == ("consumer", "range")


@pytest.mark.spec("G2")
def test_assignment_reaches_everyone_after_it_is_stored():
    """The leader's assignment is persisted before anyone sees it; members it leaves out get an empty one."""
    driver = GroupDriver()
    leader, follower = driver.completing()
    driver.sync("f", follower)
    driver.sync("l", leader, {leader: b"p0"})
    assert driver.answers.get("f") is None
    assert driver.stores[0].value.generation == 1
    assert {member.member_id: member.assignment for member in driver.stores[0].value.members} == {leader: b"p0", follower: b""}
    driver.stored()
    assert driver.state is GroupState.STABLE
    assert (driver.answers["l"].assignment, driver.answers["f"].assignment) == (b"p0", b"")


@pytest.mark.spec("G2")
def test_five_triggers_of_a_rebalance():
    """A member joins, a member leaves, a member fails, a member's subscription changes, the leader sees new topics or partitions."""
    triggers = {
        "joins": lambda driver, leader, follower: driver.join("x"),
        "leaves": lambda driver, leader, follower: driver.leave(follower),
        "fails": lambda driver, leader, follower: fail_one(driver, leader),
        "new subscription": lambda driver, leader, follower: driver.join("x", follower, protocols=(Protocol("range", b"t1,t2"),)),
        "new partitions": lambda driver, leader, follower: driver.join("x", leader),
    }
    for trigger in triggers.values():
        driver = GroupDriver()
        leader, follower = driver.stable()
        trigger(driver, leader, follower)
        assert driver.state is GroupState.PREPARING_REBALANCE
        assert driver.heartbeat(leader) is E.REBALANCE_IN_PROGRESS


def fail_one(driver: GroupDriver, survivor: str) -> None:
    """Everyone but the survivor stays silent for a session."""
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(survivor)
    driver.advance(1)


def test_rebalance_ends_when_all_have_joined():
    driver = GroupDriver()
    ids = driver.preparing()
    driver.join("l", ids[0])
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.join("f", ids[1])
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert driver.answers["newcomer"].generation == 2


@pytest.mark.spec("G2")
def test_rebalance_goes_on_without_the_late():
    """At the longest rebalance timeout dynamic members that have not joined are dropped, and the leader's place moves."""
    driver = GroupDriver()
    leader, follower = driver.stable()
    driver.join("f", follower, protocols=(Protocol("range", b"new"),))
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        driver.heartbeat(leader)
        driver.advance(SESSION_MS // 2)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert driver.answers["f"].leader == follower
    assert leader not in driver.group.members


@pytest.mark.spec("G2")
def test_initial_delay_waits_for_more_members():
    """An empty group waits 3 s for more members, again while they come, at most the rebalance timeout."""
    driver = GroupDriver(initial_delay_ms=3000)
    driver.join("a", rebalance_ms=7000)
    driver.advance(2999)
    driver.join("b", rebalance_ms=7000)
    driver.advance(2999)
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.join("c", rebalance_ms=7000)
    driver.advance(1000)
    assert driver.state is GroupState.PREPARING_REBALANCE
    driver.advance(2)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert len(driver.group.members) == 3
    assert driver.now_ms == 1_007_000


def test_initial_delay_is_not_extended_without_arrivals():
    driver = GroupDriver(initial_delay_ms=3000)
    driver.join("a")
    driver.advance(3000)
    assert driver.state is GroupState.COMPLETING_REBALANCE


def test_no_initial_delay_when_it_is_set_to_zero():
    driver = GroupDriver(initial_delay_ms=0)
    driver.join("a")
    driver.advance(0)
    assert driver.state is GroupState.COMPLETING_REBALANCE


@pytest.mark.spec("G2")
def test_protocol_is_voted_among_those_that_all_support():
    """Each member votes for its first protocol that all support; the most votes win."""
    sticky, ranged, robin = Protocol("sticky", b"s"), Protocol("range", b"r"), Protocol("roundrobin", b"o")
    driver = GroupDriver()
    driver.join("a", protocols=(sticky, ranged, robin))
    driver.join("b", protocols=(robin, ranged))
    driver.join("c", protocols=(robin, ranged, sticky))
    driver.advance(6000)
    assert driver.answers["a"].protocol_name == "roundrobin"
    assert [member.metadata for member in driver.answers["a"].members] == [b"o", b"o", b"o"]


@pytest.mark.spec("G2")
def test_any_protocol_type_will_do():
    """A worker of Kafka Connect is a member like any other; only the type must be the group's."""
    driver = GroupDriver()
    driver.join("w1", protocol_type="connect", protocols=(Protocol("sessioned", b"\x00\x02"), Protocol("default", b"")))
    driver.join("w2", protocol_type="connect", protocols=(Protocol("sessioned", b"\x00\x02"),))
    assert driver.join("c", protocol_type="consumer").error is E.INCONSISTENT_GROUP_PROTOCOL
    driver.advance(6000)
    result = driver.answers["w1"]
    assert (result.protocol_type, result.protocol_name, len(result.members)) == ("connect", "sessioned", 2)
    assert driver.group.subscribed is None


def test_join_needs_protocol_type_and_protocols():
    driver = GroupDriver()
    assert driver.join("a", protocol_type="").error is E.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join("b", protocols=()).error is E.INCONSISTENT_GROUP_PROTOCOL


def test_sync_checks_protocol_type_and_name():
    driver = GroupDriver()
    _leader, follower = driver.completing()
    assert driver.sync("a", follower, protocol_type="connect").error is E.INCONSISTENT_GROUP_PROTOCOL
    assert driver.sync("b", follower, protocol_name="sticky").error is E.INCONSISTENT_GROUP_PROTOCOL
    assert driver.sync("c", follower, protocol_type="consumer", protocol_name="range") is None


@pytest.mark.spec("G2")
def test_members_waiting_for_an_assignment_are_sent_back():
    """A member that joins while others wait for their assignment starts the rebalance anew."""
    driver = GroupDriver()
    _leader, follower = driver.completing()
    driver.sync("f", follower)
    driver.join("new")
    assert driver.answers["f"].error is E.REBALANCE_IN_PROGRESS
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_assignment_that_arrives_too_late_has_no_effect():
    """A rebalance that began while the assignment was being written makes that write void."""
    driver = GroupDriver()
    leader, _follower = driver.completing()
    driver.sync("l", leader, {leader: b"x"})
    driver.join("new")
    assert driver.answers["l"].error is E.REBALANCE_IN_PROGRESS
    driver.stored()
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_assignment_that_cannot_be_stored_starts_a_new_rebalance():
    driver = GroupDriver()
    leader, follower = driver.completing()
    driver.sync("f", follower)
    driver.sync("l", leader, {leader: b"x"})
    driver.stored(E.NOT_COORDINATOR)
    assert (driver.answers["l"].error, driver.answers["f"].error) == (E.NOT_COORDINATOR, E.NOT_COORDINATOR)
    assert driver.state is GroupState.PREPARING_REBALANCE


def test_leaders_retry_is_parked_and_not_stored_twice():
    """Two assignments of one generation in the log could differ from the one in use."""
    driver = GroupDriver()
    leader, _ = driver.completing()
    driver.sync("l", leader, {leader: b"one"})
    driver.sync("l-retry", leader, {leader: b"two"})
    assert len(driver.stores) == 1
    assert driver.answers["l"].error is E.REBALANCE_IN_PROGRESS
    driver.stored()
    assert driver.answers["l-retry"].assignment == b"one"


@pytest.mark.spec("B19")
def test_members_that_never_sync_are_dropped():
    """KAFKA-12890: a member that joined and vanished before SyncGroup must not hold the generation up."""
    driver = GroupDriver()
    leader, follower = driver.completing()
    driver.sync("l", leader, {leader: b"x"})
    driver.stored()
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        driver.heartbeat(leader)
        driver.heartbeat(follower)
        driver.advance(SESSION_MS // 2)
    assert driver.state is GroupState.PREPARING_REBALANCE
    assert follower not in driver.group.members
    assert leader in driver.group.members


@pytest.mark.spec("B19")
def test_a_leader_that_never_syncs_does_not_block_the_group():
    """Without the leader's SyncGroup the generation never completes; its timeout ends it, and the next one has another leader."""
    driver = GroupDriver()
    leader, follower = driver.completing()
    driver.sync("f", follower)
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        driver.heartbeat(leader)
        driver.advance(SESSION_MS // 2)
    assert driver.answers["f"].error is E.REBALANCE_IN_PROGRESS
    driver.join("again", follower)
    assert driver.answers["again"].leader == follower


def test_heartbeats_and_commits_keep_a_member():
    driver = GroupDriver()
    leader, follower = driver.stable()
    for _ in range(4):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(leader) is E.NONE
        assert driver.admit_commit(follower) is E.NONE
    assert driver.state is GroupState.STABLE


def test_parked_members_do_not_expire():
    """A member whose request the coordinator itself holds cannot send heartbeats."""
    driver = GroupDriver()
    _leader, follower = driver.stable()
    driver.join("f", follower, protocols=(Protocol("range", b"new"),))
    driver.advance(SESSION_MS)
    assert driver.state is GroupState.COMPLETING_REBALANCE
    assert [member.member_id for member in driver.group.members.all()] == [follower]


def test_new_members_join_is_not_parked_for_ever():
    """A client that died while its join was parked is noticed after five minutes."""
    driver = GroupDriver()
    leader, follower = driver.stable()
    driver.join("new", rebalance_ms=NEW_MEMBER_JOIN_TIMEOUT_MS * 4)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5000):
        driver.heartbeat(leader)
        driver.heartbeat(follower)
        driver.advance(5000)
    assert driver.answers["new"].error is E.UNKNOWN_MEMBER_ID


def test_last_member_gone_makes_the_group_empty_and_stores_that():
    driver = GroupDriver()
    (only,) = driver.stable(1)
    assert driver.leave(only) == [E.NONE]
    assert driver.state is GroupState.EMPTY
    assert (driver.group.generation, driver.stores[0].value.members) == (2, ())
    assert [key for key in driver.timers if key.kind is not TimerKind.RETENTION] == []


def test_leaving_during_a_rebalance_completes_it():
    driver = GroupDriver()
    leader, follower = driver.preparing()
    driver.join("l", leader)
    driver.leave(follower)
    assert driver.state is GroupState.COMPLETING_REBALANCE


def test_leaving_answers_what_the_member_has_parked():
    """Its connection would otherwise wait for ever."""
    driver = GroupDriver()
    _leader, follower = driver.completing()
    driver.sync("f", follower)
    driver.leave(follower)
    assert driver.answers["f"].error is E.UNKNOWN_MEMBER_ID


def test_leaving_by_member_list():
    """KIP-345: each member of the list has its own outcome."""
    driver = GroupDriver()
    _leader, follower = driver.stable()
    assert driver.leave("stranger", follower, LeavingMember("", "no such instance")) == [E.UNKNOWN_MEMBER_ID, E.NONE, E.UNKNOWN_MEMBER_ID]


def test_unloading_sends_everyone_to_the_new_coordinator():
    for situation in ("preparing", "completing"):
        driver = GroupDriver()
        _leader, follower = getattr(driver, situation)()
        ticket = "newcomer"
        if situation == "completing":
            driver.sync(ticket, follower)
        driver.unload()
        assert driver.answers[ticket].error is E.NOT_COORDINATOR
        assert driver.timers == {}


def test_timers_that_were_replaced_are_ignored():
    """A late ring of an old session timer must not expel a member that has been heard of since."""
    driver = GroupDriver()
    leader, _ = driver.stable()
    key = TimerKey(TimerKind.SESSION, leader)
    _, old_serial = driver.timers[key]
    driver.heartbeat(leader)
    from broker_core.groups.liveness import on_timer

    assert on_timer(driver.group, key, old_serial, driver.now_ms) == []
    assert leader in driver.group.members


def test_member_that_joins_a_loaded_group_before_its_timers_start():
    """Timers of many loaded groups start some at a time; the newcomer's join may be parked for longer than its session."""
    driver = GroupDriver()
    (known,) = driver.stable(1)
    driver.group = group_from_value("g", driver.group.as_value({}), driver.now_ms)
    driver.timers.clear()
    driver.join("newcomer")
    driver.apply(liveness.loaded(driver.group, driver.rules, driver.now_ms))
    for _ in range(4):
        driver.advance(SESSION_MS // 2)
        assert driver.heartbeat(known) is E.REBALANCE_IN_PROGRESS
    assert "newcomer" not in driver.answers
    driver.join("again", known)
    assert driver.answers["newcomer"].error is E.NONE
