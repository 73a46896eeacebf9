"""A new leader's followers name the partition soon: no fetch of theirs is held long before they have."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.hot_fetch import encode_fetch_request
from broker_core.replication.following import replica_fetcher
from broker_core.replication.following.replica_fetcher import READY_MS
from broker_core.replication.serving.awaited_followers import AWAITED_MS, HELD_MS, MOST_HELD_MS, AwaitedFollowers
from tests.support.broker_cluster import BrokerCluster
from tests.support.controller_world import ManualClock
from tests.support.replica_world import ReplicaWorld

pytestmark = pytest.mark.spec("R7")


def test_who_does_not_come_is_not_awaited_for_long() -> None:
    clock = ManualClock()
    awaited = AwaitedFollowers(clock)
    assert awaited.begin((2, 3)) == [2, 3]
    clock.fire_until(clock.now + AWAITED_MS / 2)
    assert awaited.begin((2,)) == []
    clock.fire_until(clock.now + AWAITED_MS - 1)
    assert [awaited.hold_ms(follower) for follower in (1, 2, 3)] == [None, HELD_MS, None]
    clock.fire_until(clock.now + 1)
    assert awaited.hold_ms(2) is None
    assert awaited.begin((2,)) == [2]


def test_each_fetch_may_be_held_twice_as_long_as_the_one_before() -> None:
    """While thousands of partitions begin followers must not ask without end."""
    awaited = AwaitedFollowers(ManualClock())
    awaited.begin((2,))
    held = [awaited.hold_ms(2) for _ in range(6)]
    awaited.begin((2,))
    assert [*held, awaited.hold_ms(2)] == [HELD_MS, 2 * HELD_MS, 4 * HELD_MS, 8 * HELD_MS, *[MOST_HELD_MS] * 3]


@pytest.mark.parametrize("seed", range(4))
def test_a_new_leader_does_not_wait_for_the_end_of_a_fetch_of_other_partitions(seed: int) -> None:
    """What its followers ask it for may be held for seconds, whichever of them hears of its role first."""
    with BrokerCluster(brokers=3, seed=seed, **{"replica.fetch.wait.max.ms": "4000", "min.insync.replicas": "3"}) as cluster:
        cluster.start_all()
        cluster.create("t", 3)
        cluster.world.run_for(10_000)
        before_ms = cluster.world.scheduler.wall_ms()
        cluster.create("late", 6)
        for partition in range(6):
            assert cluster.produce("late", "prompt", partition=partition).error_code == ErrorCode.NONE
        assert cluster.world.scheduler.wall_ms() - before_ms < 1_000


def test_a_leader_that_is_not_ready_is_asked_again_soon_and_then_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its order may come later than the followers'; one that never comes costs no more than before."""
    asked: list[int] = []

    def spied(version: int, *args: Any, **options: Any) -> bytes:
        asked.append(version)
        return encode_fetch_request(version, *args, **options)

    monkeypatch.setattr(replica_fetcher, "encode_fetch_request", spied)
    with ReplicaWorld(overrides={"replica.fetch.backoff.ms": "1000"}) as cluster:
        cluster.create()
        cluster.until(cluster.caught_up)
        cluster.elect(2, (1, 2, 3), tell=(1, 3))
        cluster.settle(2 * READY_MS)
        before_ms = cluster.world.scheduler.wall_ms()
        cluster.announce((2,))
        assert cluster.produce(2, "prompt").error_code == ErrorCode.NONE
        assert cluster.world.scheduler.wall_ms() - before_ms < 10 * READY_MS
        cluster.elect(1, (1, 2, 3), tell=(2, 3))
        cluster.settle(3_000)
        asked.clear()
        cluster.settle(10_000)
        assert 2 * 9 <= len(asked) <= 2 * 11
