"""Brokers with two data folders: replicas move between them while they serve, and one of the folders fails (KIP-112, KIP-113)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.replication.leadership import Role
from broker_core.storage.log import PartitionLog
from tests.support.broker_cluster import BrokerCluster
from tests.support.log_world import all_bytes

pytestmark = pytest.mark.spec("S6")

DATA, MORE = "/data", "/more"
T0 = TopicPartition("t", 0)
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


@contextmanager
def started(**settings: str) -> Iterator[BrokerCluster]:
    with BrokerCluster(**{"log.dirs": f"{DATA},{MORE}", "min.insync.replicas": "2", **settings}) as cluster:
        cluster.start_all()
        yield cluster


def log_of(cluster: BrokerCluster, broker_id: int, tp: TopicPartition = T0) -> PartitionLog:
    log = cluster.brokers[broker_id].services.logs.get(tp)
    assert log is not None
    return log


def other(folder: str) -> str:
    return MORE if folder == DATA else DATA


def alter(cluster: BrokerCluster, broker_id: int, folder: str, topic: str = "t", *partitions: int) -> list[ErrorCode]:
    rows = [{"name": topic, "partitions": list(partitions or (0,))}]
    answer = cluster.ask(broker_id, ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": folder, "topics": rows}]})
    return [ErrorCode(row.error_code) for row in answer.results[0].partitions]


def described(cluster: BrokerCluster, broker_id: int) -> dict[str, Any]:
    return {row.log_dir: row for row in cluster.ask(broker_id, ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None}).results}


def values(count: int, name: str = "v") -> list[str]:
    return [f"{name} {number} {'x' * 1000}" for number in range(count)]


def whole(cluster: BrokerCluster) -> bool:
    return all(len(cluster.isr(broker_id, "t")) == 3 for broker_id in cluster.brokers)


def level(cluster: BrokerCluster) -> bool:
    return len({log_of(cluster, broker_id).high_watermark for broker_id in cluster.brokers}) == 1


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_replica_moves_while_it_serves(role: str) -> None:
    """Records come all the while; in the end its folder is the other one, and its bytes are those of the others."""
    with started() as cluster:
        cluster.create("t")
        cluster.produce_until_acked("t", *values(50))
        leader = cluster.leader("t")
        mover = leader if role == "leader" else leader % 3 + 1
        before = log_of(cluster, mover)
        target = other(before.data_folder)
        assert alter(cluster, mover, target) == [ErrorCode.NONE]
        for number in range(20):
            cluster.produce_until_acked("t", *values(20, f"during {number}"))
        cluster.until(lambda: log_of(cluster, mover).data_folder == target)
        cluster.produce_until_acked("t", "after")
        assert whole(cluster)
        assert cluster.leader("t") == leader, "nobody noticed"
        assert len(cluster.consume("t")) == 451
        cluster.until(lambda: level(cluster))
        assert len({bytes(all_bytes(log_of(cluster, broker_id))) for broker_id in cluster.brokers}) == 1
        cluster.world.run_for(70_000)
        left = sorted(path for path in cluster.world.life(f"b{mover}").disk.state.folders if "/t-0" in path)
        assert left == [f"{target}/t-0"]
        assert alter(cluster, mover, target) == [ErrorCode.NONE], "it is there"


def test_a_throttled_move_is_described_survives_kill_and_power_loss_and_ends_when_it_may() -> None:
    with started(**{THROTTLE: "20000"}) as cluster:
        cluster.create("t")
        for number in range(10):
            cluster.produce_until_acked("t", *values(100, str(number)))
        mover = cluster.leader("t") % 3 + 1
        source = log_of(cluster, mover).data_folder
        target = other(source)
        assert alter(cluster, mover, target) == [ErrorCode.NONE]
        cluster.world.run_for(4_000)
        logs = cluster.brokers[mover].services.logs
        future = logs.future(T0)
        assert future is not None
        assert 0 < future.log_end_offset < 1000
        rows = {
            (path, each.partition_index, each.is_future_key): each
            for path, folder in described(cluster, mover).items()
            for topic in folder.topics
            if topic.name == "t"
            for each in topic.partitions
        }
        row = rows[target, 0, True]
        assert rows.keys() == {(source, 0, False), (target, 0, True)}
        assert 0 < row.offset_lag < 1000
        assert 0 < row.partition_size < rows[source, 0, False].partition_size
        name = future.directory
        for end in (cluster.world.kill, cluster.world.lose_power):
            end(f"b{mover}")
            cluster.brokers.pop(mover)
            cluster.start(mover)
            again = cluster.brokers[mover].services.logs.future(T0)
            assert again is not None
            assert again.directory == name
            cluster.until(lambda: whole(cluster))
        cluster.produce_until_acked("t", "more")
        cluster.brokers[mover].config.set_broker({THROTTLE: str(2**63 - 1)})
        cluster.until(lambda: log_of(cluster, mover).data_folder == target)
        cluster.until(lambda: level(cluster))
        assert len({bytes(all_bytes(log_of(cluster, broker_id))) for broker_id in cluster.brokers}) == 1
        assert len(cluster.consume("t")) == 1001


def test_a_move_is_taken_back_and_what_the_answers_say() -> None:
    with started(**{THROTTLE: "1000"}) as cluster:
        cluster.create("t")
        for number in range(10):
            cluster.produce_until_acked("t", *values(100, str(number)))
        mover = cluster.leader("t")
        source, logs = log_of(cluster, mover).data_folder, cluster.brokers[mover].services.logs
        assert alter(cluster, mover, "/elsewhere") == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert alter(cluster, mover, other(source)) == [ErrorCode.NONE]
        assert alter(cluster, mover, other(source)) == [ErrorCode.NONE], "it is on its way"
        assert logs.future(T0) is not None
        assert alter(cluster, mover, source) == [ErrorCode.NONE]
        assert logs.future(T0) is None
        assert log_of(cluster, mover).data_folder == source
        long = "l" * 220
        cluster.create(long)
        assert alter(cluster, mover, MORE, long) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert alter(cluster, mover, MORE, "nobody-has-it", 3) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        cluster.create("one", factor=1)
        stranger = cluster.leader("one") % 3 + 1
        assert alter(cluster, stranger, MORE, "one") == [ErrorCode.REPLICA_NOT_AVAILABLE]


@pytest.mark.parametrize("folder", [DATA, MORE])
def test_a_wish_from_before_the_replica_is_kept_for_its_creation(folder: str) -> None:
    with started() as cluster:
        for broker_id in cluster.ids:
            assert alter(cluster, broker_id, folder, "t", *range(4)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 4
        cluster.create("t", partitions=4)
        cluster.until(lambda: all(broker.services.logs.get(TopicPartition("t", 3)) for broker in cluster.brokers.values()))
        where = {log_of(cluster, broker_id, TopicPartition("t", n)).data_folder for broker_id in cluster.ids for n in range(4)}
        assert where == {folder}


def test_one_of_two_folders_fails_and_the_other_goes_on() -> None:
    """What is in it is led by others, LeaderAndIsr is answered KAFKA_STORAGE_ERROR, new replicas come to the other; a restart heals."""
    with started() as cluster:
        cluster.create("t", partitions=4)
        victim = cluster.leader("t", 0)
        partitions = [TopicPartition("t", number) for number in range(4)]
        lost = log_of(cluster, victim).data_folder
        gone = [tp for tp in partitions if log_of(cluster, victim, tp).data_folder == lost]
        kept = [tp for tp in partitions if tp not in gone]
        assert len(gone) == len(kept) == 2
        cluster.world.life(f"b{victim}").disk.failing_writes.append(f"{lost}/")
        cluster.produce("t", "during")

        def moved_away() -> bool:
            states = [broker.services.metadata.partition(tp) for broker in cluster.brokers.values() for tp in gone]
            return all(state is not None and state.leader not in (-1, victim) and victim not in state.isr for state in states)

        cluster.until(moved_away)
        replicas = cluster.brokers[victim].services.replicas.partitions
        assert {tp: replicas.get(tp).role is Role.OFFLINE for tp in partitions} == {tp: tp in gone for tp in partitions}  # type: ignore[union-attr]
        for number in range(4):
            assert cluster.produce("t", "after", partition=number).error_code == ErrorCode.NONE
        assert all(len(cluster.isr(victim, "t", tp.partition)) == 3 for tp in kept)
        rows = described(cluster, victim)
        assert (rows[lost].error_code, list(rows[lost].topics)) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
        well = rows[other(lost)]
        assert (well.error_code, well.total_bytes > 0, well.usable_bytes > 0) == (ErrorCode.NONE, True, True)
        assert alter(cluster, victim, lost, "t", 0) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert alter(cluster, victim, other(lost), "t", gone[0].partition) == [ErrorCode.KAFKA_STORAGE_ERROR]
        cluster.create("new", partitions=2)
        cluster.until(lambda: all(len(cluster.isr(victim, "new", number)) == 3 for number in range(2)))
        fields = cluster.brokers[victim].source.broker()
        assert [(folder.path, folder.offline_since_ms is not None) for folder in (fields.log_dir, *fields.other_log_dirs)] == [
            (lost, True),
            (other(lost), False),
        ]

        cluster.stop(victim)

        cluster.start(victim)
        cluster.until(lambda: all(len(cluster.isr(victim, "t", number)) == 3 for number in range(4)), 120_000)
        assert cluster.consume("t")[-1] == "after"
        assert {log_of(cluster, victim, tp).data_folder for tp in gone} == {lost}


def test_a_broker_starts_without_one_of_its_folders_and_makes_nothing_anew() -> None:
    with started() as cluster:
        cluster.create("t", partitions=2)
        cluster.produce_until_acked("t", "a")
        victim = cluster.leader("t")
        lost = log_of(cluster, victim).data_folder
        there = TopicPartition("t", 1) if log_of(cluster, victim, TopicPartition("t", 1)).data_folder != lost else None
        cluster.stop(victim)
        cluster.unusable[victim] = {lost: OSError(5, "no more")}
        cluster.start(victim)
        hosted = cluster.brokers[victim].services.replicas.partitions
        cluster.until(lambda: (found := hosted.get(T0)) is not None and found.role is Role.OFFLINE)
        if there is not None:
            cluster.until(lambda: len(cluster.isr(victim, "t", 1)) == 3)
        assert cluster.brokers[victim].services.logs.get(T0) is None
        assert victim not in cluster.isr(cluster.leader("t"), "t")
        cluster.unusable.clear()
        cluster.stop(victim)
        cluster.start(victim)
        cluster.until(lambda: whole(cluster))


def test_the_source_or_the_target_fails_during_a_move() -> None:
    """The target's failure leaves the replica as it was; the source's takes it offline, and nothing takes its place half copied."""
    for failing in ("target", "source"):
        with started(**{THROTTLE: "20000"}) as cluster:
            cluster.create("t")
            for number in range(10):
                cluster.produce_until_acked("t", *values(60, str(number)))
            mover = cluster.leader("t")
            source = log_of(cluster, mover).data_folder
            assert alter(cluster, mover, other(source)) == [ErrorCode.NONE]
            cluster.world.run_for(3_000)
            cluster.world.life(f"b{mover}").disk.failing_writes.append(f"{source if failing == 'source' else other(source)}/")
            cluster.produce("t", "during")
            logs = cluster.brokers[mover].services.logs
            cluster.until(lambda logs=logs: bool(logs.folders.offline))  # type: ignore[misc]
            if failing == "target":
                cluster.until(lambda logs=logs: logs.future(T0) is None)  # type: ignore[misc]
                cluster.produce_until_acked("t", "after")
                assert cluster.leader("t") == mover
                assert alter(cluster, mover, other(source)) == [ErrorCode.KAFKA_STORAGE_ERROR]
            else:
                cluster.until(lambda mover=mover: cluster.known_leader("t") not in (-1, mover))  # type: ignore[misc]
                cluster.produce_until_acked("t", "after")
                assert logs.get(T0) is None
            cluster.stop(mover)
            cluster.start(mover)
            cluster.until(lambda: whole(cluster))
            assert cluster.consume("t")[-1] == "after"
