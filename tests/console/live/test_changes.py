"""Events of what people change: a topic grows, its settings, a group's offsets."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract.stored import Topic
from console.live.events.changes import topic_changes
from console.live.merging.state import ClusterState
from tests.support.console_world import cluster_state, stored_topic
from tests.support.feed_rows import batch, group_claim


def told(state: ClusterState, kind: str, now_ms: int = 20) -> list[tuple[str, str]]:
    return [(e.topic, e.sentence) for e in state.take(now_ms)[1] if e.kind == kind]


def topic(partitions: int, settings: dict[str, str] | None, topic_id: str = "id") -> Topic:
    return stored_topic(topic_id=topic_id, settings=settings, partitions={p: {"replicas": [1, 2, 3]} for p in range(partitions)})


def test_a_topic_that_grows_is_told() -> None:
    state = cluster_state(0)
    state.take(0)
    state.set_topic("orders", topic(6, {}), 10)
    assert told(state, "topic_grew") == [
        ("orders", "topic orders grew from 3 to 6 partitions; records with a key may go to another one from now on.")
    ]
    state.set_topic("orders", topic(6, {}), 30)
    assert told(state, "topic_grew", 40) == []


def test_settings_that_change_are_told() -> None:
    state = cluster_state(0)
    state.set_topic("orders", topic(3, {"retention.ms": "5", "cleanup.policy": "delete"}), 5)
    assert told(state, "topic_settings", 6) == [], "what was not known before has not changed"
    state.set_topic("orders", topic(3, {"retention.ms": "7", "min.insync.replicas": "1"}), 10)
    assert told(state, "topic_settings") == [
        (
            "orders",
            "settings of topic orders were changed: cleanup.policy is the broker's own again (was delete); min.insync.replicas is 1; "
            "retention.ms is 7 (was 5).",
        )
    ]
    state.set_topic("orders", topic(3, {"retention.ms": "7", "min.insync.replicas": "1"}), 30)
    assert told(state, "topic_settings", 40) == []


def test_a_topic_made_anew_has_not_changed() -> None:
    state = cluster_state(0)
    state.set_topic("orders", topic(3, {"retention.ms": "5"}), 5)
    state.take(6)
    state.set_topic("orders", topic(6, {"retention.ms": "7"}, "another"), 10)
    assert told(state, "topic_grew") == told(state, "topic_settings") == []


def test_many_and_long_settings_are_told_in_part_and_a_throttle_by_its_job() -> None:
    settings = {f"k{n}": "v" * 500 for n in range(9)} | {"leader.replication.throttled.replicas": "0:1"}
    (event,) = topic_changes("t", topic(1, {}), topic(1, settings), 0)
    assert len(event.sentence) < 500 and event.sentence.endswith("; 4 more.")
    assert "throttled" not in event.sentence


GROUP_CASES = [
    ("back, with members", 1, {"orders": {0: 50, 1: 7}}, {"orders": {0: 20, 1: 7}}, "30 records will be read again"),
    ("forward, with members", 1, {"orders": {0: 50}}, {"orders": {0: 60}}, None),
    ("forward, nobody there", 0, {"orders": {0: 50}}, {"orders": {0: 90}}, "40 records will be skipped"),
    ("both ways", 0, {"orders": {0: 50, 1: 9}}, {"orders": {0: 51, 1: 7}}, "2 records will be read again, 1 record will be skipped"),
    ("first commit", 0, {}, {"orders": {0: 90}}, None),
    ("forgotten", 0, {"orders": {0: 50}}, {}, None),
]


@pytest.mark.parametrize(("name", "members", "before", "after", "effect"), GROUP_CASES, ids=[case[0] for case in GROUP_CASES])
def test_offsets_that_are_moved_are_told(name: str, members: int, before: Any, after: Any, effect: str | None) -> None:
    state = cluster_state(0)
    state.apply_batch(batch(1, [], 5, groups=[group_claim("g", before, members=members)]), 5)
    state.take(6)
    state.apply_batch(batch(1, [], 10, groups=[group_claim("g", after, members=members, commit_ms=9)]), 10)
    found = told(state, "offsets_moved")
    assert [topic for topic, _ in found] == (["orders"] if effect else [])
    assert all(effect and text.startswith("offsets of group g were moved: orders-0 from 50 to ") and effect in text for _, text in found)
    assert told(state, "offsets_moved", 30) == []


def test_one_that_commits_by_itself_goes_forward_by_reading() -> None:
    """Spark's commits: a group without members, never joined."""
    state = cluster_state(0)
    for at_ms, offset in ((5, 10), (10, 20), (15, 12)):
        claim = group_claim("g", {"orders": {0: offset}}, members=0, protocol_type="")
        state.apply_batch(batch(1, [], at_ms, groups=[claim]), at_ms)
    assert [text.partition(".")[0] for _, text in told(state, "offsets_moved")] == ["offsets of group g were moved: orders-0 from 20 to 12"]
