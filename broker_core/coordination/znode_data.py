"""What the znodes hold: Kafka's JSON (kafka.zk.ZkData of 3.9), encoded and decoded.

Every decoder raises `Malformed` for bytes that are not what Kafka or Highwater would have written; the caller names the
path. Topic ids are written as Kafka prints them: 16 bytes in URL-safe base64 without padding.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Struct, field

from broker_core.config.key import INT_MAX
from broker_core.coordination.store import Malformed
from broker_core.model import NO_LEADER, BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition

PORT_MAX = 65_535
_RECOVERING = 1


class TopicAssignment(Struct, frozen=True):
    """The data of `/brokers/topics/T`: replica lists by partition; `adding` and `removing` only while one is moved."""

    topic_id: UUID | None
    partitions: Mapping[int, tuple[int, ...]]
    adding: Mapping[int, tuple[int, ...]]
    removing: Mapping[int, tuple[int, ...]]


_Int32 = Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]
_Lists = dict[_Int32, tuple[_Int32, ...]]


class _TopicData(Struct):
    """The same as it is written: ten thousand partitions are read in a few milliseconds."""

    partitions: _Lists
    topic_id: str | None = None
    adding_replicas: _Lists = field(default_factory=dict)
    removing_replicas: _Lists = field(default_factory=dict)


def dump(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value)


def load(data: bytes, what: str) -> dict[str, Any]:
    """The JSON object in `data`; `what` names it in the error."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise Malformed(f"{what} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Malformed(f"{what} is not a JSON object: {data[:80]!r}")
    return value


def int32(value: Any, low: int = 0, high: int = INT_MAX) -> int:
    """A number that requests can carry; `ValueError` for another, which would keep them all from being sent."""
    if isinstance(value, float) or not low <= int(value) <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    return int(value)


def topic_id_text(topic_id: UUID) -> str:
    return base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()


def parse_topic_id(text: str) -> UUID:
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except ValueError as error:
        raise Malformed(f"{text!r} is not a topic id: {error}") from error


def encode_broker(info: BrokerInfo, timestamp_ms: int) -> bytes:
    """`/brokers/ids/N`, version 5; host and port repeat the first PLAINTEXT endpoint as old clients want it. `first_epoch` and
    `early_failover` are additions that Apache Kafka's brokers read over."""
    plain = next((e for e in info.endpoints if e.security_protocol == "PLAINTEXT"), None)
    value: dict[str, Any] = {
        "version": 5,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "endpoints": [f"{e.listener}://{_bracketed(e.host)}:{e.port}" for e in info.endpoints],
        "jmx_port": -1,
        "timestamp": str(timestamp_ms),
        "listener_security_protocol_map": {e.listener: e.security_protocol for e in info.endpoints},
        "features": {},
    }
    if info.rack is not None:
        value["rack"] = info.rack
    if info.first_epoch >= 0:
        value["first_epoch"] = info.first_epoch
    if info.early_failover:
        value["early_failover"] = True
    return dump(value)


def decode_broker(broker_id: int, data: bytes, epoch: int) -> BrokerInfo:
    """`epoch` is the znode's czxid."""
    value = load(data, f"the registration of broker {broker_id}")
    protocols = value.get("listener_security_protocol_map", {})
    try:
        endpoints = tuple(_parse_endpoint(text, protocols) for text in value["endpoints"])
        if not endpoints:
            raise ValueError("no endpoints")
        rack, first_epoch, early = value.get("rack"), int(value.get("first_epoch", -1)), value.get("early_failover") is True
        return BrokerInfo(broker_id, endpoints, rack if rack is None else str(rack), epoch, first_epoch, early)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"the registration of broker {broker_id} is malformed: {error!r}") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _parse_endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return Endpoint(listener, host.strip("[]"), int32(port, high=PORT_MAX), protocols.get(listener, listener))


def encode_topic(assignment: TopicAssignment) -> bytes:
    """`/brokers/topics/T`, version 3 (version 2 without a topic id is read, never written)."""
    value: dict[str, Any] = {
        "version": 3,
        "partitions": _replica_lists(assignment.partitions),
        "adding_replicas": _replica_lists(assignment.adding),
        "removing_replicas": _replica_lists(assignment.removing),
    }
    if assignment.topic_id is not None:
        value["topic_id"] = topic_id_text(assignment.topic_id)
    return dump(value)


def decode_topic(topic: str, data: bytes) -> TopicAssignment:
    try:
        read = msgspec.json.decode(data, type=_TopicData)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_topic_leniently(topic, data)
    topic_id = parse_topic_id(read.topic_id) if read.topic_id else None
    return TopicAssignment(topic_id, read.partitions, read.adding_replicas, read.removing_replicas)


def _decode_topic_leniently(topic: str, data: bytes) -> TopicAssignment:
    """Numbers may be strings, as other tools may write them; says what is wrong."""
    value = load(data, f"the assignment of topic {topic!r}")
    topic_id = value.get("topic_id")
    try:
        return TopicAssignment(
            parse_topic_id(topic_id) if topic_id else None,
            _parse_lists(value["partitions"]),
            _parse_lists(value.get("adding_replicas", {})),
            _parse_lists(value.get("removing_replicas", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"the assignment of topic {topic!r} is malformed: {error!r}") from error


def _replica_lists(lists: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(lists[partition]) for partition in sorted(lists)}


def _parse_lists(value: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    return {int32(partition): tuple(int32(replica) for replica in replicas) for partition, replicas in value.items()}


def encode_partition_state(state: LeaderAndIsr, controller_epoch: int) -> bytes:
    """`/brokers/topics/T/partitions/P/state`; the znode's own version is `state.zk_version`, not part of the data."""
    value = {
        "controller_epoch": controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
    }
    return dump(value | ({"leader_recovery_state": _RECOVERING} if state.recovering else {}))


def decode_partition_state(tp: TopicPartition, data: bytes, zk_version: int) -> tuple[LeaderAndIsr, int]:
    """The leadership and the epoch of the controller that wrote it."""
    value = load(data, f"the state of {tp}")
    try:
        isr = tuple(int32(replica) for replica in value["isr"])
        leader, leader_epoch = int32(value["leader"], NO_LEADER), int32(value["leader_epoch"], high=INT_MAX - 1)
        recovering = int32(value.get("leader_recovery_state", 0), high=_RECOVERING) == _RECOVERING
        return LeaderAndIsr(leader, leader_epoch, isr, zk_version, recovering), int32(value["controller_epoch"])
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"the state of {tp} is malformed: {error!r}") from error


def encode_broker_epochs(epochs: Mapping[int, int]) -> bytes:
    return dump({"version": 1, "epochs": {str(broker_id): epoch for broker_id, epoch in sorted(epochs.items())}})


def decode_broker_epochs(data: bytes) -> dict[int, int]:
    value = load(data, "/controller_brokers")
    try:
        return {int(broker_id): int(epoch) for broker_id, epoch in value["epochs"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"/controller_brokers is malformed: {error!r}") from error


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    return dump({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})


def decode_controller(data: bytes) -> int:
    """The id of the broker that is the controller."""
    value = load(data, "/controller")
    try:
        return int(value["brokerid"])
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"/controller is malformed: {error!r}") from error


def decode_controller_epoch(data: bytes) -> int:
    """The epoch of the last controller, in plain digits."""
    try:
        return int32(data, high=INT_MAX - 1)
    except ValueError as error:
        raise Malformed(f"/controller_epoch is malformed: {error}") from error


def encode_isr_change(partitions: Iterable[TopicPartition]) -> bytes:
    return dump({"version": 1, "partitions": _partition_list(partitions)})


def decode_isr_change(data: bytes) -> list[TopicPartition]:
    return _parse_partitions(load(data, "an ISR change notification"))


def encode_preferred_election(partitions: Iterable[TopicPartition]) -> bytes:
    return dump({"version": 1, "partitions": _partition_list(partitions)})


def decode_preferred_election(data: bytes) -> list[TopicPartition]:
    return _parse_partitions(load(data, "/admin/preferred_replica_election"))


def _partition_list(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]


def _parse_partitions(value: Mapping[str, Any]) -> list[TopicPartition]:
    try:
        return [TopicPartition(str(item["topic"]), int(item["partition"])) for item in value["partitions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"a list of partitions is malformed: {error!r}") from error


def encode_reassignment(targets: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    """`/admin/reassign_partitions`, the way of asking for a reassignment that KIP-455 replaced."""
    items = [{"topic": tp.topic, "partition": tp.partition, "replicas": list(targets[tp])} for tp in sorted(targets)]
    return dump({"version": 1, "partitions": items})


def decode_reassignment(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    value = load(data, "/admin/reassign_partitions")
    try:
        return {
            TopicPartition(str(item["topic"]), int(item["partition"])): tuple(int(replica) for replica in item["replicas"])
            for item in value["partitions"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"/admin/reassign_partitions is malformed: {error!r}") from error


def encode_log_dir_event(broker_id: int) -> bytes:
    return dump({"version": 1, "broker": broker_id, "event": 1})


def decode_log_dir_event(data: bytes) -> int:
    """The id of the broker that lost a log folder."""
    value = load(data, "a log dir event")
    try:
        return int(value["broker"])
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"a log dir event is malformed: {error!r}") from error


def encode_config(overrides: Mapping[str, str]) -> bytes:
    return dump({"version": 1, "config": dict(overrides)})


def decode_config(data: bytes) -> dict[str, str]:
    if not data:
        return {}  # the parent of a user's client ids, as ZooKeeper's tools make it
    value = load(data, "a config znode")
    config = value.get("config", {})
    if not isinstance(config, dict):
        raise Malformed("a config znode is malformed: config is not an object")
    return {str(name): str(text) for name, text in config.items()}


def encode_config_change(entity_path: str) -> bytes:
    return dump({"version": 2, "entity_path": entity_path})


def decode_config_change(data: bytes) -> str:
    """The entity, such as `topics/orders` or `brokers/1`; `brokers/<default>` for all brokers."""
    value = load(data, "a config change notification")
    if value.get("version") == 1 and "entity_type" in value:
        return f"{value['entity_type']}/{value.get('entity_name', '')}"
    if not isinstance(value.get("entity_path"), str):
        raise Malformed("a config change notification has no entity_path")
    return str(value["entity_path"])


def encode_cluster_id(cluster_id: str) -> bytes:
    return dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    value = load(data, "/cluster/id")
    if not isinstance(value.get("id"), str):
        raise Malformed("/cluster/id has no id")
    return str(value["id"])
