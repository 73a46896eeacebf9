"""The simulated operator: what it asks for comes to pass, and a partition that is elsewhere in the end is noticed."""

from __future__ import annotations

from msgspec.structs import replace

from broker_core.coordination.layout import topic_path
from broker_core.coordination.store import SetData
from broker_core.coordination.znode_data import decode_topic, encode_topic
from broker_core.model import TopicPartition
from tests.simulation.moves import Operator, is_moving
from tests.support.broker_cluster import BrokerCluster

TP = TopicPartition("t", 0)


def test_a_move_or_its_cancellation_is_carried_out_and_seen() -> None:
    with BrokerCluster(brokers=4, seed=6) as cluster:
        cluster.start_all()
        cluster.create("t", factor=3)
        operator = Operator(cluster, [TP])
        for number in range(1, 7):
            operator.move(TP)
            cluster.until(lambda number=number: operator.counts["reassignments accepted"] == number)  # type: ignore[misc]
            cluster.world.run_for(5_000)
            cluster.until(lambda: not is_moving(cluster, TP))
            assert operator.violations() == []
        assert operator.counts["reassignments cancelled"] > 0


def test_a_partition_where_nobody_wanted_it_is_noticed() -> None:
    with BrokerCluster(brokers=3, seed=6) as cluster:
        cluster.start_all()
        cluster.create("t", factor=2)
        operator = Operator(cluster, [TP])
        assert operator.violations() == []
        ensemble = cluster.world.ensemble
        path = topic_path("t")
        elsewhere = replace(decode_topic("t", ensemble.tree.get(path).data), partitions={0: (7, 8)})
        ensemble.tree.apply([SetData(path, encode_topic(elsewhere), -1)], 1, 0)
        assert operator.violations() == ["t-0 is on (7, 8), nobody asked for that"]
        ensemble.tree.apply([SetData(path, encode_topic(replace(elsewhere, adding={0: (8,)})), -1)], 1, 0)
        assert "t-0 is still being moved" in operator.violations()
