"""How far groups are behind while nobody tells, because a leader of what they read or their coordinator is silent or changes."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.live.merging.state import ClusterState
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS, cluster_state, stored_topic
from tests.support.feed_rows import batch, claim, group_claim

ALL = [1, 2, 3]
HOME = 7
"""The partition of `__consumer_offsets` that the group lives in."""


def told(epoch: int, offset: int = 60, **more: Any) -> Any:
    return group_claim("billing", {"orders": {0: offset}, "clicks": {1: 90}}, home=HOME, epoch=epoch, **more)


def home_row(broker: int, leader: int) -> Any:
    return claim("__consumer_offsets", HOME, broker, ALL, leader=leader, isr=ALL, end=10, leader_epoch=5 if leader == 3 else 6)


@pytest.fixture
def state() -> ClusterState:
    """Broker 3 coordinates the group, brokers 1 and 2 lead what it reads; all is caught up but for 30 records."""
    made = cluster_state(1000)
    made.apply_batch(batch(1, [], 1000, removed_groups=["billing"]), 1000)
    made.set_topic("__consumer_offsets", stored_topic(partitions={HOME: {"replicas": ALL}}), 1000)
    made.set_partition("__consumer_offsets", HOME, 3, 5, ALL)
    made.apply_batch(batch(3, [home_row(3, 3)], 1000, groups=[told(5)]), 1000)
    made.take(1000)
    return made


def hear(state: ClusterState, now_ms: int, *brokers: int) -> None:
    for broker in brokers:
        state.apply_batch(batch(broker, [], now_ms), now_ms)
    state.store_was_true(now_ms)
    state.tick(now_ms)
    state.take(now_ms)


def shown(state: ClusterState, now_ms: int) -> dict[str, Any]:
    return dict(state.everything(now_ms))


def test_while_a_leader_is_silent_nobody_knows_how_far_behind_a_group_is(state: ClusterState) -> None:
    before = shown(state, 1000)
    assert (before["group/billing"].lag, before["lag/billing/clicks/1"].lag, before["topic/clicks"].lag) == (30, 0, 0)
    for now in (2500, 4500):
        hear(state, now, 1, 3)
    values = shown(state, 4500)
    row, other, group = values["lag/billing/clicks/1"], values["lag/billing/orders/0"], values["group/billing"]
    assert (row.committed, row.lag, row.lag_s, row.status, row.high_watermark, row.log_end_offset) == (
        90,
        None,
        None,
        "unknown",
        None,
        None,
    )
    assert other.lag == 30
    assert (group.lag, group.trend, group.state, group.attention) == (None, "unknown", "Stable", None)
    assert "nobody tells where 1 of its 2 partitions ends." in group.sentence
    assert (values["topic/clicks"].lag, values["topic/orders"].lag, values["reader/clicks/billing"].lag) == (None, 30, None)
    assert (values["cluster"].groups_behind, values["cluster"].groups_line.level) == (None, "unknown")
    hear(state, 5000, 2, 3)
    after = shown(state, 5000)
    assert (after["group/billing"].lag, after["topic/clicks"].lag, after["cluster"].groups_behind) == (30, 0, 0)


def test_by_the_partitions_that_are_known_it_is_so_long_behind_at_least(state: ClusterState) -> None:
    for step in range(1, 30):
        now = 1000 + step * 1000
        state.apply_batch(batch(1, [claim("orders", 0, 1, ALL, leader=1, isr=ALL, end=100 + step * 10)], now), now)
        hear(state, now, 3)
    group = shown(state, 30_000)["group/billing"]
    assert (group.lag, group.lag_basis) == (None, "at_least")
    assert group.lag_s > 20
    assert group.sentence == "Group billing is at least 28\u202fs behind: nobody tells where 1 of its 2 partitions ends."


@pytest.mark.parametrize("dies", [False, True])
def test_while_its_coordinator_is_not_heard_nobody_knows_of_a_group(state: ClusterState, dies: bool) -> None:
    for now in (2500, 4500):
        hear(state, now, 1, 2)
    if dies:
        state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 4500)
        state.take(4500)
    values = shown(state, 4500)
    group = values["group/billing"]
    assert (group.state, group.lag, group.lag_s, group.trend, group.coordinator) == (None, None, None, "unknown", 3)
    assert "broker 3, its coordinator, is not heard" in group.sentence
    assert {values[f"lag/billing/{tp}"].lag for tp in ("orders/0", "clicks/1")} == {None}
    assert values["cluster"].groups_line.level == "unknown"
    state.apply_batch(batch(1, [], 5000, groups=[told(6, 70)]), 5000)
    values, events = state.take(5000)
    assert (values["group/billing"].state, values["lag/billing/orders/0"].lag) == ("Stable", 20)  # type: ignore[index]
    assert [event.kind for event in events if event.group] == [], "that its state was not known is no rebalance"


def test_who_does_not_know_yet_that_another_one_coordinates_is_not_believed(state: ClusterState) -> None:
    """A broker that was paused tells what it knew before it hears of its successor."""
    state.apply_batch(batch(1, [home_row(1, 1)], 2000, groups=[told(6, 80)]), 2000)
    state.apply_batch(batch(3, [], 2100, groups=[told(5, 65)]), 2100)
    state.take(2100)
    group, row = shown(state, 2100)["group/billing"], shown(state, 2100)["lag/billing/orders/0"]
    assert (group.coordinator, row.committed) == (1, 80)
    state.apply_batch(batch(3, [home_row(3, 1)], 2200, removed_groups=["billing"]), 2200)
    assert state.take(2200)[0].get("group/billing", "as it was") is not None
    assert shown(state, 2200)["group/billing"].coordinator == 1


@pytest.mark.parametrize("full", [False, True])
def test_a_group_is_there_while_it_moves_to_another_coordinator(state: ClusterState, full: bool) -> None:
    gone = {} if full else {"removed_groups": ["billing"]}
    state.apply_batch(batch(3, [home_row(3, 1)], 2000, full=full, **gone), 2000)
    state.take(2000)
    group = shown(state, 2000)["group/billing"]
    assert (group.state, group.lag) == (None, None)
    state.apply_batch(batch(1, [home_row(1, 1)], 2500, groups=[told(6, 80)]), 2500)
    state.take(2500)
    group = shown(state, 2500)["group/billing"]
    assert (group.coordinator, group.state, group.lag) == (1, "Stable", 10)


def test_a_group_is_gone_when_who_leads_its_home_says_so(state: ClusterState) -> None:
    state.apply_batch(batch(3, [], 2000, removed_groups=["billing"]), 2000)
    assert state.take(2000)[0]["group/billing"] is None


def test_one_that_the_next_coordinator_does_not_know_is_gone_after_a_while(state: ClusterState) -> None:
    """It went while nobody told of it."""
    state.set_partition("__consumer_offsets", HOME, 1, 6, ALL)
    state.apply_batch(batch(3, [home_row(3, 1)], 2000, removed_groups=["billing"]), 2000)
    state.apply_batch(batch(1, [home_row(1, 1)], 2000), 2000)
    state.take(2000)
    for second in range(3, 40):
        hear(state, second * 1000, 1, 2, 3)
        assert ("group/billing" in shown(state, second * 1000)) == (second < 33), second


@pytest.mark.parametrize("page", ["/", "/groups", "/groups/billing", "/lag", "/topics/clicks"])
def test_pages_show_no_lag_that_nobody_knows(state: ClusterState, redis: Any, kafka: Any, people: dict[str, Client], page: str) -> None:
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 4500)
    state.take(4500)
    publish(redis, state, 4500)
    answer = people["viewer"].get(page)
    text = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    assert answer.status_code == 200 and text
    assert "keeps up" not in text and "caught up" not in text and "None" not in text
