"""What is said while a part of what is known is not told any more: of brokers, of the store, and of a snapshot that nobody writes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from broker_core.contract.live import Age, AsOf
from console.live.merging.state import ClusterState
from console.snapshot.freshness import as_of, read_cluster
from tests.support.console_world import BROKERS, cluster_state, stored_topic
from tests.support.feed_rows import batch, claim

ALL = [1, 2, 3]


@pytest.fixture
def state() -> ClusterState:
    made = cluster_state(1000)
    made.store_was_true(1000)
    made.take(1000)
    return made


def verdict(state: ClusterState, now_ms: int) -> str:
    return str(state.everything(now_ms)["cluster"].verdict.text)


def hear(state: ClusterState, now_ms: int, *brokers: int) -> None:
    for broker in brokers:
        state.apply_batch(batch(broker, [], now_ms), now_ms)
    state.store_was_true(now_ms)
    state.tick(now_ms)


def test_a_broken_connection_is_told_at_once(state: ClusterState) -> None:
    """Of what the broker leads nobody knows the state; what it has copies of its leaders tell."""
    assert "All 5 partitions are safe." in verdict(state, 1050)
    state.feed_cut(2, 1100)
    values = state.take(1100)[0]
    said = verdict(state, 1100)
    assert "silent for 1\u202fs: the state of its 2 partitions is unknown. By their leaders' word all copies of the other 3" in said
    assert "safe" not in said
    turned = {key: value.state for key, value in values.items() if value and key.startswith("partition/")}
    assert turned == {"partition/clicks/1": "unknown", "partition/orders/1": "unknown"}
    assert values["topic/orders"].unknown == 1  # type: ignore[index]
    assert values["broker/2"].feed == Age("stale", 100, 1000)  # type: ignore[index]
    hear(state, 1200, 2)
    values = state.take(1200)[0]
    assert {value.state for key, value in values.items() if value and key.startswith("partition/")} == {"safe"}
    assert "All 5 partitions are safe." in verdict(state, 1200)


def test_one_that_says_nothing_is_silent_after_three_seconds(state: ClusterState) -> None:
    for now in (2000, 3000, 4000):
        hear(state, now, 1, 3)
        assert "All 5" in verdict(state, now)
    hear(state, 4500, 1, 3)
    state.take(4500)
    said = verdict(state, 4500)
    assert "Broker 2 has been silent for 4\u202fs: the state of its 2 partitions is unknown." in said
    assert "safe" not in said
    assert state.oldest_ms(4500) == 1000
    state.set_brokers({b: BROKERS[b] for b in (1, 3)}, 5000)
    assert state.oldest_ms(5000) == 4500
    assert "silent" not in verdict(state, 5000)


def test_what_a_silent_leader_has_is_told_as_last_seen(state: ClusterState) -> None:
    for now in (2500, 4500):
        hear(state, now, 1, 3)
    state.take(4500)
    partition = state.everything(4500)["partition/orders/1"]
    (leader,) = [replica for replica in partition.replicas if replica.is_leader]
    assert (partition.state, leader.log_end_offset, leader.last_seen_ms, leader.age_ms) == ("unknown", 100, 1000, 3500)


def test_one_that_registers_has_to_be_heard_first(state: ClusterState) -> None:
    """Anew, or for the first time: until then what it leads is unknown, never safe."""
    state.set_brokers(BROKERS | {2: replace(BROKERS[2], epoch=999)}, 1500)
    assert "the state of its 2 partitions is unknown" in verdict(state, 1500)
    hear(state, 1600, 2)
    assert "All 5" in verdict(state, 1600)
    fresh = ClusterState("local")
    fresh.set_brokers(BROKERS, 1000)
    moving = {0: {"replicas": ALL}}
    fresh.set_topic("t", stored_topic(partitions=moving), 1000)
    fresh.set_partition("t", 0, 1, 0, ALL)
    value = fresh.take(1000)[0]["partition/t/0"]
    assert (value.leader, value.state) == (1, "unknown")  # type: ignore[index]
    assert "Broker 1 has not reported yet: the state of its 1 partition is unknown." in verdict(fresh, 1000)
    row = claim("t", 0, 1, ALL, leader=1, isr=ALL, end=0, leader_epoch=0)
    for broker in ALL:
        fresh.apply_batch(batch(broker, [row] if broker == 1 else [], 1100), 1100)
    assert fresh.take(1100)[0]["partition/t/0"].state == "safe"  # type: ignore[index]
    assert "The one partition is safe." in verdict(fresh, 1100)


def test_each_part_says_when_it_was_last_true(state: ClusterState) -> None:
    hear(state, 2000, 1, 2)
    state.store_was_true(1800)
    feed = state.everything(2500)["cluster"].feed
    assert feed.state == "live"
    assert {b: f.at_ms for b, f in feed.brokers.items()} == {"1": 2000, "2": 2000, "3": 1000}
    assert (feed.store.at_ms, feed.groups.at_ms) == (2000, 1000)
    assert state.oldest_ms(2500) == 1000


def test_the_first_topic_of_a_cluster_is_told() -> None:
    """Those that were there when the store was first read are no news."""
    fresh = ClusterState("local")
    fresh.set_brokers(BROKERS, 1000)
    fresh.store_was_true(1100)
    fresh.set_topic("orders", stored_topic(topic_id="x", partitions={0: {"replicas": ALL}}), 1500)
    assert [event.kind for event in fresh.take(1500)[1] if event.topic] == ["topic_created"]


def test_a_topic_made_anew_has_nothing_of_the_one_before(state: ClusterState) -> None:
    """Its deletion may never have been seen."""
    fresh = {0: {"replicas": ALL}}
    state.set_topic("orders", stored_topic(topic_id="x", partitions=fresh), 1500)
    state.set_partition("orders", 0, 1, 0, ALL)
    values, told = state.take(1500)
    assert [event.kind for event in told] == ["topic_deleted", "topic_created"]
    assert values["partition/orders/0"].state == "starting"  # type: ignore[index]
    assert values["partition/orders/2"] is None
    assert values["topic/orders"].partitions == 1  # type: ignore[index]


def test_a_broker_that_fell_silent_since_the_verdict_was_written_makes_it_last_known(state: ClusterState) -> None:
    """Its owner lives, and says so itself within a second."""
    hear(state, 2500, 1, 3)
    written: Any = state.everything(3900)["cluster"]
    assert written.verdict.level == "ok"
    read: Any = read_cluster(written, 3900, 4100)
    assert read.feed.brokers["2"].state == "stale"
    assert (read.verdict.level, read.topics_line.level, read.feed.state) == ("unknown", "unknown", "partial")
    assert read.verdict.text.startswith("Broker 2 has been silent for 3\u202fs; last known at 00:00:01: All 5 partitions are safe.")
    state.tick(4100)
    told: Any = state.everything(4100)["cluster"]
    assert told.verdict.text.startswith("Broker 2 has been silent for 3\u202fs: the state of its 2 partitions is unknown.")
    assert read_cluster(told, 4100, 4200).verdict == told.verdict


def test_a_snapshot_that_nobody_writes_says_so_itself(state: ClusterState) -> None:
    """Its ages are those of the moment it is read."""
    written: dict[str, Any] = state.everything(1000)["cluster"]
    assert read_cluster(written, 1000, 3500).verdict == written.verdict
    assert read_cluster(written, 1000, 3500).feed.brokers["1"] == Age("live", 2500, 1000)
    old = read_cluster(written, 1000, 68_000)
    assert old.verdict.level == "unknown"
    assert old.verdict.text.startswith("The live feed has been silent for 67\u202fs; last known at 00:00:01: All 5 partitions are safe.")
    assert (old.feed.state, old.feed.store.state) == ("lost", "lost")
    assert as_of(1000, 900, 4000) == AsOf(900, 3100, True)
    assert as_of(None, None, 4000) == AsOf(None, None, True)
