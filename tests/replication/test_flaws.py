"""The rules that the simulator breaks on purpose: with the rule a record survives, with the flaw it is lost."""

from __future__ import annotations

import contextlib

import pytest

from broker_core.errors import CloseConnection, ErrorCode
from broker_core.replication.flaws import NO_FLAWS, Flaws
from tests.support.replica_world import ReplicaWorld


@pytest.mark.spec("B1")
@pytest.mark.parametrize("flawed", [False, True])
def test_b1_high_watermark_truncation(flawed: bool) -> None:
    """KIP-101: a follower restarts before it learned the mark, then leads."""
    with ReplicaWorld(flaws=Flaws(truncate_to_high_watermark=flawed)) as cluster:
        cluster.create(isr=(1, 2), replicas=(1, 2))
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        cluster.settle(6_000)
        assert cluster.produce(1, "b").error_code is ErrorCode.NONE
        assert (cluster.leo(2), cluster.hw(2)) == (2, 1)
        cluster.kill(2)
        cluster.start(2)
        cluster.world.cut("b1", "b2")
        cluster.order(2, state=cluster.state)
        cluster.settle(100)
        cluster.kill(1)
        cluster.elect(leader=2, isr=(2,))
        assert cluster.values(2) == (["a"] if flawed else ["a", "b"])


@pytest.mark.spec("B4")
@pytest.mark.parametrize("flawed", [False, True])
def test_b4_joining_below_the_start_of_the_epoch(flawed: bool) -> None:
    """KAFKA-7128: the new leader's mark lags behind what is committed; a follower at that mark may not join."""
    with ReplicaWorld(flaws=Flaws(join_below_epoch_start=flawed)) as cluster:
        cluster.create(isr=(1, 2))
        cluster.world.cut("b1", "b3")
        cluster.produce(1, "a")
        cluster.world.run_until(lambda: cluster.leo(2) == 1)
        assert cluster.hw(2) == 0, "the successor does not know yet that a is committed"
        cluster.kill(1)
        cluster.elect(leader=2, isr=(2, 1))
        cluster.until(lambda: 3 in cluster.partition(2).leader.isr.maximal)  # type: ignore[union-attr]
        assert (cluster.leo(3) == 0) is flawed, "it may join only with all that the former leader may have committed"


@pytest.mark.spec("B11")
@pytest.mark.parametrize("flawed", [False, True])
def test_b11_requests_for_an_earlier_registration(flawed: bool) -> None:
    """KIP-380: after a fast bounce an order meant for the former life must not be obeyed."""
    with ReplicaWorld(flaws=Flaws(accept_old_generations=flawed)) as cluster:
        cluster.create()
        old = cluster.brokers[2].epoch
        cluster.kill(2)
        cluster.start(2)
        assert cluster.brokers[2].epoch > old
        answer = cluster.order(2, broker_epoch=old)
        assert answer["error_code"] == (ErrorCode.NONE if flawed else ErrorCode.STALE_BROKER_EPOCH)
        assert (cluster.brokers[2].replicas.partitions.get(cluster.log(1).topic_partition) is not None) is flawed
        assert cluster.order(2, broker_epoch=cluster.brokers[2].epoch)["error_code"] == ErrorCode.NONE


@pytest.mark.spec("B11")
@pytest.mark.parametrize("flawed", [False, True])
def test_b11_requests_before_the_registration(flawed: bool) -> None:
    """Until then an order may be meant for the predecessor, so the connection is closed and it comes again."""
    with ReplicaWorld(flaws=Flaws(obey_before_registration=flawed)) as cluster:
        cluster.create()
        old = cluster.brokers[2].epoch
        cluster.kill(2)
        cluster.start(2)
        cluster.brokers[2].epoch = -1
        with contextlib.nullcontext() if flawed else pytest.raises(CloseConnection):
            cluster.order(2, broker_epoch=old)
        assert (cluster.brokers[2].replicas.partitions.get(cluster.log(1).topic_partition) is not None) is flawed


def test_no_flaw_is_on_by_default() -> None:
    assert Flaws() == NO_FLAWS
    assert not any(getattr(NO_FLAWS, name) for name in Flaws.__struct_fields__)
