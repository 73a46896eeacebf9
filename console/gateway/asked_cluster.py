"""A cluster as the collector asks it: one request a method, to the broker that is named. Blocking, for threads.

It has a client of its own: a broker that fails costs what it was asked, not the client with everybody's requests, and its list of brokers
is younger than what `KafkaCluster` needs. All that comes may be hostile: what cannot be read is none.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import kafka.errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import DescribeGroupsRequest, DescribeLogDirsRequest, DescribeQuorumRequest, ListGroupsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.protocol.metadata import MetadataRequest

from broker_core.contract import feed
from broker_core.errors import ErrorCode
from console.gateway.admin_clients import connect
from console.gateway.answers import (
    Controller,
    Folder,
    ListedGroup,
    Metadata,
    Move,
    Node,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    TopicSettings,
)
from console.gateway.connection import Connection
from console.gateway.errors import ClusterUnreachable, GatewayError, from_code, from_kafka

SCHEMAS = "console.gateway.schemas"
METADATA_MAX_AGE_MS = 5_000
LATEST, EARLIEST = -1, -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
OFFSET_FETCH_OF_MANY = 8
ASSIGNED_LIMIT = 10_000
"""Partitions of one member that are told; an assignment is what a client wrote."""
T = TypeVar("T")


class ConsumerGroupDescribeRequest(ApiMessage, load_json=SCHEMAS):  # type: ignore[misc, call-arg]
    """Of KIP-848."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=SCHEMAS):  # type: ignore[misc, call-arg]
    """Known to the library by being defined."""


class AskedCluster:
    """Each method raises `GatewayError`; `ClusterUnreachable` where nobody answers in time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._client: Any = None

    def close(self) -> None:
        """Begins anew from the bootstrap list at the next question."""
        with self._lock:
            gone, self._client = self._client, None
        if gone is not None:
            gone.close()

    def _admin(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = connect(self.connection, metadata_max_age_ms=METADATA_MAX_AGE_MS)
            return self._client

    def _ask(self, question: Callable[[Any], T]) -> T:
        try:
            return question(self._admin())
        except kafka.errors.IncompatibleBrokerVersion as error:
            raise from_code(ErrorCode.UNSUPPORTED_VERSION, None) from error
        except (kafka.errors.KafkaError, ValueError, TypeError) as error:
            raise from_kafka(error, self.connection.bootstrap_servers) from error
        except (OSError, RuntimeError) as error:
            raise ClusterUnreachable(f"{self.connection.bootstrap_servers}: {error}") from error

    def send(self, request: Any, node: int | None = None) -> Any:
        """The answer of that broker, or of any. The library has no public way to send one request to one broker."""
        return self._ask(lambda admin: admin._manager.run(admin._manager.send, request, node))

    # --- the cluster

    def metadata(self, node: int | None = None) -> Metadata:
        """Of all topics; from that broker, or from any."""
        answer = self.send(MetadataRequest(topics=None, allow_auto_topic_creation=False), node)
        brokers = {b.node_id: Node(b.host, b.port, b.rack) for b in answer.brokers}
        topics = {t.name: _topic(t) for t in answer.topics if not t.error_code and t.name}
        controller = getattr(answer, "controller_id", -1)
        return Metadata(brokers, controller if controller >= 0 else None, topics)

    def quorum_controller(self, node: int | None = None) -> Controller | None:
        """Of a cluster in KRaft mode; None of one in ZooKeeper mode, which does not know the question."""
        topic = DescribeQuorumRequest.TopicData
        wanted = [topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])]
        try:
            answer = self.send(DescribeQuorumRequest(topics=wanted), node)
        except GatewayError as error:
            if error.code == ErrorCode.UNSUPPORTED_VERSION:
                return None
            raise
        _check(answer.error_code)
        for found in (p for t in answer.topics for p in t.partitions):
            _check(found.error_code)
            return Controller(found.leader_id if found.leader_id >= 0 else None, found.leader_epoch)
        return Controller(None, None)

    def moves(self) -> dict[TopicPartition, Move]:
        found = self._ask(lambda admin: admin.list_partition_reassignments())
        return {
            (tp.topic, tp.partition): Move(*(tuple(move[key]) for key in ("replicas", "adding_replicas", "removing_replicas")))
            for tp, move in found.items()
        }

    def settings(self, names: Sequence[str]) -> dict[str, TopicSettings]:
        """Of topics that are there."""
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found = self._ask(lambda admin: admin.describe_configs(asked, config_filter="all"))
        return {name: _settings(entries) for name, entries in found.get("topic", {}).items() if isinstance(entries, Mapping)}

    # --- partitions

    def offsets(self, leader: int, partitions: Iterable[TopicPartition], timestamp: int, isolation: int = 0) -> dict[TopicPartition, int]:
        """`LATEST` or `EARLIEST` of what that broker leads; without those that it refuses to tell of."""
        topic = ListOffsetsRequest.ListOffsetsTopic
        row = topic.ListOffsetsPartition
        asked = [
            topic(name=name, partitions=[row(partition_index=number, timestamp=timestamp) for number in numbers])
            for name, numbers in _by_topic(partitions).items()
        ]
        answer = self.send(ListOffsetsRequest(isolation_level=isolation, topics=asked, min_version=2), leader)
        return {(t.name, p.partition_index): p.offset for t in answer.topics for p in t.partitions if not p.error_code and p.offset >= 0}

    def folders(self, broker: int, partitions: Iterable[TopicPartition]) -> list[Folder]:
        topic = DescribeLogDirsRequest.DescribableLogDirTopic
        asked = [topic(topic=name, partitions=numbers) for name, numbers in _by_topic(partitions).items()]
        answer = self.send(DescribeLogDirsRequest(topics=asked), broker)
        _check(getattr(answer, "error_code", 0) or 0)
        return [_folder(result) for result in answer.results]

    # --- groups

    def groups(self, broker: int) -> list[ListedGroup]:
        """Those that the broker coordinates."""
        answer = self.send(ListGroupsRequest(min_version=0), broker)
        _check(answer.error_code)
        return [
            ListedGroup(g.group_id, g.protocol_type or "", (getattr(g, "group_type", "") or "classic").lower(), g.group_state or None)
            for g in answer.groups
        ]

    def classic_groups(self, broker: int, names: Sequence[str]) -> dict[str, feed.Group]:
        """Without their offsets; without those that it refuses to describe."""
        answer = self.send(DescribeGroupsRequest(groups=list(names), include_authorized_operations=False), broker)
        return {g.group_id: _classic(g) for g in answer.groups if not g.error_code}

    def consumer_groups(self, broker: int, names: Sequence[str]) -> dict[str, feed.Group]:
        """The same of groups of the protocol of KIP-848, whose epoch is told as the generation."""
        answer = self.send(ConsumerGroupDescribeRequest(group_ids=list(names), include_authorized_operations=False), broker)
        return {g.group_id: _consumer(g) for g in answer.groups if not g.error_code}

    def committed(self, broker: int, names: Sequence[str]) -> dict[str, tuple[feed.Committed, ...]]:
        """What each group has committed; without those that are refused. Brokers before 3.0 are asked one by one."""
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        try:
            wanted = [group(group_id=name, topics=None) for name in names]
            answer = self.send(
                OffsetFetchRequest(groups=wanted, min_version=OFFSET_FETCH_OF_MANY, max_version=OFFSET_FETCH_OF_MANY), broker
            )
        except GatewayError as error:
            if error.code != ErrorCode.UNSUPPORTED_VERSION:
                raise
            return dict(self._committed_of_each(broker, names))
        return {g.group_id: _committed(g) for g in answer.groups if not g.error_code}

    def _committed_of_each(self, broker: int, names: Sequence[str]) -> Iterator[tuple[str, tuple[feed.Committed, ...]]]:
        for name in names:
            answer = self.send(OffsetFetchRequest(group_id=name, topics=None, min_version=2, max_version=OFFSET_FETCH_OF_MANY - 1), broker)
            if not answer.error_code:
                yield name, _committed(answer)


def _check(code: int) -> None:
    if code:
        raise from_code(code, None)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def _topic(told: Any) -> TopicMetadata:
    topic_id = getattr(told, "topic_id", None)
    name = base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode() if topic_id is not None and topic_id.int else None
    return TopicMetadata(name, bool(told.is_internal), {p.partition_index: _partition(p) for p in told.partitions})


def _partition(told: Any) -> PartitionMetadata:
    epoch, offline = getattr(told, "leader_epoch", -1), getattr(told, "offline_replicas", None) or ()
    return PartitionMetadata(told.leader_id, epoch, tuple(told.replica_nodes), tuple(told.isr_nodes), tuple(offline))


def _settings(entries: Mapping[str, Any]) -> TopicSettings:
    def value(name: str) -> str | None:
        return (entries.get(name) or {}).get("value")

    least, unclean = value("min.insync.replicas"), value("unclean.leader.election.enable")
    own = {name: entry["value"] for name, entry in entries.items() if str(entry.get("config_source")) == "DYNAMIC_TOPIC_CONFIG"}
    return TopicSettings(
        {name: text for name, text in own.items() if text is not None},
        int(least) if least is not None and least.isdecimal() else None,
        None if unclean is None else unclean == "true",
    )


def _folder(told: Any) -> Folder:
    sizes = {(t.name, p.partition_index): p.partition_size for t in told.topics for p in t.partitions if not p.is_future_key}
    total, free = (size if size is not None and size >= 0 else None for size in (told.total_bytes, told.usable_bytes))
    return Folder(told.log_dir, _name(told.error_code) if told.error_code else None, total, free, sizes)


def _name(code: int) -> str:
    return str(from_code(code, None).name)


def _classic(told: Any) -> feed.Group:
    members = tuple(_classic_member(member, told.protocol_type) for member in told.members)
    return feed.Group(told.group_id, told.group_state, told.protocol_type, told.protocol_data or None, None, members, ())


def _classic_member(told: Any, protocol_type: str) -> feed.Member:
    assigned = _assigned(told.member_assignment) if protocol_type == "consumer" else None
    return feed.Member(told.member_id, told.client_id, told.client_host, getattr(told, "group_instance_id", None), assigned)


def _assigned(written: Any) -> dict[str, list[int]] | None:
    """By topic; None of what is no consumer's assignment, or too long."""
    if not written:
        return {}
    try:
        read = written if hasattr(written, "assigned_partitions") else ConsumerProtocolAssignment.decode(written)
        found: dict[str, list[int]] = {}
        for topic, numbers in read.assigned_partitions:
            found.setdefault(topic, []).extend(numbers)
    except Exception:  # whatever a library can stumble over in bytes that any client may have written
        return None
    return found if sum(map(len, found.values())) <= ASSIGNED_LIMIT else None


def _consumer(told: Any) -> feed.Group:
    members = tuple(
        feed.Member(m.member_id, m.client_id, m.client_host, m.instance_id, {t.topic_name: list(t.partitions) for t in _held(m)})
        for m in told.members
    )
    return feed.Group(told.group_id, told.group_state, "consumer", told.assignor_name or None, told.group_epoch, members, ())


def _held(member: Any) -> list[Any]:
    """Of the topics that a member has."""
    return list(member.assignment.topic_partitions)


def _committed(told: Any) -> tuple[feed.Committed, ...]:
    return tuple(
        feed.Committed(t.name, p.partition_index, p.committed_offset)
        for t in told.topics or ()
        for p in t.partitions
        if not p.error_code and p.committed_offset >= 0
    )
