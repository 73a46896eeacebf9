"""Several fetchers per source broker share its partitions, and a change of their number loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.controller.leader_elections import ElectionType
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_fetch import encode_fetch_request
from broker_core.replication.following import fetch_session_handler, replica_fetcher
from broker_core.replication.following.fetch_session_handler import FetchRequestData, FetchSessionHandler
from broker_core.replication.following.replica_fetcher_manager import fetcher_number
from tests.support.broker_cluster import BrokerCluster
from tests.support.replica_world import TOPIC_ID, ReplicaWorld, log_values

pytestmark = pytest.mark.spec("R7")

PARTITIONS = 6
BROKER_RESOURCE = 4


@pytest.mark.parametrize(
    ("topic", "partition", "of_two", "of_three", "of_sixteen"),
    [
        ("events", 0, 1, 0, 9),
        ("events", 1, 0, 2, 8),
        ("t", 7, 1, 0, 3),
        ("__consumer_offsets", 7, 0, 1, 0),
        ("orders.eu-1", 1, 0, 2, 12),
        ("überraschung", 1, 1, 1, 9),
        ("15b3la", 42, 0, 0, 0),
    ],
)
def test_the_choice_is_javas(topic: str, partition: int, of_two: int, of_three: int, of_sixteen: int) -> None:
    """Worked out by Java; the last one hits the least 32-bit number."""
    tp = TopicPartition(topic, partition)
    assert [fetcher_number(tp, count) for count in (1, 2, 3, 16)] == [0, of_two, of_three, of_sixteen]


def fetchers(cluster: BrokerCluster, broker_id: int) -> int:
    """How many run on a broker."""
    return sum(task.get_name().startswith("fetch from broker") for task in cluster.world.life(f"b{broker_id}").spawn.tasks)


def resize(cluster: BrokerCluster, count: int) -> None:
    change = {"name": "num.replica.fetchers", "config_operation": 0, "value": str(count)}
    for broker in cluster.ids:
        resource = {"resource_type": BROKER_RESOURCE, "resource_name": str(broker), "configs": [change]}
        answer = cluster.ask(broker, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validate_only": False})
        assert answer.responses[0].error_code == ErrorCode.NONE, answer
    cluster.until(lambda: all(broker.config.current.num_replica_fetchers == count for broker in cluster.brokers.values()))


def logs(cluster: BrokerCluster, partition: int) -> list[list[str]]:
    """The records of a partition on each broker."""
    found = [broker.services.logs.get(TopicPartition("t", partition)) for broker in cluster.brokers.values()]
    return [log_values(log) for log in found if log is not None]


@pytest.mark.spec("R4")
def test_a_topic_is_named_to_its_leader_as_the_controller_named_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller of 2.7 tells leaders no topic ids: Apache Kafka's broker answers those in the followers' logs with UNKNOWN_TOPIC_ID."""
    versions: list[int] = []

    def spied(version: int, *args: Any, **options: Any) -> bytes:
        versions.append(version)
        return encode_fetch_request(version, *args, **options)

    monkeypatch.setattr(replica_fetcher, "encode_fetch_request", spied)
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "by id")
        assert set(versions) == {17}
        cluster.speaks_ids = False
        cluster.announce()
        for elected in (False, True):
            if elected:
                cluster.elect(1, (1, 2, 3))
            cluster.produce(1, "on its way")
            versions.clear()
            cluster.produce(1, "by name")
            cluster.until(cluster.caught_up)
            assert set(versions) == {12}, "in the same leader epoch, and in the next"
        assert cluster.values(2) == cluster.values(3) == ["by id", *["on its way", "by name"] * 2]
        assert cluster.log(2).topic_id == TOPIC_ID, "the log keeps it"
        cluster.speaks_ids = True
        cluster.announce()
        cluster.produce(1, "on its way")
        versions.clear()
        cluster.produce(1, "by id again")
        cluster.until(cluster.caught_up)
        assert set(versions) == {17}


def test_all_fetchers_replicate() -> None:
    with BrokerCluster(brokers=2, **{"num.replica.fetchers": "3"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        for partition in range(PARTITIONS):
            assert cluster.produce("t", f"{partition}", partition=partition).error_code == ErrorCode.NONE
            assert logs(cluster, partition) == [[f"{partition}"]] * 2
        assert [fetchers(cluster, broker) for broker in cluster.ids] == [3, 3]
        cluster.world.run_for(2_000)
        before_ms = cluster.world.scheduler.wall_ms()
        cluster.produce("t", "prompt")
        assert cluster.world.scheduler.wall_ms() - before_ms < 100, "no fetch waits behind another fetcher's that is held"
        sessions = [len(broker.services.replicas.fetch_sessions) for broker in cluster.brokers.values()]
        assert sessions == [3, 3], "each has a session of its own"


def test_partitions_that_the_next_requests_name_do_not_wait_for_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that could not name them all is answered at once, not held for the records of those that it names."""
    monkeypatch.setattr(fetch_session_handler, "PARTITIONS_PER_REQUEST", 1)
    with BrokerCluster(brokers=2, **{"num.replica.fetchers": "1", "replica.fetch.wait.max.ms": "4000"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        cluster.world.run_for(10_000)
        resize(cluster, 2)
        before_ms = cluster.world.scheduler.wall_ms()
        for partition in reversed(range(PARTITIONS)):
            assert cluster.produce("t", "prompt", partition=partition).error_code == ErrorCode.NONE
        assert cluster.world.scheduler.wall_ms() - before_ms < 1_000


@pytest.mark.parametrize("seed", range(3))
def test_a_resize_loses_nothing(seed: int) -> None:
    """Also of answers that are on their way to a fetcher that has just given its partitions up."""
    with BrokerCluster(brokers=2, seed=seed, **{"num.replica.fetchers": "3"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        cluster.world.delay("b1", "b2", 100)
        sent: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
        for count in (2, 4, 2, 1):
            for step in range(2):
                for partition, values in sent.items():
                    values.append(f"{count}-{step}")
                    assert cluster.produce("t", values[-1], partition=partition).error_code == ErrorCode.NONE
            for partition, values in sent.items():
                values.append(f"{count}-open")
                cluster.produce("t", values[-1], partition=partition, acks=1)
            resize(cluster, count)
        cluster.until(lambda: all(logs(cluster, partition) == [values] * 2 for partition, values in sent.items()))
        assert all(len(cluster.isr(1, "t", partition)) == 2 for partition in sent), "nobody left the ISR"
        cluster.until(lambda: [fetchers(cluster, broker) for broker in cluster.ids] == [1, 1])


def test_after_a_resize_every_record_is_fetched_once() -> None:
    with BrokerCluster(brokers=2, **{"num.replica.fetchers": "3"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        resize(cluster, 2)
        cluster.world.run_for(2_000)
        for partition in range(PARTITIONS):
            cluster.produce("t", "a" * 100, partition=partition)
        cluster.world.run_for(2_000)
        for broker in cluster.brokers.values():
            assert broker.services.metrics.replicated_bytes == broker.services.metrics.produced_bytes


def test_a_fetcher_without_partitions_ends_as_well() -> None:
    with BrokerCluster(brokers=2, **{"num.replica.fetchers": "3"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        cluster.ask(cluster.controller(), ApiKey.DELETE_TOPICS, 5, {"topic_names": ["t"], "timeout": 10_000})
        cluster.world.run_for(2_000)
        assert [fetchers(cluster, broker) for broker in cluster.ids] == [3, 3]
        resize(cluster, 1)
        cluster.world.run_for(1)
        assert [fetchers(cluster, broker) for broker in cluster.ids] == [1, 1]


def test_a_follower_of_a_leader_that_lost_power_and_leads_again_does_not_wait_for_its_former_life() -> None:
    """No machine without power says that it is gone: the fetch on its way to it would wait for replica.socket.timeout.ms."""
    tp = TopicPartition("t", 0)
    with BrokerCluster(brokers=3, seed=2) as cluster:
        cluster.start_all()
        assignment = {"partition_index": 0, "broker_ids": [2, 3, 1]}
        topic = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": [assignment], "configs": []}
        cluster.ask(cluster.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout": 30_000})
        cluster.produce_until_acked("t", "before")
        cluster.world.lose_power("b2")
        cluster.start(2)
        cluster.until(lambda: cluster.known_leader("t") in (1, 3) and len(cluster.isr(1, "t")) == 3)
        active = cluster.brokers[cluster.controller()].services.controller
        cluster.world.run(f"b{cluster.controller()}", lambda node: active.elect_leaders([tp], ElectionType.PREFERRED))
        cluster.until(lambda: cluster.leads("t") and cluster.leader("t") == 2)
        cluster.produce_until_acked("t", "after")
        cluster.world.run_for(8_000)
        assert logs(cluster, 0) == [["before", "after"]] * 3
        assert sorted(cluster.isr(2, "t")) == [1, 2, 3]


def test_requests_are_not_made_for_a_broker_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would name all partitions: of thousands that takes longer than the pause between two tries."""
    made: list[int] = []
    build = FetchSessionHandler.build

    def counted(plan: FetchSessionHandler, *given: Any) -> FetchRequestData | None:
        body = build(plan, *given)
        made.extend([len(body.wanted)] if body is not None else [])
        return body

    with BrokerCluster(brokers=2, **{"min.insync.replicas": "1"}) as cluster:
        cluster.start_all()
        cluster.create("t", PARTITIONS)
        monkeypatch.setattr(FetchSessionHandler, "build", counted)
        gone = cluster.controller()
        cluster.kill(gone)
        made.clear()
        cluster.world.run_for(4_000)
        assert len(made) <= 2
        cluster.start(gone)
        cluster.until(lambda: all(len(cluster.isr(gone, "t", partition)) == 2 for partition in range(PARTITIONS)))
