"""Plans of moves: rules by example, and what holds of every plan whatever the cluster and the goal."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import Invalid
from console.planning.model import Goal, Host, Plan, Standing
from console.planning.plan import plan, told
from console.planning.words import plan_words

MOST = 1_000
RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def at(number: int, *replicas: int, topic: str = "orders", **more: Any) -> Standing:
    known: dict[str, Any] = {"isr": replicas, "leader": replicas[0], "size_bytes": 100}
    return Standing(topic=topic, partition=number, replicas=replicas, **known | more)


def hosts(standing: list[Standing], brokers: Any = (1, 2, 3), offline: Any = (), racks: Any = None) -> list[Host]:
    replicas = Counter(b for now in standing for b in now.replicas)
    first = Counter(now.replicas[0] for now in standing)
    return [
        Host(broker_id=b, rack=(racks or {}).get(b), is_online=b not in offline, replicas=replicas[b], preferred=first[b]) for b in brokers
    ]


def made(standing: list[Standing], goal: Goal, **world: Any) -> Plan:
    return plan(standing, hosts(standing, **world), goal, MOST)


def then(found: Plan) -> dict[int, tuple[int, ...]]:
    return {move.partition: move.replicas for move in found.moves}


# --- by example


def test_what_may_stay_is_not_copied() -> None:
    found = made([at(0, 1, 2)], Goal(to=(2, 3)))
    (move,) = found.moves
    assert (move.replicas, move.adding, move.removing, move.copy_bytes) == ((2, 3), (3,), (1,), 100)
    assert move.why == "1 goes: it is not one of those chosen. 3 comes. 2 is preferred as leader instead of 1."


def test_nothing_is_done_where_all_is_as_wanted() -> None:
    found = made([at(0, 1, 2)], Goal(to=(1, 2, 3)))
    assert (found.moves, found.unchanged, plan_words(found)) == ((), 1, "Nothing would change: all is as it should be.")


def test_more_replicas_come_to_racks_that_have_none() -> None:
    found = made([at(0, 1)], Goal(replication_factor=3), brokers=RACKS, racks=RACKS)
    assert then(found) == {0: (1, 3, 5)}
    assert "5 comes (rack c, which had none that stays)." in found.moves[0].why


def test_more_replicas_come_to_those_that_have_few() -> None:
    standing = [at(n, 1, topic="a") for n in range(4)] + [at(0, 2, topic="b")]
    assert Counter(move.adding[0] for move in made(standing, Goal(replication_factor=2)).moves if move.topic == "a") == {3: 2, 2: 2}


@pytest.mark.parametrize(
    ("now", "world", "replicas"),
    [
        pytest.param(at(0, 1, 2, 3), {"offline": (1,)}, (2, 3), id="the one that is offline"),
        pytest.param(at(0, 1, 2, 3, isr=(1, 3)), {}, (1, 3), id="the one out of sync"),
        pytest.param(at(0, 1, 2, 3), {"racks": RACKS}, (1, 3), id="the follower that shares a rack"),
        pytest.param(at(0, 1, 2, 3, leader=3), {}, (1, 3), id="no leader where another can go"),
    ],
)
def test_of_too_many_replicas_goes_first(now: Standing, world: dict[str, Any], replicas: tuple[int, ...]) -> None:
    assert then(made([now], Goal(replication_factor=2), **world)) == {0: replicas}


def test_one_broker_takes_anothers_places() -> None:
    standing = [at(0, 1, 2), at(1, 2, 1), at(2, 1, 3)]
    found = made(standing, Goal(away=(1,), instead=3), brokers=(1, 2, 3, 4))
    assert (then(found)[0], then(found)[1]) == ((3, 2), (2, 3))
    assert then(found)[2] == (3, 4), "it has that one already: another broker comes"


def test_a_broker_is_emptied_over_the_others() -> None:
    standing = [at(n, 1, 2) for n in range(6)]
    found = made(standing, Goal(away=(1,)), brokers=(1, 2, 3, 4))
    tallies = {tally.broker_id: (tally.replicas_before, tally.replicas_after) for tally in found.brokers}
    assert tallies == {1: (6, 0), 2: (6, 6), 3: (0, 3), 4: (0, 3)}
    assert all("1 goes: it is to be emptied." in move.why for move in found.moves)


def test_where_there_are_too_few_brokers_is_told() -> None:
    found = made([at(0, 1, 2, 3), at(1, 2, 3)], Goal(away=(1,)))
    assert [(one.partition, one.why) for one in found.skipped] == [(0, "it needs 3 brokers, and only 2 may have it")]
    assert "Left as it is: orders-0 (it needs 3 brokers, and only 2 may have it)." in plan_words(found)


def test_leaders_are_spread_and_nothing_is_copied() -> None:
    found = made([at(n, 1, 2, 3) for n in range(6)], Goal(leaders=True))
    assert [tally.preferred_after for tally in found.brokers] == [2, 2, 2]
    assert found.copy_bytes == 0
    assert "No record has to be copied." in plan_words(found)


def test_a_preferred_leader_that_is_offline_gives_its_place_up() -> None:
    assert then(made([at(0, 1, 2, leader=2, isr=(2,))], Goal(leaders=True), offline=(1,))) == {0: (2, 1)}


def test_unknown_sizes_stay_unknown() -> None:
    found = made([at(0, 1), at(1, 1, size_bytes=None)], Goal(to=(2,)), brokers=(1, 2))
    assert [move.copy_bytes for move in found.moves] == [100, None]
    assert (found.copy_bytes, found.brokers[0].copy_bytes, found.brokers[1].copy_bytes) == (None, 0, None)
    assert "how many bytes is not known" in plan_words(found)


def test_what_moves_already_or_cannot_be_copied_is_left() -> None:
    found = made([at(0, 1, is_moving=True), at(1, 1, leader=None)], Goal(to=(2,)))
    assert [one.why for one in found.skipped] == ["it is being moved already", "it has no leader: nobody could copy from it"]


def test_a_plan_ends_at_its_limit_and_says_so() -> None:
    standing = [at(n, 1) for n in range(5)]
    found = plan(standing, hosts(standing), Goal(to=(2,)), 3)
    assert (len(found.moves), found.left) == (3, 2)
    assert "Not looked at, as a job takes no more moves: 2 partitions." in plan_words(found)


@pytest.mark.parametrize(
    ("goal", "field"),
    [
        (Goal(), "goal"),
        (Goal(to=(9,)), "to"),
        (Goal(to=(3,)), "to"),
        (Goal(away=(9,)), "away"),
        (Goal(to=(1, 2), away=(1,)), "to"),
        (Goal(away=(1,), instead=1), "instead"),
        (Goal(away=(1,), instead=9), "instead"),
        (Goal(to=(2,), instead=2), "instead"),
    ],
)
def test_a_goal_that_cannot_be_meant_names_its_field(goal: Goal, field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        made([at(0, 1)], goal, offline=(3,))
    assert wrong.value.field == field


def test_replicas_that_were_chosen_by_hand_are_told_the_same_way() -> None:
    standing = [at(0, 1, 2), at(1, 1, 2)]
    found = told([(standing[0], (2, 3)), (standing[1], (1, 2))], hosts(standing), None)
    assert (then(found), found.unchanged) == ({0: (2, 3)}, 1)
    assert [(tally.replicas_before, tally.replicas_after, tally.copy_bytes) for tally in found.brokers] == [
        (2, 1, 0),
        (2, 2, 0),
        (0, 1, 100),
    ]


# --- of every plan

BROKERS = list(range(1, 8))


@st.composite
def worlds(draw: Any) -> tuple[list[Standing], list[Host], Goal]:
    brokers = draw(st.lists(st.sampled_from(BROKERS), min_size=1, unique=True))
    offline = draw(st.sets(st.sampled_from(brokers)))
    racks = draw(st.dictionaries(st.sampled_from(brokers), st.sampled_from("abc")))
    rows = draw(st.lists(st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True), max_size=12))
    standing = [
        at(n, *row, isr=tuple(row[: draw(st.integers(1, len(row)))]), size_bytes=draw(st.none() | st.integers(0, 1000)))
        for n, row in enumerate(rows)
    ]
    online = [b for b in brokers if b not in offline]
    some = st.lists(st.sampled_from(online), unique=True) if online else st.just([])
    to = tuple(draw(some))
    away = tuple(b for b in draw(st.lists(st.sampled_from(brokers), unique=True, max_size=2)) if b not in to)
    free = [b for b in to or online if b not in away]
    instead = draw(st.none() | st.sampled_from(free)) if away and free else None
    goal = Goal(
        to=to,
        away=away,
        instead=instead,
        replication_factor=draw(st.none() | st.integers(1, 4)),
        leaders=draw(st.booleans()) or not (to or away),
    )
    return standing, hosts(standing, brokers, offline, racks), goal


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_every_plan(world: tuple[list[Standing], list[Host], Goal]) -> None:
    standing, known, goal = world
    found = plan(standing, known, goal, MOST)
    online = {host.broker_id for host in known if host.is_online}
    before = {now.partition: now for now in standing}
    assert len(found.moves) + len(found.skipped) + found.unchanged + found.left == len(standing)
    for move in found.moves:
        now = before[move.partition]
        assert len(set(move.replicas)) == len(move.replicas) > 0, "no two replicas on a broker"
        assert len(move.replicas) == (goal.replication_factor or len(now.replicas))
        assert not set(move.replicas) & set(goal.away)
        assert not goal.to or set(move.replicas) <= set(goal.to)
        assert set(move.adding) <= online, "nothing is copied to a broker that is away"
        assert move.replicas != now.replicas
        _assert_least(move, now, goal)
        _assert_racks(move, known, goal)
    for tally in found.brokers:
        gone = sum(tally.broker_id in move.removing for move in found.moves)
        come = sum(tally.broker_id in move.adding for move in found.moves)
        assert tally.replicas_after == tally.replicas_before - gone + come
    assert sum(tally.preferred_after for tally in found.brokers) == len(standing)


def _assert_least(move: Any, now: Standing, goal: Goal) -> None:
    allowed = [b for b in now.replicas if b not in goal.away and (not goal.to or b in goal.to)]
    assert len(move.adding) == max(len(move.replicas) - len(allowed), 0), "a replica that may stay does"


def _assert_racks(move: Any, known: list[Host], goal: Goal) -> None:
    """Nobody comes to a rack that has another, while a broker on a rack without one could come."""
    rack = {host.broker_id: host.rack for host in known}
    able = [h for h in known if h.is_online and h.broker_id not in goal.away and (not goal.to or h.broker_id in goal.to)]
    used = [rack[b] for b in move.replicas if rack[b] is not None]
    for broker in set(move.adding) - {goal.instead}:
        if used.count(rack[broker]) > 1:
            assert not [h for h in able if h.broker_id not in move.replicas and h.rack not in used]


@settings(max_examples=100, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_same_question_has_the_same_answer(world: tuple[list[Standing], list[Host], Goal], random: Any) -> None:
    standing, known, goal = world
    mixed, others = list(standing), list(known)
    random.shuffle(mixed)
    random.shuffle(others)
    assert plan(standing, known, goal, MOST) == plan(mixed, others, goal, MOST)


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(world: tuple[list[Standing], list[Host], Goal]) -> None:
    standing, known, goal = world
    found = plan(standing, known, goal, MOST)
    moved = {move.partition: move.replicas for move in found.moves}
    after = [at(now.partition, *moved.get(now.partition, now.replicas)) for now in standing]
    tallies = {tally.broker_id: tally for tally in found.brokers}
    counted = [
        Host(
            broker_id=h.broker_id,
            rack=h.rack,
            is_online=h.is_online,
            replicas=tallies[h.broker_id].replicas_after,
            preferred=tallies[h.broker_id].preferred_after,
        )
        for h in known
    ]
    assert plan(after, counted, goal, MOST).moves == ()


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_leaders_that_are_spread_are_no_step_from_more_even(world: tuple[list[Standing], list[Host], Goal]) -> None:
    standing, known, _ = world
    found = plan(standing, known, Goal(leaders=True), MOST)
    leads = {tally.broker_id: tally.preferred_after if tally.is_online else 1_000 for tally in found.brokers}
    moved = {move.partition: move.replicas for move in found.moves}
    for now in standing:
        row = moved.get(now.partition, now.replicas)
        assert leads[row[0]] - min(leads[b] for b in row) < 2
