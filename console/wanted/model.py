"""What is wanted, what is there, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

Assignment = tuple[tuple[int, ...], ...]
"""The replicas of partition 0, 1, …, the preferred leader first."""
Limits = Mapping[str, float]
"""By Kafka's name: `producer_byte_rate` in bytes a second of each broker, and so on."""
DriftState = Literal["missing", "differs", "impossible", "unmanaged"]
BROKERS = "brokers"
"""The object that the default settings of all brokers are."""


class Place(NamedTuple):
    """`line` counts from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class WantedTopic(Struct, frozen=True):
    """What is None is left as it is, and the brokers' default where the topic is made. A setting that is not named is the default."""

    place: Place
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Assignment | None = None
    configs: Mapping[str, str] = {}

    @property
    def size(self) -> int | None:
        return self.partitions if self.assignment is None else len(self.assignment)


class WantedQuota(Struct, frozen=True):
    """A limit that is not named is none."""

    place: Place
    limits: Limits


class Wanted(Struct, frozen=True):
    """`broker_configs` are the defaults of all brokers that are set while they run, `quotas` those of clients by entity (quotas.py); None:
    they are nobody's business here."""

    topics: Mapping[str, WantedTopic]
    broker_configs: Mapping[str, str] | None = None
    quotas: Mapping[str, WantedQuota] | None = None


class ActualTopic(Struct, frozen=True):
    """`configs` are the topic's own; where replicas are being moved, `assignment` is what they will be."""

    assignment: Assignment
    configs: Mapping[str, str] = {}
    internal: bool = False


class Actual(Struct, frozen=True):
    """`load` has the replicas of each broker that is online; `quotas` is None where the cluster has none to tell of."""

    topics: Mapping[str, ActualTopic]
    broker_configs: Mapping[str, str] = {}
    load: Mapping[int, int] = {}
    quotas: Mapping[str, Limits] | None = None


class Change(Struct, frozen=True):
    label: str
    before: Any
    after: Any


class Steps(Struct, frozen=True):
    """What mends a drift, in this order; `moves` are replicas by partition."""

    create: bool = False
    configs: Mapping[str, str | None] = {}
    grow_to: int | None = None
    grown: Assignment | None = None
    moves: Mapping[int, tuple[int, ...]] = {}
    quota: Mapping[str, float | None] = {}

    def __bool__(self) -> bool:
        return bool(self.create or self.configs or self.grow_to or self.moves or self.quota)


class ToldDrift(Struct, frozen=True):
    """One object that is not as it is wanted, as pages and REST have it. `impossible` says what no mending can do."""

    object: Annotated[str, Meta(description="topic/NAME, quota/ENTITY, or brokers: the default settings of all of them")]
    state: DriftState
    sentence: str
    place: Annotated[str | None, Meta(description="file:line where it is wanted")]
    changes: list[Change]
    risks: Annotated[list[str], Meta(description="what could lose data: wants confirm")]
    impossible: Annotated[list[str], Meta(description="what no mending can do")]
    seen: Annotated[str, Meta(description="stands for what is wanted and what is there; where replicas go may be chosen anew")]


class Drift(ToldDrift, frozen=True):
    """With what mends it."""

    steps: Steps = Steps()
