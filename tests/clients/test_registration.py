"""The test of a registration against a real cluster."""

from __future__ import annotations

from console.gateway.connection import Connection
from console.gateway.trial import try_out
from tests.support.cluster import TestCluster


def test_a_cluster_is_known_by_any_of_its_servers(cluster: TestCluster) -> None:
    found = try_out(Connection(cluster.bootstrap_servers))
    assert (found.ok, found.level, found.remarks) == (True, "ok", [])
    assert sorted(found.brokers) == [1, 2, 3]
    assert found.controller_id in found.brokers
    assert found.kafka_id
    cluster.stop(2)
    half = try_out(Connection(cluster.bootstrap_servers))
    assert (half.ok, half.level, half.kafka_id) == (True, "warn", found.kafka_id)
    assert [row.answers for row in half.servers] == [True, False, True]
    assert "refuses connections" in half.remarks[0]
