"""What `live` shows of groups, and of how far behind they are."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.live import Count, Figure

LagBasis = Literal["record", "estimate", "at_least"]
LagStatus = Literal["ok", "warn", "stall", "stop", "rewind", "between", "unknown"]
Trend = Literal["caught_up", "catching_up", "steady", "falling_behind", "stalled", "stopped", "in_rhythm", "unknown"]
LagS = Annotated[Figure, Meta(description="age of the record at the committed offset, as well as `lag_basis` says it is known")]


class Place(Struct, frozen=True, gc=False):
    topic: str
    partition: int


class Member(Struct, frozen=True, kw_only=True, gc=False):
    member_id: str
    client_id: str | None
    host: str | None
    instance_id: str | None
    partitions: tuple[Place, ...]


class Group(Struct, frozen=True, kw_only=True, gc=False):
    group: str
    state: str | None
    protocol_type: str | None
    protocol: str | None
    generation: Count
    coordinator: Count
    members: tuple[Member, ...]
    topics: tuple[str, ...]
    lag: Count
    lag_s: LagS
    lag_basis: LagBasis | None
    attention: Annotated[Literal["notice", "warn"] | None, Meta(description="whether the lag is out of the group's own rhythm")]
    rhythm_s: Annotated[Figure, Meta(description="how often it catches up, where it reads in batches")]
    trend: Trend
    eta_s: Annotated[Figure, Meta(description="until its slowest partition has caught up; null where one of them does not come closer")]
    slowest: Annotated[Place | None, Meta(description="of a group that catches up: the partition that does so last, or does not")] = None
    sentence: str
    at_ms: int


class Lag(Struct, frozen=True, kw_only=True, gc=False):
    """A group on one partition."""

    group: str
    topic: str
    partition: int
    committed: Count
    log_end_offset: Count
    high_watermark: Count
    lag: Count
    lag_s: LagS
    lag_basis: LagBasis | None
    member_id: str | None
    client_id: str | None
    host: str | None
    committed_at_ms: Count
    status: LagStatus
    reason: Annotated[str, Meta(description="why its status is that, in words")] = ""


class Reader(Struct, frozen=True, gc=False):
    """A group that reads a topic, with its lag there."""

    group: str
    lag: Count
