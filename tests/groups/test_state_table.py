"""Walks every state with every event: what is answered, and the state afterwards."""

import pytest

from broker_core.errors import ErrorCode
from broker_core.groups.messages import NO_GENERATION, Protocol
from broker_core.groups.states import TRANSITIONS, GroupState, can_rebalance
from tests.support.group_driver import SESSION_MS, GroupDriver

E = ErrorCode
EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
NEW_METADATA = (Protocol("range", b"other topics"),)


def situation(state: GroupState) -> tuple[GroupDriver, str, str]:
    """A group in `state`, its leader and its follower (ids nobody has, where it has no members)."""
    driver = GroupDriver()
    if state is EMPTY:
        return driver, "nobody", "nobody"
    if state is COMPLETING:
        leader, follower = driver.completing()
    elif state is PREPARING:
        leader, follower = driver.preparing()
    else:
        leader, follower = driver.stable()
    if state is DEAD:
        driver.unload()
    return driver, leader, follower


def error_of(answer) -> ErrorCode | None:
    """None: the request is parked."""
    return None if answer is None else answer.error


EVENTS = {
    "new member joins": lambda d, leader, follower: error_of(d.join("t")),
    "new member without id joins": lambda d, leader, follower: error_of(d.join("t", requires_member_id=True)),
    "static member joins": lambda d, leader, follower: error_of(d.join("t", instance_id="i")),
    "leader joins again": lambda d, leader, follower: error_of(d.join("t", leader)),
    "follower joins again": lambda d, leader, follower: error_of(d.join("t", follower)),
    "follower joins with new metadata": lambda d, leader, follower: error_of(d.join("t", follower, protocols=NEW_METADATA)),
    "unknown member joins": lambda d, leader, follower: error_of(d.join("t", "stranger")),
    "no common protocol": lambda d, leader, follower: error_of(d.join("t", protocols=(Protocol("other", b""),))),
    "other protocol type": lambda d, leader, follower: error_of(d.join("t", protocol_type="connect")),
    "follower syncs": lambda d, leader, follower: error_of(d.sync("t", follower)),
    "leader syncs": lambda d, leader, follower: error_of(d.sync("t", leader, {leader: b"all"})),
    "follower syncs an old generation": lambda d, leader, follower: error_of(d.sync("t", follower, generation=77)),
    "follower beats": lambda d, leader, follower: d.heartbeat(follower),
    "follower beats in an old generation": lambda d, leader, follower: d.heartbeat(follower, generation=77),
    "member commits": lambda d, leader, follower: d.admit_commit(follower),
    "member commits for an old generation": lambda d, leader, follower: d.admit_commit(follower, generation=77),
    "tool commits": lambda d, leader, follower: d.admit_commit("", generation=NO_GENERATION),
    "follower leaves": lambda d, leader, follower: d.leave(follower)[0],
    "follower falls silent": lambda d, leader, follower: d.advance(SESSION_MS),
}

PARKED = None
UNKNOWN, DEAD_ANSWER = E.UNKNOWN_MEMBER_ID, E.COORDINATOR_NOT_AVAILABLE

TABLE: dict[str, dict[GroupState, tuple[ErrorCode | None, GroupState]]] = {
    "new member joins": {
        EMPTY: (PARKED, PREPARING),
        PREPARING: (PARKED, PREPARING),
        COMPLETING: (PARKED, PREPARING),
        STABLE: (PARKED, PREPARING),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "new member without id joins": {
        EMPTY: (E.MEMBER_ID_REQUIRED, EMPTY),
        PREPARING: (E.MEMBER_ID_REQUIRED, PREPARING),
        COMPLETING: (E.MEMBER_ID_REQUIRED, COMPLETING),
        STABLE: (E.MEMBER_ID_REQUIRED, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "static member joins": {
        EMPTY: (PARKED, PREPARING),
        PREPARING: (PARKED, PREPARING),
        COMPLETING: (PARKED, PREPARING),
        STABLE: (PARKED, PREPARING),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "leader joins again": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (PARKED, PREPARING),
        COMPLETING: (E.NONE, COMPLETING),
        STABLE: (PARKED, PREPARING),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower joins again": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (PARKED, PREPARING),
        COMPLETING: (E.NONE, COMPLETING),
        STABLE: (E.NONE, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower joins with new metadata": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (PARKED, PREPARING),
        COMPLETING: (PARKED, PREPARING),
        STABLE: (PARKED, PREPARING),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "unknown member joins": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (UNKNOWN, PREPARING),
        COMPLETING: (UNKNOWN, COMPLETING),
        STABLE: (UNKNOWN, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "no common protocol": {
        EMPTY: (PARKED, PREPARING),
        PREPARING: (E.INCONSISTENT_GROUP_PROTOCOL, PREPARING),
        COMPLETING: (E.INCONSISTENT_GROUP_PROTOCOL, COMPLETING),
        STABLE: (E.INCONSISTENT_GROUP_PROTOCOL, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "other protocol type": {
        EMPTY: (PARKED, PREPARING),
        PREPARING: (E.INCONSISTENT_GROUP_PROTOCOL, PREPARING),
        COMPLETING: (E.INCONSISTENT_GROUP_PROTOCOL, COMPLETING),
        STABLE: (E.INCONSISTENT_GROUP_PROTOCOL, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower syncs": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.REBALANCE_IN_PROGRESS, PREPARING),
        COMPLETING: (PARKED, COMPLETING),
        STABLE: (E.NONE, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "leader syncs": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.REBALANCE_IN_PROGRESS, PREPARING),
        COMPLETING: (PARKED, COMPLETING),
        STABLE: (E.NONE, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower syncs an old generation": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.ILLEGAL_GENERATION, PREPARING),
        COMPLETING: (E.ILLEGAL_GENERATION, COMPLETING),
        STABLE: (E.ILLEGAL_GENERATION, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower beats": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.REBALANCE_IN_PROGRESS, PREPARING),
        COMPLETING: (E.NONE, COMPLETING),
        STABLE: (E.NONE, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower beats in an old generation": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.ILLEGAL_GENERATION, PREPARING),
        COMPLETING: (E.ILLEGAL_GENERATION, COMPLETING),
        STABLE: (E.ILLEGAL_GENERATION, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "member commits": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.NONE, PREPARING),
        COMPLETING: (E.REBALANCE_IN_PROGRESS, COMPLETING),
        STABLE: (E.NONE, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "member commits for an old generation": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.ILLEGAL_GENERATION, PREPARING),
        COMPLETING: (E.ILLEGAL_GENERATION, COMPLETING),
        STABLE: (E.ILLEGAL_GENERATION, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "tool commits": {
        EMPTY: (E.NONE, EMPTY),
        PREPARING: (UNKNOWN, PREPARING),
        COMPLETING: (UNKNOWN, COMPLETING),
        STABLE: (UNKNOWN, STABLE),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower leaves": {
        EMPTY: (UNKNOWN, EMPTY),
        PREPARING: (E.NONE, PREPARING),
        COMPLETING: (E.NONE, PREPARING),
        STABLE: (E.NONE, PREPARING),
        DEAD: (DEAD_ANSWER, DEAD),
    },
    "follower falls silent": {
        EMPTY: (None, EMPTY),
        PREPARING: (None, COMPLETING),
        COMPLETING: (None, EMPTY),
        STABLE: (None, EMPTY),
        DEAD: (None, DEAD),
    },
}


def cases():
    return [pytest.param(event, state, id=f"{state.value}-{event}") for event in EVENTS for state in GroupState]


@pytest.mark.spec("G2")
@pytest.mark.parametrize(("event", "state"), cases())
def test_every_state_with_every_event(event, state):
    """The state table of a group, row by row."""
    expected_error, expected_state = TABLE[event][state]
    driver, leader, follower = situation(state)
    assert driver.state is state
    assert EVENTS[event](driver, leader, follower) == expected_error
    assert driver.state is expected_state


def test_transitions_are_the_only_ones():
    """Nothing leaves Dead, and only Empty, Stable and CompletingRebalance may begin a rebalance."""
    assert not [after for before, after in TRANSITIONS if before is DEAD]
    assert [state for state in GroupState if can_rebalance(state)] == [EMPTY, COMPLETING, STABLE]
    with pytest.raises(AssertionError, match="cannot move"):
        GroupDriver().group.move_to(STABLE, 0, "out of order")


def test_every_transition_has_been_walked():
    """Each row of the transition table happens through events, not only on paper."""
    walked = set()
    for happens in EVENTS.values():
        for state in GroupState:
            driver, leader, follower = situation(state)
            happens(driver, leader, follower)
            walked |= {(move.before, move.after) for move in driver.moves}
    for state in (EMPTY, PREPARING, COMPLETING):
        driver, *_ = situation(state)
        driver.unload()
        walked |= {(move.before, move.after) for move in driver.moves}
    assert walked == set(TRANSITIONS)
