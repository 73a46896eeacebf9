"""A new leader's followers name the partition soon: no fetch of theirs is held long before they have."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.hot_fetch import encode_fetch_request
from broker_core.replication.following import replica_fetcher
from broker_core.replication.following.replica_fetcher import READY_MS
from broker_core.replication.serving.awaited_followers import AWAITED_MS, AwaitedFollowers
from tests.support.broker_cluster import BrokerCluster
from tests.support.controller_world import ManualClock
from tests.support.replica_world import ReplicaWorld

pytestmark = pytest.mark.spec("R7")

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_who_has_fetched_all_is_awaited_no_more() -> None:
    awaited = AwaitedFollowers(ManualClock())
    awaited.begin(A, (2, 3))
    awaited.begin(B, (2,))
    for tp, follower, still in ((A, 2, True), (A, 3, False), (B, 2, False), (B, 9, False)):
        awaited.heard(tp, follower)
        assert awaited.is_awaited(follower) is still


def test_who_does_not_come_is_not_awaited_for_long() -> None:
    clock = ManualClock()
    awaited = AwaitedFollowers(clock)
    awaited.begin(A, (2,))
    clock.fire_until(clock.now + AWAITED_MS / 2)
    awaited.begin(B, (2,))
    awaited.begin(A, (2,))
    clock.fire_until(clock.now + AWAITED_MS - 1)
    assert awaited.is_awaited(2)
    clock.fire_until(clock.now + 1)
    assert not awaited.is_awaited(2)


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
