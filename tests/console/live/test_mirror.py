"""What was published, folded together, is what the state knows: after any order of facts, nothing of it is missing or too much."""

from __future__ import annotations

import random
from typing import Any

import pytest

from console.live.merging.state import ClusterState
from tests.support.console_world import BROKERS, add_topic, cluster_state
from tests.support.feed_rows import batch, claim

NAMES = ("orders", "clicks", "t-1", "t-2")


class Mirror:
    """What a reader of all announcements knows."""

    def __init__(self, state: ClusterState) -> None:
        self.values: dict[str, Any] = {}
        self.state = state

    def take(self, now_ms: int, limit: int | None = None) -> None:
        for key, value in self.state.take(now_ms, limit)[0].items():
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def catch_up(self, now_ms: int) -> None:
        self.take(now_ms, 3)
        while self.state.has_more(now_ms):
            self.take(now_ms, 3)


def test_a_topic_made_anew_in_the_moment_it_goes_is_there() -> None:
    state = cluster_state(1000)
    mirror = Mirror(state)
    mirror.take(1000)
    state.drop_topic("orders", 1100)
    add_topic(state, "orders", 2, 1100)
    mirror.take(1100)
    assert {key for key in mirror.values if key.startswith("partition/orders")} == {"partition/orders/0", "partition/orders/1"}


@pytest.mark.parametrize("seed", range(30))
def test_what_was_published_is_what_is_known(seed: int) -> None:
    chance = random.Random(seed)
    state = cluster_state(1000)
    mirror = Mirror(state)
    now = 1000
    for _ in range(200):
        now += chance.choice((0, 50, 400, 1000))
        _one_fact(state, chance, now)
        if chance.random() < 0.3:
            mirror.take(now, chance.choice((1, 3, None)))
    now += 5_000
    mirror.catch_up(now)
    known = state.everything(now).keys()
    assert mirror.values.keys() == known
    assert {key for key in known if key.startswith("partition/")} == {
        f"partition/{name}/{p}" for name in state.topics for p in range(state.counts.get("topic", name, "partitions"))
    }
    for key in known:
        if key.startswith("topic/"):
            assert mirror.values[key].partitions == sum(k.startswith(f"partition/{key[6:]}/") for k in known), key


def _one_fact(state: ClusterState, chance: random.Random, now: int) -> None:
    name, broker = chance.choice(NAMES), chance.choice((1, 2, 3))
    match chance.randrange(8):
        case 0:
            add_topic(state, name, chance.choice((1, 2, 5)), now)
        case 1:
            state.drop_topic(name, now)
        case 2:
            state.set_brokers({b: BROKERS[b] for b in BROKERS if b != broker}, now)
        case 3:
            state.set_brokers(BROKERS, now)
        case 4:
            state.apply_batch(batch(broker, [claim(name, 0, broker, [1, 2, 3], leader=1, isr=[1, 2, 3], end=now)], now), now)
        case 5:
            state.apply_batch(batch(broker, [], now, removed=[{"topic": name, "partition": 0}]), now)
        case 6:
            state.tick(now)
        case 7:
            state.set_deleting({name} if chance.random() < 0.5 else set(), now)
