"""What differs from a wanted state and what mends it: cases, and that a plan that was carried out leaves nothing to mend."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from console.wanted.model import Actual, ActualTopic, Drift, Place, Wanted, WantedTopic
from console.wanted.planning import plan, same

HERE = Place("a.yaml", 1)
LOAD = {1: 0, 2: 0, 3: 0}


def wanted(**fields: Any) -> Wanted:
    return Wanted({"orders": WantedTopic(HERE, **fields)})


def there(*assignment: tuple[int, ...], **configs: str) -> Actual:
    named = {key.replace("_", "."): value for key, value in configs.items()}
    return Actual({"orders": ActualTopic(assignment, named)}, load=LOAD)


def only(drifts: list[Drift]) -> Drift:
    assert len(drifts) == 1, drifts
    return drifts[0]


def rows(drift: Drift) -> list[tuple[str, Any, Any]]:
    return [(change.label, change.before, change.after) for change in drift.changes]


def test_what_is_as_wanted_is_no_drift() -> None:
    assert plan(wanted(partitions=1, replication_factor=2, configs={"retention.ms": "007"}), there((1, 2), retention_ms="7")) == []
    assert plan(wanted(), there((1, 2), (2, 3))) == [], "numbers that are left out are as they are"


def test_a_missing_topic_is_made() -> None:
    drift = only(plan(wanted(partitions=3, replication_factor=2, configs={"a": "b"}), Actual({}, load=LOAD)))
    assert (drift.object, drift.state, drift.steps.create, drift.place) == ("topic/orders", "missing", True, "a.yaml:1")
    assert rows(drift) == [("topic", None, "orders"), ("partitions", None, 3), ("replicas of each", None, 2), ("a", None, "b")]


def test_settings_are_set_and_taken_away_but_for_a_throttle_s() -> None:
    actual = there((1,), retention_ms="5", segment_ms="6", leader_replication_throttled_replicas="0:1")
    drift = only(plan(wanted(configs={"retention.ms": "9", "cleanup.policy": "compact"}), actual))
    assert drift.steps.configs == {"retention.ms": "9", "cleanup.policy": "compact", "segment.ms": None}
    assert rows(drift)[2] == ("segment.ms", "6", None)
    assert any("only the last record" in risk for risk in drift.risks)


def test_what_deletes_records_is_named() -> None:
    for before, after, is_risk in (("100", "50", True), ("100", "200", False), ("-1", "5", True), ("5", "-1", False), (None, "5", True)):
        actual = there((1,), **({"retention_ms": before} if before else {}))
        drift = only(plan(wanted(configs={"retention.ms": after}), actual))
        assert bool(drift.risks) == is_risk, (before, after, drift.risks)
    assert only(plan(wanted(), there((1,), cleanup_policy="compact"))).risks, "back to delete"
    assert only(plan(wanted(configs={"unclean.leader.election.enable": "true"}), there((1,)))).risks


def test_partitions_are_added_and_never_taken_away() -> None:
    grown = only(plan(wanted(partitions=3), there((1, 2))))
    assert (grown.steps.grow_to, grown.steps.grown, rows(grown)) == (3, None, [("partitions", 1, 3)])
    shrunk = only(plan(wanted(partitions=1), there((1,), (2,))))
    assert (shrunk.state, bool(shrunk.steps)) == ("impossible", False)
    assert shrunk.impossible == ["orders has 2 partitions, 1 are wanted: partitions cannot be taken away."]


def test_copies_are_added_where_there_are_the_fewest_and_the_last_are_dropped() -> None:
    actual = Actual({"orders": ActualTopic(((1,), (1,)))}, load={1: 9, 2: 5, 3: 4})
    assert only(plan(wanted(replication_factor=2), actual)).steps.moves == {0: (1, 3), 1: (1, 2)}
    fewer = only(plan(wanted(replication_factor=1), there((3, 1, 2), (2, 1, 3))))
    assert fewer.steps.moves == {0: (3,), 1: (2,)}
    assert "fewer copies" in fewer.risks[0]


def test_more_copies_than_brokers_cannot_be() -> None:
    drift = only(plan(wanted(replication_factor=4, configs={"a": "b"}), there((1, 2))))
    assert (drift.state, drift.steps.configs, drift.steps.moves) == ("differs", {"a": "b"}, {})
    assert "4 copies of each partition: 3 brokers run" in drift.impossible[0]
    assert only(plan(wanted(replication_factor=4), Actual({}, load=LOAD))).state == "impossible"


def test_an_assignment_is_taken_as_it_stands() -> None:
    drift = only(plan(wanted(assignment=((1, 2), (3, 1), (2, 3))), there((2, 1), (3, 1))))
    assert (drift.steps.moves, drift.steps.grow_to, drift.steps.grown) == ({0: (1, 2)}, 3, ((2, 3),))
    wider = only(plan(wanted(assignment=((1,), (2, 3, 1), (3,))), there((1, 2))))
    assert (wider.steps.moves, wider.steps.grown) == ({0: (1,), 1: (2, 3, 1), 2: (3,)}, ((2, 3), (3, 1)))
    absent = only(plan(wanted(assignment=((1, 9),)), there((1, 2))))
    assert (absent.state, absent.impossible) == ("impossible", ["orders wants replicas on broker 9, which is not online."])


def test_what_nobody_wants_is_told_and_left_alone() -> None:
    actual = Actual({"a": ActualTopic(((1,),)), "__consumer_offsets": ActualTopic(((1,),), internal=True)}, load=LOAD)
    drift = only(plan(Wanted({}), actual))
    assert (drift.object, drift.state, bool(drift.steps)) == ("topic/a", "unmanaged", False)


def test_brokers_defaults() -> None:
    actual = Actual({}, {"log.retention.ms": "9", "a": "b"}, LOAD)
    assert plan(Wanted({}, None), actual) == [], "nobody's business"
    drift = only(plan(Wanted({}, {"log.retention.ms": "5"}), actual))
    assert (drift.object, drift.steps.configs) == ("brokers", {"log.retention.ms": "5", "a": None})
    assert drift.risks


def test_texts_that_mean_the_same() -> None:
    assert same("True", "true")
    assert same("compact, delete", "compact,delete")
    assert same("-01", "-1")
    assert not same("1", "10")
    assert not same("snappy", "SNAPPY")


# --- whatever is wanted and there


keys = st.sampled_from(["retention.ms", "cleanup.policy", "segment.ms", "min.insync.replicas", "leader.replication.throttled.replicas"])
configs = st.dictionaries(keys, st.sampled_from(["1", "2", "-1", "true", "TRUE", "compact", "delete", "compact,delete"]), max_size=4)
replicas = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True).map(tuple)
assignments = st.lists(replicas, min_size=1, max_size=6).map(tuple)
names = st.sampled_from(["a", "b", "c", "d", "e"])
topics_there = st.builds(ActualTopic, assignments, configs)
topics_wanted = st.one_of(
    st.builds(WantedTopic, st.just(HERE), st.none() | st.integers(1, 8), st.none() | st.integers(1, 6), st.none(), configs),
    st.builds(WantedTopic, st.just(HERE), assignment=assignments, configs=configs),
)
states = st.builds(
    Actual,
    st.dictionaries(names, topics_there, max_size=5),
    configs,
    st.dictionaries(st.integers(1, 5), st.integers(0, 9), min_size=1, max_size=5),
)
wishes = st.builds(Wanted, st.dictionaries(names, topics_wanted, max_size=5), st.none() | configs)


def carried_out(actual: Actual, want: Wanted, drifts: list[Drift]) -> Actual:
    """What a cluster would make of the steps."""
    topics, brokers = dict(actual.topics), dict(actual.broker_configs)
    for drift in drifts:
        name, steps = drift.object.removeprefix("topic/"), drift.steps
        if drift.object == "brokers":
            brokers = changed(brokers, steps.configs)
        elif steps.create:
            topic = want.topics[name]
            made = tuple((1,) * (topic.replication_factor or 1) for _ in range(topic.partitions or 1))
            topics[name] = ActualTopic(topic.assignment or made, topic.configs)
        elif steps:
            rows = list(topics[name].assignment)
            new = (steps.grow_to or len(rows)) - len(rows)
            assert not steps.grow_to or new > 0
            added = list(steps.grown or [rows[0]] * new)
            assert all(len(row) == len(rows[0]) for row in added), "Kafka takes no others"
            rows = [steps.moves.get(number, row) for number, row in enumerate(rows + added)]
            topics[name] = replace(topics[name], assignment=tuple(rows), configs=changed(topics[name].configs, steps.configs))
    return replace(actual, topics=topics, broker_configs=brokers)


def changed(own: Any, changes: Any) -> dict[str, str]:
    merged = {**own, **changes}
    return {key: value for key, value in merged.items() if value is not None}


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(states, wishes)
def test_a_plan_that_was_carried_out_leaves_nothing_to_mend(actual: Actual, want: Wanted) -> None:
    drifts = plan(want, actual)
    after = carried_out(actual, want, drifts)
    rest = plan(want, after)
    assert not [drift for drift in rest if drift.steps], rest
    assert {d.object for d in rest if d.impossible} == {d.object for d in drifts if d.impossible}
    assert after.topics.keys() >= actual.topics.keys(), "nothing is deleted"
    for name, topic in actual.topics.items():
        assert len(after.topics[name].assignment) >= len(topic.assignment)
        for before, now in zip(topic.assignment, after.topics[name].assignment, strict=False):
            assert len(set(now)) == len(now)
            assert want.topics.get(name, WantedTopic(HERE)).assignment or now[0] == before[0], "who leads by preference stays"


@settings(max_examples=80, deadline=None, derandomize=True)
@given(states, wishes)
def test_what_is_told_is_what_is_done(actual: Actual, want: Wanted) -> None:
    for drift in plan(want, actual):
        assert bool(drift.steps) == (drift.state in ("missing", "differs"))
        assert bool(drift.changes) == bool(drift.steps) or drift.impossible
        assert drift.sentence.endswith(".")
