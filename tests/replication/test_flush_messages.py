"""With replicas: with `log.flush.interval.messages` nobody acknowledges a record that a power loss could take."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.replication.leadership import Role
from broker_core.storage.log import AppendOrigin
from tests.simulation.kernel.disk import Inode
from tests.support.replica_world import TP, MiniBroker, ReplicaWorld, batch

pytestmark = pytest.mark.spec("S5")

EACH = {"log.flush.interval.messages": "1"}


def refuse_flushes(cluster: ReplicaWorld, broker_id: int) -> Callable[[], None]:
    """The disk takes appends and fails every flush of the partition, until the returned call."""
    disk = cluster.world.life(f"b{broker_id}").disk
    working = disk.flush

    async def refused(inode: Inode, path: str) -> None:
        if "/t-0/" in path:
            raise OSError(errno.EIO, "flush failed", path)
        await working(inode, path)

    disk.flush = refused  # type: ignore[method-assign]
    return lambda: setattr(disk, "flush", working)


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_one_replica_without_power_keeps_what_it_acknowledged(seed: int, acks: int) -> None:
    with ReplicaWorld(seed, EACH, brokers=1) as cluster:
        cluster.create(isr=(1,), replicas=(1,))
        acknowledged: list[str] = []
        for life in range(4):
            waiting = {f"{life}-{number}": cluster.send(1, f"{life}-{number}", acks=acks) for number in range(5)}
            cluster.until(lambda: any(answer() for answer in waiting.values()))  # noqa: B023
            acknowledged += [value for value, answer in waiting.items() if answer() is not None]
            cluster.world.lose_power("b1")
            cluster.start(1)
            cluster.elect(leader=1, isr=(1,))
            kept = cluster.values(1)
            assert [value for value in acknowledged if value not in kept] == []
        assert len(acknowledged) >= 4


def test_without_the_setting_an_acknowledged_record_can_go() -> None:
    """What the tests above would see if nothing waited for the disk."""
    with ReplicaWorld(1, brokers=1) as cluster:
        cluster.create(isr=(1,), replicas=(1,))
        lost = False
        for life in range(10):
            assert cluster.produce(1, f"{life}").error_code is ErrorCode.NONE
            cluster.world.lose_power("b1")
            cluster.start(1)
            cluster.elect(leader=1, isr=(1,))
            lost = lost or f"{life}" not in cluster.values(1)
        assert lost


@pytest.mark.parametrize("seed", range(4))
def test_all_replicas_without_power_keep_what_was_committed(seed: int) -> None:
    """A follower acknowledges by its next fetch, so that waits for its flush too."""
    with ReplicaWorld(seed, EACH) as cluster:
        cluster.create()
        for life in range(3):
            assert cluster.produce(1, f"{life}").error_code is ErrorCode.NONE
            for broker in (1, 2, 3):
                cluster.world.lose_power(f"b{broker}")
            for broker in (1, 2, 3):
                cluster.start(broker)
                assert f"{life}" in cluster.values(broker)
            cluster.elect(leader=1, isr=(1, 2, 3))


def test_the_high_watermark_waits_for_the_leaders_flush() -> None:
    """A consumer does not get what a power loss could take from the only replica."""
    with ReplicaWorld(1, EACH, brokers=1) as cluster:
        cluster.create(isr=(1,), replicas=(1,))
        waiting = cluster.send(1, "a")
        cluster.until(lambda: cluster.leo(1) == 1)
        assert (cluster.hw(1), waiting()) == (0, None)
        cluster.until(lambda: waiting() is not None, 100)
        assert cluster.hw(1) == 1, "and follows at once, not with the next periodic look"


def test_a_follower_that_flushes_does_not_fetch_the_same_again() -> None:
    with ReplicaWorld(1, EACH) as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        assert cluster.brokers[1].metrics.replicated_bytes == 2 * len(batch(("a",)))


def test_a_coordinators_append_hears_of_a_failed_flush() -> None:
    """Group coordinators append at once and wait afterwards."""

    async def commit(broker: MiniBroker) -> ErrorCode:
        info = broker.replicas.appending.append_now(TP, batch(("a",)), AppendOrigin.COORDINATOR)
        try:
            await broker.replicas.appending.wait_replicated(TP, info.last_offset, 60_000)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    with ReplicaWorld(1, EACH, brokers=1) as cluster:
        cluster.create(isr=(1,), replicas=(1,))
        assert cluster.on(1, commit) is ErrorCode.NONE
        refuse_flushes(cluster, 1)
        assert cluster.on(1, commit) is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("acks", [1, -1])
def test_a_leader_that_cannot_flush_answers_with_a_storage_error(acks: int) -> None:
    with ReplicaWorld(1, EACH) as cluster:
        cluster.create()
        heal = refuse_flushes(cluster, 1)
        assert cluster.produce(1, "a", acks=acks).error_code is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.produce(1, "b", acks=acks).error_code is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.partition(1).role is Role.OFFLINE
        heal()
        assert cluster.produce(1, "c", acks=acks).error_code is ErrorCode.KAFKA_STORAGE_ERROR, "until the broker is started again"


def test_a_follower_that_cannot_flush_acknowledges_nothing() -> None:
    """Its data folder is offline: it fetches nothing more until it is started again."""
    with ReplicaWorld(1, EACH) as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        heal = refuse_flushes(cluster, 3)
        assert cluster.produce(1, "b", timeout_ms=1_000).error_code is ErrorCode.REQUEST_TIMED_OUT
        assert cluster.hw(1) == 1
        leader = cluster.partition(1).leader
        assert leader is not None
        cluster.settle(3_000)
        assert leader.followers[3].log_end_offset == 1
        assert cluster.partition(3).role is Role.OFFLINE
        heal()
        cluster.kill(3)
        cluster.start(3)
        cluster.elect(leader=1, isr=(1, 2, 3))
        cluster.until(cluster.caught_up)
