"""What consumers read and what followers copy are counted apart: the console's "Read" must not grow by replication."""

from __future__ import annotations

import pytest

from broker_core.telemetry.metrics import BrokerMetrics
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("O1")


def test_bytes_sent_to_followers_are_not_bytes_read() -> None:
    with BrokerCluster(brokers=3) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "x" * 1000)
        leader: BrokerMetrics = cluster.brokers[cluster.leader("t")].metrics
        assert (leader.fetched_bytes, leader.replicated_bytes >= 2000) == (0, True)
        cluster.consume("t")
        assert 1000 < leader.fetched_bytes < 1200
