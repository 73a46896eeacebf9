"""What a cluster answers to the collector's questions, in values that know no client library."""

from __future__ import annotations

from msgspec import Struct

TopicPartition = tuple[str, int]


class Node(Struct, frozen=True, gc=False):
    """A broker as the metadata names it."""

    host: str
    port: int
    rack: str | None


class PartitionMetadata(Struct, frozen=True, gc=False):
    """`leader` is -1 where there is none; `offline` are replicas that are not there."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


class TopicMetadata(Struct, frozen=True):
    topic_id: str | None
    internal: bool
    partitions: dict[int, PartitionMetadata]


class Metadata(Struct, frozen=True):
    """`controller` is what a ZooKeeper-mode broker names so; one in KRaft mode names any broker."""

    brokers: dict[int, Node]
    controller: int | None
    topics: dict[str, TopicMetadata]


class Controller(Struct, frozen=True, gc=False):
    """`node_id` is null where there is none now; `epoch` where it is not told."""

    node_id: int | None
    epoch: int | None


class Move(Struct, frozen=True, gc=False):
    """A reassignment under way."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ListedGroup(Struct, frozen=True, gc=False):
    """`kind` is Kafka's group type in small letters; classic where none is told. `state` is null from brokers before 2.6."""

    group: str
    protocol_type: str
    kind: str
    state: str | None


class Folder(Struct, frozen=True):
    """A log folder of a broker; `sizes_bytes` are those of its replicas that were asked for, `error` Kafka's name where it is offline."""

    path: str
    error: str | None
    total_bytes: int | None
    free_bytes: int | None
    sizes_bytes: dict[TopicPartition, int]


class TopicSettings(Struct, frozen=True):
    """`own` are set for the topic, `min_insync_replicas` and `unclean` what holds with the brokers' defaults; null where not told."""

    own: dict[str, str]
    min_insync_replicas: int | None
    unclean: bool | None
