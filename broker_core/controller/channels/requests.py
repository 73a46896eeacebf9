"""What the controller tells brokers: LeaderAndIsr, UpdateMetadata and StopReplica, gathered per broker.

A `BrokerRequestBatch` collects what one state change has to tell; `build` turns it into requests for each broker, in this order:
LeaderAndIsr, UpdateMetadata, StopReplica, and of each kind as many as its partitions need: a request is bounded, so that a
broker has carried it out long before its answer is given up, and what was answered is not sent again; but UpdateMetadata cuts
no topic in two. Only brokers that are
registered get any, each with its own broker epoch (KIP-380). Their versions, and so whether brokers are told topic ids, follow from
`inter.broker.protocol.version`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from msgspec import Struct

from broker_core.config.inter_broker import InterBrokerProtocol
from broker_core.controller.backlog import slices, topic_slices
from broker_core.controller.context import ControllerContext, Leadership
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.model import LEADER_DURING_DELETE, NO_EPOCH, NO_LEADER, BrokerInfo, LeaderAndIsr, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.inter_broker import version_between_brokers

LEADER_AND_ISR_KEY, STOP_REPLICA_KEY, UPDATE_METADATA_KEY = ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA

NO_TOPIC_ID = UUID(int=0)
LEADERLESS = Leadership(LeaderAndIsr(NO_LEADER, NO_EPOCH, ()), NO_EPOCH)
_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

Payload = dict[str, Any]


class ControlRequest(Struct, frozen=True):
    """One request for one generation of one broker; `partitions` maps what it is about to each partition's part."""

    broker_id: int
    broker_epoch: int
    controller_epoch: int
    api_key: ApiKey
    version: int
    partitions: Mapping[TopicPartition, Payload]
    payload: Payload

    def deleted(self) -> list[TopicPartition]:
        """Partitions that a StopReplica asks to delete."""
        return [tp for tp, part in self.partitions.items() if part.get("delete_partition", False)]


class BrokerRequestBatch:
    """Collects the requests of one state change; reads the context, never changes it."""

    def __init__(self, controller_id: int, context: ControllerContext, protocol: InterBrokerProtocol) -> None:
        self._controller_id = controller_id
        self._protocol = protocol
        self._context = context
        self._leader_and_isr: dict[int, dict[TopicPartition, Payload]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, Payload]] = {}
        self._metadata: dict[TopicPartition, Payload] = {}
        self._metadata_brokers: set[int] = set()

    def leader_and_isr(
        self, brokers: Iterable[int], tp: TopicPartition, leadership: Leadership, assignment: ReplicaAssignment, *, is_new: bool = False
    ) -> None:
        """Tells the replicas, and all brokers' metadata with them."""
        self.roles(brokers, tp, leadership, assignment, is_new=is_new)
        self.update_metadata(self._context.all_ids(), [tp])

    def roles(
        self, brokers: Iterable[int], tp: TopicPartition, leadership: Leadership, assignment: ReplicaAssignment, *, is_new: bool = False
    ) -> None:
        """Tells the replicas alone, where metadata has nothing new."""
        for broker_id in brokers:
            parts = self._leader_and_isr.setdefault(broker_id, {})
            was_new = tp in parts and bool(parts[tp]["is_new"])
            parts[tp] = _leader_and_isr_part(tp, leadership, assignment, is_new or was_new)

    def stop_replica(self, broker_id: int, tp: TopicPartition, *, delete: bool) -> None:
        parts = self._stop_replica.setdefault(broker_id, {})
        was_delete = tp in parts and bool(parts[tp]["delete_partition"])
        parts[tp] = {
            "partition_index": tp.partition,
            "leader_epoch": self._context.stop_epoch(tp),
            "delete_partition": delete or was_delete,
        }

    def update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """The live brokers and these partitions' leadership; partitions that metadata must not tell of yet are left out."""
        wanted = list(partitions)
        told = [tp for tp in wanted if self._context.is_told(tp)]
        if told or not wanted:
            self._metadata_brokers.update(brokers)
        for tp in told:
            self._metadata[tp] = self._metadata_part(tp, self._context.leadership.get(tp, LEADERLESS))

    def build(self) -> list[ControlRequest]:
        """The requests, brokers by id; the batch is empty afterwards."""
        metadata = [{tp: self._metadata[tp] for tp in part} for part in topic_slices(sorted(self._metadata))] or [{}]
        told = [broker_id for broker_id in sorted(self._metadata_brokers) if broker_id in self._context.brokers]
        requests = [
            *(self._leader_and_isr_request(broker_id, parts) for broker_id, parts in self._registered(self._leader_and_isr)),
            *(self._metadata_request(broker_id, parts) for broker_id in told for parts in metadata),
            *(self._stop_request(broker_id, parts) for broker_id, parts in self._registered(self._stop_replica)),
        ]
        self._leader_and_isr, self._stop_replica = {}, {}
        self._metadata, self._metadata_brokers = {}, set()
        return requests

    def _registered(self, by_broker: dict[int, dict[TopicPartition, Payload]]) -> list[tuple[int, dict[TopicPartition, Payload]]]:
        """Each broker's part, sliced."""
        known = [(broker_id, parts) for broker_id, parts in sorted(by_broker.items()) if broker_id in self._context.brokers]
        return [(broker_id, sliced) for broker_id, parts in known for sliced in _slices(parts)]

    def _metadata_part(self, tp: TopicPartition, leadership: Leadership) -> Payload:
        state, controller_epoch = leadership
        replicas = self._context.assignment(tp).replicas
        return {
            "partition_index": tp.partition,
            "controller_epoch": controller_epoch,
            "leader": LEADER_DURING_DELETE if self._context.is_being_deleted(tp.topic) else state.leader,
            "leader_epoch": state.leader_epoch,
            "isr": state.isr,
            "zk_version": state.zk_version,
            "replicas": replicas,
            "offline_replicas": tuple(replica for replica in replicas if not self._context.is_online(replica, tp)),
        }

    def _leader_and_isr_request(self, broker_id: int, parts: dict[TopicPartition, Payload]) -> ControlRequest:
        leaders = sorted({part["leader"] for part in parts.values()} & self._context.brokers.keys())
        body = {
            "type_": 0,
            "topic_states": self._topic_states(parts),
            "live_leaders": [_live_leader(self._context.brokers[leader], self._context.inter_broker_listener) for leader in leaders],
        }
        return self._request(broker_id, LEADER_AND_ISR_KEY, parts, body)

    def _metadata_request(self, broker_id: int, parts: Mapping[TopicPartition, Payload]) -> ControlRequest:
        body = {
            "type_": 0,
            "topic_states": self._topic_states(parts),
            "live_brokers": [_live_broker(info) for _, info in sorted(self._context.brokers.items())],
        }
        return self._request(broker_id, UPDATE_METADATA_KEY, parts, body)

    def _stop_request(self, broker_id: int, parts: dict[TopicPartition, Payload]) -> ControlRequest:
        states = [{"topic_name": topic, "partition_states": group} for topic, group in _by_topic(parts)]
        return self._request(broker_id, STOP_REPLICA_KEY, parts, {"topic_states": states})

    def _topic_states(self, parts: Mapping[TopicPartition, Payload]) -> list[Payload]:
        ids = self._context.topic_ids
        return [
            {"topic_name": topic, "topic_id": ids.get(topic, NO_TOPIC_ID), "partition_states": group} for topic, group in _by_topic(parts)
        ]

    def _request(self, broker_id: int, api_key: ApiKey, parts: Mapping[TopicPartition, Payload], body: Payload) -> ControlRequest:
        epoch = self._context.brokers[broker_id].epoch
        payload = {
            "controller_id": self._controller_id,
            "is_k_raft_controller": False,
            "controller_epoch": self._context.epoch,
            "broker_epoch": epoch,
            **body,
        }
        version = version_between_brokers(self._protocol, api_key)
        return ControlRequest(broker_id, epoch, self._context.epoch, api_key, version, parts, payload)


def _leader_and_isr_part(tp: TopicPartition, leadership: Leadership, assignment: ReplicaAssignment, is_new: bool) -> Payload:
    state, controller_epoch = leadership
    return {
        "partition_index": tp.partition,
        "controller_epoch": controller_epoch,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
        "partition_epoch": state.zk_version,
        "replicas": assignment.replicas,
        "adding_replicas": assignment.adding,
        "removing_replicas": assignment.removing,
        "is_new": is_new,
        "leader_recovery_state": int(state.recovering),
    }


def _slices(parts: Mapping[TopicPartition, Payload]) -> Iterator[dict[TopicPartition, Payload]]:
    for partitions in slices(sorted(parts)):
        yield {tp: parts[tp] for tp in partitions}


def _by_topic(parts: Mapping[TopicPartition, Payload]) -> list[tuple[str, list[Payload]]]:
    topics: dict[str, list[Payload]] = {}
    for tp in sorted(parts):
        topics.setdefault(tp.topic, []).append(parts[tp])
    return list(topics.items())


def _live_leader(info: BrokerInfo, listener: str | None) -> Payload:
    endpoint = info.inter_broker(listener)
    return {"broker_id": info.broker_id, "host_name": endpoint.host, "port": endpoint.port}


def _live_broker(info: BrokerInfo) -> Payload:
    endpoints = [
        {"port": e.port, "host": e.host, "listener": e.listener, "security_protocol": _SECURITY_PROTOCOLS.get(e.security_protocol, 0)}
        for e in info.endpoints
    ]
    return {"id_": info.broker_id, "endpoints": endpoints, "rack": info.rack}
