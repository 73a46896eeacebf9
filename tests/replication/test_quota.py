"""Throttled replication (KIP-73): a rate for moved replicas, never for members of the ISR."""

from __future__ import annotations

import pytest

from broker_core.model import TopicPartition
from broker_core.replication.quota import UNLIMITED, Rate, ReplicationQuotaManager
from tests.support.replica_world import LAG_MAX_MS, TP, ReplicaWorld


def test_the_rate_slides() -> None:
    rate = Rate()
    assert rate.per_second(0) == 0
    rate.record(500, 0)
    assert rate.per_second(100) == 500, "at least a second is looked at"
    rate.record(500, 4_000)
    assert rate.per_second(5_000) == 200
    assert rate.per_second(11_000) == pytest.approx(500 / 7)
    assert rate.per_second(60_000) == 0


def test_samples_may_be_fewer_and_longer() -> None:
    """`replication.quota.window.num` and `replication.quota.window.size.seconds`."""
    rate = Rate(2, 10_000)
    rate.record(500, 0)
    rate.record(500, 5_000)
    assert rate.per_second(5_000) == 100
    assert rate.per_second(20_000) == 0


def quota(limit: int, *listed: str) -> ReplicationQuotaManager:
    return ReplicationQuotaManager(1, lambda: limit, lambda topic: listed)


def test_whom_it_applies_to() -> None:
    assert quota(10, "*").applies_to(TP)
    assert quota(10, "0:1").applies_to(TP)
    assert not quota(10, "0:2", "1:1").applies_to(TP)
    assert not quota(10).applies_to(TP)
    assert not quota(UNLIMITED, "*").applies_to(TP)


def test_who_has_to_wait() -> None:
    throttle = quota(100, "0:1")
    throttle.record(TP, 101, 0)
    assert throttle.holds_back(TP, 0, in_sync=False)
    assert not throttle.holds_back(TP, 0, in_sync=True)
    assert not throttle.holds_back(TopicPartition("t", 5), 0, in_sync=False)
    assert not throttle.holds_back(TP, 20_000, in_sync=False)
    throttle.record(TopicPartition("t", 5), 10_000, 20_000)
    assert not throttle.holds_back(TP, 20_000, in_sync=False), "other replicas' traffic does not count"


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_newcomer_copies_slowly_and_members_do_not(side: str) -> None:
    """A replica outside the ISR takes its time; produce with acks=all among the members is as fast as ever."""
    overrides = {f"{side}.replication.throttled.rate": "2000", "replica.fetch.max.bytes": "2000"}
    with ReplicaWorld(overrides=overrides) as cluster:
        for broker in cluster.brokers.values():
            broker.config.set_topic("t", {f"{side}.replication.throttled.replicas": "*"})
        cluster.create(isr=(1, 2))
        cluster.kill(3)
        for _ in range(40):
            cluster.produce(1, "x" * 1_000)
        assert cluster.hw(1) == 40
        cluster.settle(12_000)
        cluster.start(3)
        cluster.brokers[3].config.set_topic("t", {f"{side}.replication.throttled.replicas": "*"})
        cluster.announce()
        cluster.settle(LAG_MAX_MS)
        assert 1 < cluster.leo(3) < 30
        cluster.until(lambda: cluster.leo(3) == 40)
        cluster.until(lambda: 3 in cluster.isr(1))
