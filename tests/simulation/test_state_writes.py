"""The checks at each write of a partition's state: what a wrong controller or leader wrote is noticed at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_core.coordination.layout import state_path
from broker_core.coordination.store import SetData
from broker_core.coordination.znode_data import decode_partition_state, encode_partition_state
from broker_core.model import LeaderAndIsr, TopicPartition
from tests.simulation.checks import Watch
from tests.support.broker_cluster import BrokerCluster

TP = TopicPartition("t", 0)
OTHERS_SESSION = 1


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=4, seed=5, **{"min.insync.replicas": "2"}) as cluster:
        cluster.start_all()
        cluster.create("t", factor=3)
        cluster.world.run_for(10_000)
        yield cluster


def stored(cluster: BrokerCluster) -> tuple[LeaderAndIsr, int]:
    """The partition's state and the epoch of the controller that wrote it."""
    znode = cluster.world.ensemble.tree.get(state_path(TP))
    return decode_partition_state(TP, znode.data, znode.version)


def present(cluster: BrokerCluster) -> LeaderAndIsr:
    return stored(cluster)[0]


def write(cluster: BrokerCluster, leader: int, epoch: int, *isr: int) -> None:
    """As the controller does, but the decision is the test's."""
    ensemble = cluster.world.ensemble
    data = encode_partition_state(LeaderAndIsr(leader, epoch, isr), stored(cluster)[1])
    ensemble._fire(ensemble.tree.apply([SetData(state_path(TP), data, -1)], OTHERS_SESSION, 0)[1])


def test_a_member_without_a_committed_record_is_noticed_when_it_is_written(cluster: BrokerCluster) -> None:
    """StrongIsr: the follower was cut off, left the ISR, and lacks what was committed without it."""
    watch = Watch(cluster, "t", 1)
    leader, isr = present(cluster).leader, present(cluster).isr
    behind = next(broker_id for broker_id in isr if broker_id != leader)
    cluster.world.isolate(f"b{behind}")
    cluster.until(lambda: behind not in present(cluster).isr)
    cluster.produce_until_acked("t", "value")
    assert watch.violations == []
    write(cluster, leader, present(cluster).leader_epoch + 1, *present(cluster).isr, behind)
    assert watch.violations == [f"broker {behind} is in the ISR of t-0 without all that is committed from offset 0 on"]


def test_a_state_that_contradicts_itself_or_its_predecessor_is_noticed(cluster: BrokerCluster) -> None:
    watch = Watch(cluster, "t", 1)
    state = present(cluster)
    stranger = next(broker_id for broker_id in cluster.ids if broker_id not in state.isr)
    other = next(broker_id for broker_id in state.isr if broker_id != state.leader)
    write(cluster, stranger, state.leader_epoch + 1, *state.isr)
    write(cluster, state.leader, state.leader_epoch + 2, *state.isr, stranger)
    write(cluster, other, state.leader_epoch + 2, *state.isr)
    write(cluster, other, state.leader_epoch + 1, *state.isr)
    assert [text.split(" is ")[0] for text in watch.violations] == [
        "t-0",
        f"the ISR {(*state.isr, stranger)} of t-0",
        f"the leader of t-0 changed from {state.leader} to {other} within epoch {state.leader_epoch + 2}",
        f"t-0 went back from epochs {state.leader_epoch + 2}, 1 to {state.leader_epoch + 1}, 1",
    ]


def test_a_leader_that_does_not_count_on_a_member_is_noticed(cluster: BrokerCluster) -> None:
    """Its high watermark would pass the member by, which the store lets be elected."""
    watch = Watch(cluster, "t", 1)
    state = present(cluster)
    behind = next(broker_id for broker_id in state.isr if broker_id != state.leader)
    cluster.world.isolate(f"b{behind}")
    cluster.until(lambda: behind not in present(cluster).isr)
    state = present(cluster)
    cluster.until(lambda: cluster.brokers[state.leader].services.replicas.partitions.get(TP).leader_epoch == state.leader_epoch)  # type: ignore[union-attr]
    cluster.until(lambda: cluster.leads("t"))
    write(cluster, state.leader, state.leader_epoch, *state.isr, behind)
    assert watch.violations == [f"broker {state.leader} leads t-0 counting on {state.isr}, the store on {(*state.isr, behind)}"]
