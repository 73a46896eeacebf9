"""Retention on an idle log is a change that watchers hear of."""

from __future__ import annotations

import pytest

from broker_core.model import TopicPartition
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("S4")


def test_watchers_hear_of_a_log_start_that_retention_moved() -> None:
    with BrokerCluster(brokers=1, **{"log.retention.check.interval.ms": "1000"}) as cluster:
        cluster.start_all()
        cluster.create("t", configs={"segment.bytes": "300", "retention.bytes": "1", "min.insync.replicas": "1"})
        replicas = cluster.brokers[1].services.replicas
        heard: list[tuple[TopicPartition, int]] = []
        replicas.delayed.watch(lambda tp: heard.append((tp, replicas.partitions.leader_log(tp).log_start_offset)))
        for number in range(4):
            cluster.produce("t", f"{number}" * 150)
        cluster.until(lambda: bool(heard) and heard[-1][1] > 0)
