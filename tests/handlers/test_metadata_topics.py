"""Metadata, topic changes, settings and elections through whole brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from broker_core.controller.vigil import DOUBT_MS
from broker_core.errors import ErrorCode
from broker_core.handlers import metadata_rows
from broker_core.handlers.encoded import CACHED_RESPONSES_MAX, EncodedCache
from broker_core.protocol.api import ApiKey
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("Z6")

NO_ID = UUID(int=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster(brokers=3, **{"auto.leader.rebalance.enable": "false"}) as cluster:
        cluster.start_all()
        yield cluster


def metadata(cluster: BrokerCluster, names: list[Any] | None, version: int = 12, **more: Any) -> Any:
    rows = None if names is None else [{"name": name, "topic_id": None} for name in names]
    return cluster.ask(cluster.ids[0], ApiKey.METADATA, version, {"topics": rows, "allow_auto_topic_creation": False, **more})


def create(cluster: BrokerCluster, *topics: dict[str, Any], broker: int | None = None, version: int = 7, **more: Any) -> list[int]:
    defaults = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    payload = {"topics": [defaults | topic for topic in topics], "timeout": 20_000, **more}
    answer = cluster.ask(broker or cluster.controller(), ApiKey.CREATE_TOPICS, version, payload)
    return [row.error_code for row in answer.topics]


def test_brokers_controller_and_cluster(cluster: BrokerCluster) -> None:
    answer = metadata(cluster, [])
    assert [(broker.node_id, broker.host, broker.port) for broker in answer.brokers] == [(1, "b1", 9092), (2, "b2", 9092), (3, "b3", 9092)]
    assert answer.controller_id == cluster.controller()
    assert answer.cluster_id == cluster.brokers[1].services.cluster_id
    assert answer.topics == ()


def test_topics_by_name_by_id_and_all(cluster: BrokerCluster) -> None:
    cluster.create("named", partitions=2)
    (topic,) = metadata(cluster, ["named"]).topics
    assert [p.partition_index for p in topic.partitions] == [0, 1]
    assert sorted(topic.partitions[0].replica_nodes) == [1, 2, 3]
    by_id = metadata(cluster, None, topics=[{"name": None, "topic_id": topic.topic_id}]).topics
    assert [t.name for t in by_id] == ["named"]
    assert "named" in [t.name for t in metadata(cluster, None).topics]
    assert "named" in [t.name for t in metadata(cluster, [], version=0).topics]


def test_many_partitions_are_answered_in_steps(cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in order, whatever the number of steps."""
    monkeypatch.setattr(metadata_rows, "ROWS_PER_STEP", 2)
    cluster.create("stepped", partitions=5)
    for version in (0, 8, 12):
        (topic,) = metadata(cluster, ["stepped"], version).topics
        assert [p.partition_index for p in topic.partitions] == [0, 1, 2, 3, 4]


def test_unknown_topics(cluster: BrokerCluster) -> None:
    answer = metadata(cluster, ["nothing", "a b"])
    assert [t.error_code for t in answer.topics] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION]
    unknown = [{"name": None, "topic_id": UUID(int=99)}]
    assert metadata(cluster, None, topics=unknown).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_asking_creates_a_topic_if_both_sides_want_it(cluster: BrokerCluster) -> None:
    assert metadata(cluster, ["wanted"]).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    first = metadata(cluster, ["wanted"], allow_auto_topic_creation=True)
    assert first.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert cluster.leader("wanted") > 0
    cluster.until(lambda: cluster.isr(1, "wanted") != ())
    assert metadata(cluster, ["wanted"]).topics[0].error_code == ErrorCode.NONE


def test_authorized_operations_only_when_asked(cluster: BrokerCluster) -> None:
    cluster.create("ops")
    assert metadata(cluster, ["ops"], version=9).topics[0].topic_authorized_operations == -(2**31)
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    answer = metadata(cluster, ["ops"], version=9, **asked)
    assert answer.topics[0].topic_authorized_operations == 3576
    assert answer.cluster_authorized_operations > 0


def test_a_dead_leader_is_said_to_be_none(cluster: BrokerCluster) -> None:
    with BrokerCluster(brokers=2) as small:
        small.start_all()
        assert create(small, {"name": "lone", "num_partitions": -1, "replication_factor": -1, "assignments": _on([2])}) == [0]
        small.kill(2)
        small.until(lambda: len(small.brokers[1].services.metadata.live_brokers()) == 1)
        small.until(lambda: small.known_leader("lone") == -1)
        (partition,) = metadata(small, ["lone"]).topics[0].partitions
        assert (partition.error_code, partition.leader_id, partition.offline_replicas) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, (2,))
        (old,) = metadata(small, ["lone"], version=0).topics[0].partitions
        assert old.replica_nodes == ()


def test_a_leader_whose_port_refuses_is_named_to_nobody_while_another_is_sought(cluster: BrokerCluster) -> None:
    """Also where an answer that names it was kept; what follows on it in the cluster's own view stays as it is."""
    cluster.create("doubted")
    leader = cluster.leader("doubted")
    asked = next(broker_id for broker_id in cluster.ids if broker_id != leader)
    known = cluster.brokers[asked].services.metadata

    def told() -> tuple[int, int, tuple[int, ...]]:
        answer = cluster.ask(asked, ApiKey.METADATA, 12, {"topics": [{"name": "doubted", "topic_id": None}]})
        (partition,) = answer.topics[0].partitions
        return partition.error_code, partition.leader_id, partition.offline_replicas

    assert told() == (ErrorCode.NONE, leader, ())
    known.doubt(leader, True)
    assert told() == (ErrorCode.LEADER_NOT_AVAILABLE, -1, ())
    assert known.is_alive(leader)
    known.doubt(leader, False)
    assert told() == (ErrorCode.NONE, leader, ())


def test_a_broker_that_has_just_gone_is_named_a_little_longer_and_leads_nothing() -> None:
    """librdkafka forgets the new leader where one answer names it and the old one no more."""
    with BrokerCluster(brokers=3) as small:
        small.start_all()
        assert create(small, {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": _on([3, 1, 2])}) == [0]
        small.until(lambda: small.leads("t") and small.leader("t") == 3)
        small.world.run_for(2_000)
        small.kill(3)
        small.until(lambda: small.known_leader("t") in (1, 2))
        known = small.brokers[1].services.metadata
        small.until(lambda: not known.is_alive(3))

        def named() -> tuple[list[int], list[int], tuple[int, ...]]:
            answer, described = metadata(small, ["t"]), small.ask(1, ApiKey.DESCRIBE_CLUSTER, 0, {})
            gone = answer.topics[0].partitions[0].offline_replicas
            return [broker.node_id for broker in answer.brokers], [broker.broker_id for broker in described.brokers], gone

        assert named() == ([1, 2, 3], [1, 2], (3,))
        small.world.run_for(DOUBT_MS)
        assert named() == ([1, 2], [1, 2], (3,))


def _on(*assignments: list[int]) -> list[dict[str, Any]]:
    return [{"partition_index": index, "broker_ids": replicas} for index, replicas in enumerate(assignments)]


def test_cached_answers_end_with_the_metadata_version() -> None:
    cache = EncodedCache()
    cache.put(1, "a", b"1")
    assert (cache.get(1, "a"), cache.get(1, "b"), cache.get(2, "a")) == (b"1", None, None)
    cache.put(2, "b", b"2")
    assert cache.get(2, "b") == b"2"
    assert cache.get(2, "a") is None
    for number in range(CACHED_RESPONSES_MAX + 5):
        cache.put(2, number, b"x")
    assert cache.get(2, 0) is None
    assert cache.get(2, CACHED_RESPONSES_MAX) == b"x"


def test_answers_are_kept_for_no_longer_requests_than_they_are(cluster: BrokerCluster) -> None:
    """What names a topic again and again, or any text beside an id, would be kept with a short answer that has it once."""
    cluster.create("kept")
    kept = cluster.brokers[cluster.ids[0]].services.metadata_responses._bodies
    (topic,) = metadata(cluster, ["kept"]).topics
    kept.clear()
    metadata(cluster, ["kept"] * 1000)
    by_id = {"name": None, "topic_id": topic.topic_id}
    metadata(cluster, None, topics=[by_id, *(by_id | {"name": f"any {number}"} for number in range(1000))])
    metadata(cluster, None, topics=[by_id | {"name": "x" * 10_000}])
    assert all(len(str(shape)) < 1000 for shape in kept)


def test_only_the_controller_creates(cluster: BrokerCluster) -> None:
    """Clients find it by Metadata."""
    other = next(broker for broker in cluster.ids if broker != cluster.controller())
    assert create(cluster, {"name": "elsewhere"}, broker=other) == [ErrorCode.NOT_CONTROLLER]


def test_creation_is_checked_topic_by_topic(cluster: BrokerCluster) -> None:
    codes = create(
        cluster,
        {"name": "fine"},
        {"name": "both", "num_partitions": 2, "assignments": _on([1])},
        {"name": "config", "configs": [{"name": "retention.ms", "value": None}]},
        {"name": "unknown-config", "configs": [{"name": "retention", "value": "1"}]},
        {"name": "twice"},
        {"name": "twice"},
    )
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert create(cluster, {"name": "v3", "num_partitions": -1}, version=3) == [ErrorCode.NONE]


def test_creation_that_is_late_says_so(cluster: BrokerCluster) -> None:
    payload = {"name": "late", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    answer = cluster.ask(cluster.controller(), ApiKey.CREATE_TOPICS, 7, {"topics": [payload], "timeout": 0})
    assert answer.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert cluster.leader("late") > 0


def test_deletion_by_name_and_id(cluster: BrokerCluster) -> None:
    cluster.create("doomed-1")
    cluster.create("doomed-2")
    controller = cluster.controller()
    topic_id = cluster.brokers[controller].services.metadata.topic_id("doomed-2")
    rows = [{"name": "doomed-1", "topic_id": NO_ID}, {"name": None, "topic_id": topic_id}, {"name": None, "topic_id": UUID(int=5)}]
    answer = cluster.ask(controller, ApiKey.DELETE_TOPICS, 6, {"topics": rows, "timeout": 30_000})
    assert [row.error_code for row in answer.responses] == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
    for broker in cluster.brokers.values():
        cluster.until(lambda broker=broker: not broker.services.metadata.has_topic("doomed-1"))
        cluster.until(lambda broker=broker: all(log.topic_partition.topic != "doomed-1" for log in broker.services.logs.all()))


def test_partitions_grow(cluster: BrokerCluster) -> None:
    cluster.create("growing")
    controller = cluster.controller()
    payload = {"topics": [{"name": "growing", "count": 3, "assignments": None}], "timeout": 20_000, "validate_only": False}
    assert cluster.ask(controller, ApiKey.CREATE_PARTITIONS, 3, payload).results[0].error_code == ErrorCode.NONE
    assert cluster.leader("growing", 2) > 0
    assert cluster.ask(controller, ApiKey.CREATE_PARTITIONS, 3, payload).results[0].error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.spec("O1")
def test_settings_are_changed_while_running(cluster: BrokerCluster) -> None:
    """A change made at one broker is told by all from then on, and in force at all."""
    cluster.create("tuned")
    cluster.until(lambda: all(broker.services.metadata.has_topic("tuned") for broker in cluster.brokers.values()))
    configs = [{"name": "retention.ms", "config_operation": 0, "value": "777"}]
    payload = {"resources": [{"resource_type": 2, "resource_name": "tuned", "configs": configs}], "validate_only": False}
    assert cluster.ask(2, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, payload).responses[0].error_code == ErrorCode.NONE
    cluster.until(lambda: cluster.brokers[3].services.metadata.has_topic("tuned"))
    wanted = {"resources": [{"resource_type": 2, "resource_name": "tuned", "configuration_keys": ["retention.ms"]}]}
    (entry,) = cluster.ask(3, ApiKey.DESCRIBE_CONFIGS, 4, wanted | {"include_synonyms": True}).results[0].configs
    assert (entry.value, entry.config_source, entry.synonyms[0].source) == ("777", 1, 1)
    cluster.until(lambda: all(broker.config.topic("tuned").retention_ms == 777 for broker in cluster.brokers.values()))


@pytest.mark.parametrize(
    ("kind", "name", "configs", "code"),
    [
        (2, "nothing", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (4, "9", [], ErrorCode.INVALID_REQUEST),
        (1, "1", [], ErrorCode.INVALID_REQUEST),
        (4, "1", [{"name": "log.dirs", "config_operation": 0, "value": "/x"}], ErrorCode.INVALID_REQUEST),
        (4, "1", [{"name": "min.insync.replicas", "config_operation": 0, "value": None}], ErrorCode.INVALID_REQUEST),
        (4, "1", [{"name": "min.insync.replicas", "config_operation": 7, "value": "1"}], ErrorCode.INVALID_REQUEST),
    ],
)
def test_wrong_changes_of_settings(cluster: BrokerCluster, kind: int, name: str, configs: list[Any], code: ErrorCode) -> None:
    payload = {"resources": [{"resource_type": kind, "resource_name": name, "configs": configs}], "validate_only": False}
    assert cluster.ask(1, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, payload).responses[0].error_code == code


@pytest.mark.spec("Z4")
def test_a_reassignment_is_listed_and_ends(cluster: BrokerCluster) -> None:
    """Two replicas become another two."""
    assert create(cluster, {"name": "moved", "num_partitions": -1, "replication_factor": -1, "assignments": _on([1, 2])}) == [0]
    controller = cluster.controller()
    rows = [{"name": "moved", "partitions": [{"partition_index": 0, "replicas": [3, 2]}]}]
    answer = cluster.ask(controller, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": rows, "timeout": 10_000})
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    everything = {"topics": None, "timeout": 1_000}
    (listed,) = cluster.ask(controller, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, everything).topics
    assert (listed.partitions[0].adding_replicas, listed.partitions[0].removing_replicas) == ((3,), (1,))
    cluster.until(lambda: sorted(cluster.brokers[controller].services.metadata.partitions("moved")[0].replicas) == [2, 3])
    assert cluster.ask(controller, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, everything).topics == ()


@pytest.mark.spec("O3", "R8")
def test_a_preferred_election_mends_the_imbalance() -> None:
    """The restarted broker leads nothing until it is elected again."""
    with BrokerCluster(brokers=3, **{"auto.leader.rebalance.enable": "false"}) as cluster:
        cluster.start_all()
        assert create(cluster, {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": _on([2, 1, 3])}) == [0]
        cluster.stop(2)
        cluster.start(2)
        cluster.until(lambda: len(cluster.isr(2, "t")) == 3)
        assert cluster.leader("t") != 2
        cluster.until(lambda: len(cluster.isr(cluster.controller(), "t")) == 3)
        payload = {"election_type": 0, "topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout": 10_000}
        answer = cluster.ask(cluster.controller(), ApiKey.ELECT_LEADERS, 2, payload)
        assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
        cluster.until(lambda: cluster.known_leader("t") == 2)
        again = cluster.ask(cluster.controller(), ApiKey.ELECT_LEADERS, 2, payload)
        assert again.replica_election_results[0].partition_result[0].error_code == ErrorCode.ELECTION_NOT_NEEDED
        everything = payload | {"topic_partitions": None}
        assert cluster.ask(cluster.controller(), ApiKey.ELECT_LEADERS, 2, everything).replica_election_results == ()
