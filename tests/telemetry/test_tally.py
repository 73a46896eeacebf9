"""The sums over all partitions: right after every change, and no walk over all of them at each answer."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

from broker_core.model import TopicPartition
from broker_core.replication.partition import Partition
from broker_core.telemetry.tally import ROUND_PARTS_PER_LOOK, Tally
from tests.support.broker_cluster import BrokerCluster

MANY = 10 * ROUND_PARTS_PER_LOOK


class Hosted:
    """Partitions by hand; every look at one is counted."""

    def __init__(self, count: int) -> None:
        self.partitions = {TopicPartition("t", index): _partition(10) for index in range(count)}
        self.looks: Counter[TopicPartition] = Counter()

    def __call__(self, tp: TopicPartition) -> Partition | None:
        self.looks[tp] += 1
        return cast(Partition | None, self.partitions.get(tp))


def _partition(size_bytes: int, *, leads: bool = True, under_replicated: bool = False, under_min_isr: bool = False) -> Any:
    log = SimpleNamespace(segments=SimpleNamespace(size_bytes=size_bytes))
    return SimpleNamespace(is_leader=leads, under_replicated=under_replicated, under_min_isr=under_min_isr, log=log)


def sums(tally: Tally) -> tuple[int, int, int, int]:
    tally.look()
    return tally.leaders, tally.under_replicated, tally.under_min_isr, tally.log_bytes


def test_what_changed_is_counted_at_once_and_of_the_rest_a_few() -> None:
    hosted = Hosted(MANY)
    tally = Tally(hosted, hosted.partitions)
    assert sums(tally) == (MANY, 0, 0, 10 * MANY)
    hosted.looks.clear()
    changed = TopicPartition("t", MANY - 1)
    hosted.partitions[changed] = _partition(7, leads=False, under_replicated=True, under_min_isr=True)
    tally.changed(changed)
    assert sums(tally) == (MANY - 1, 1, 1, 10 * MANY - 3)
    assert hosted.looks.total() <= ROUND_PARTS_PER_LOOK + 1


def test_what_changed_without_a_word_is_found_within_a_round() -> None:
    hosted = Hosted(MANY)
    tally = Tally(hosted, hosted.partitions)
    tally.look()
    hosted.partitions[TopicPartition("t", 3)] = _partition(1)
    del hosted.partitions[TopicPartition("t", MANY - 3)]
    for _ in range(MANY // ROUND_PARTS_PER_LOOK + 1):
        tally.look()
    assert sums(tally) == (MANY - 1, 0, 0, 10 * (MANY - 2) + 1)


def test_the_sums_are_those_of_the_partitions_whatever_happens_to_them() -> None:
    with BrokerCluster(brokers=3) as cluster:
        cluster.start_all()
        cluster.create("t", 4)
        _check(cluster)
        for index in range(4):
            cluster.produce("t", "some", "records", partition=index)
        _check(cluster)
        cluster.kill(next(broker_id for broker_id in cluster.ids if broker_id != cluster.controller()))
        cluster.world.run_for(15_000)
        _check(cluster)
        cluster.produce_until_acked("t", "more")
        _check(cluster)


def _check(cluster: BrokerCluster) -> None:
    for broker in cluster.brokers.values():
        hosted, row = broker.services.replicas.partitions.all(), broker.source.broker()
        assert row.partitions == len(hosted) > 0
        assert row.leaders == sum(each.is_leader for each in hosted)
        assert row.under_replicated == sum(each.under_replicated for each in hosted)
        assert broker.source.under_min_isr() == sum(each.under_min_isr for each in hosted)
        assert row.log_bytes == sum(each.log.segments.size_bytes for each in hosted if each.log is not None)
