"""What a picture of the cluster has: nodes of three kinds, what joins them, and how much was left out."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from broker_core.contract.groups import Trend
from broker_core.contract.live import AsOf, Count
from broker_core.contract.partitions import PartitionState

Kind = Literal["broker", "topic", "group"]
KINDS: tuple[Kind, ...] = ("broker", "topic", "group")


class Focus(NamedTuple):
    """The one thing of which only what it touches is shown."""

    kind: Kind
    name: str

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.name}"


class BrokerNode(Struct, frozen=True, kw_only=True):
    """`leads` and `replicas` count the partitions that were looked at."""

    broker_id: int
    state: str
    leads: int
    replicas: int


class TopicNode(Struct, frozen=True, kw_only=True):
    topic: str
    state: PartitionState
    partitions: Count
    groups: int


class GroupNode(Struct, frozen=True, kw_only=True):
    group: str
    state: str | None
    trend: Trend
    lag: Count


class Stands(Struct, frozen=True, kw_only=True):
    """Partitions of a topic that a broker has, by how it stands in them."""

    topic: str
    broker_id: int
    leads: int = 0
    in_sync: int = 0
    joining: int = 0
    out_of_sync: int = 0
    absent: Annotated[int, Meta(description="the broker does not run, or the partition has no leader")] = 0


class Reads(Struct, frozen=True, kw_only=True):
    """A group that reads a topic, with its lag there; null where that is not known."""

    group: str
    topic: str
    lag: Count


class Topology(Struct, frozen=True, kw_only=True):
    """A part of the cluster: what is in trouble first, then what has the most lag and the most traffic."""

    focus: str | None
    brokers: tuple[BrokerNode, ...]
    topics: tuple[TopicNode, ...]
    groups: tuple[GroupNode, ...]
    stands: tuple[Stands, ...]
    reads: tuple[Reads, ...]
    more_brokers: int
    more_topics: int
    more_groups: Annotated[int, Meta(description="that read one of these topics, at least")]
    more_partitions: Annotated[int, Meta(description="of these topics, which were not looked at")]
    as_of: AsOf
