"""What REST answers of topics, partitions and groups (see `answers.py`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from console.api.answers import Answer, AsOf, Count, Figure

LagBasis = Literal["record", "estimate", "at_least"] | None
LAG_S: Any = Field(description="age of the record at the committed offset, as well as `lag_basis` says it is known")


class Deletion(Answer):
    waits_for: list[int]
    moving: bool
    sentence: str


class TopicConfig(Answer):
    name: str
    value: str | None
    source: Literal["topic", "broker", "default"]
    read_only: bool
    sensitive: bool
    doc: str
    type: str
    choices: list[str]
    default: str


class Topic(Answer):
    topic: str
    topic_id: str | None
    internal: bool
    partitions: Count
    troubled: Count = Field(description="partitions that are not safe")
    under_replicated: Count
    under_min_isr: Count
    offline: Count
    starting: Count
    unknown: Count
    out_of_sync_replicas: Count
    unmeasured: Count = Field(description="partitions of whose log no leader tells: size_bytes and messages are without them")
    size_bytes: Count = Field(description="of one copy of each partition; null where no leader tells of any")
    messages: Count
    replication_factor: Count
    min_insync_replicas: Count
    unclean: bool | None
    deleting: Deletion | None
    messages_per_s: Figure
    groups: int


class TopicWithConfigs(Topic):
    as_of: AsOf
    configs: list[TopicConfig] | None


class Change(Answer):
    label: str
    before: Any
    after: Any


class TopicPlan(Answer):
    topic: str
    changes: list[Change]


class TopicConfigs(Answer):
    topic: str
    configs: list[TopicConfig] | None


class NotElected(Answer):
    partition: int
    error: str


class Elected(Answer):
    topic: str
    elected: list[int]
    failed: list[NotElected]


class TopicSize(Answer):
    topic: str
    partitions: int


class Cut(Answer):
    """A truncation: the log end before and after it."""

    from_: int = Field(alias="from")
    to: int
    at_ms: int


class Replica(Answer):
    broker_id: int
    is_leader: bool
    in_isr: bool
    log_end_offset: Count
    high_watermark: Count
    age_ms: Count
    last_seen_ms: Count
    reason: str | None
    truncated: Cut | None


class Reassigning(Answer):
    adding: list[int]
    removing: list[int]


class Claim(Answer):
    broker_id: int
    leader_epoch: int


class Piece(Answer):
    """Words of a sentence; where they are a choice, what page it is made on and in which form there."""

    text: str
    about: str | None
    form: str | None


class Advice(Answer):
    """What brings back a partition that has no leader or refuses acks=all."""

    text: str
    parts: list[Piece]
    can_lead: list[int] = Field(description="who has every committed record, in the controller's order")
    candidates: list[int] = Field(description="who runs and could only be elected unclean")
    lost: Count = Field(description="records that the first candidate lacks, at least; null where that is not known")


class UncleanElection(Answer):
    """The present leader was not in sync when it was elected: acknowledged records may be lost."""

    leader_epoch: int
    in_sync: list[int]


class Partition(Answer):
    topic: str
    partition: int
    state: Literal["safe", "under_replicated", "under_min_isr", "offline", "deleting", "starting", "unknown"]
    leader: Count
    preferred_leader: Count
    leader_epoch: Count
    isr: list[int]
    assignment: list[int]
    high_watermark: Count
    log_end_offset: Count
    log_start_offset: Count
    size_bytes: Count
    min_insync_replicas: Count
    replicas: list[Replica]
    reassigning: Reassigning | None
    unclean: UncleanElection | None
    advice: Advice | None
    claims: list[Claim] | None
    at_ms: int


class Place(Answer):
    topic: str
    partition: int


class Member(Answer):
    member_id: str
    client_id: str | None
    host: str | None
    instance_id: str | None
    partitions: list[Place]


class Group(Answer):
    group: str
    state: str | None
    protocol_type: str | None
    protocol: str | None
    generation: Count
    coordinator: Count
    members: list[Member]
    topics: list[str]
    lag: Count
    lag_s: Figure = LAG_S
    lag_basis: LagBasis
    attention: Literal["notice", "warn"] | None = Field(description="whether the lag is out of the group's own rhythm")
    rhythm_s: Figure = Field(description="how often it catches up, where it reads in batches")
    trend: str
    eta_s: Figure
    sentence: str
    at_ms: int


class ReadGroup(Group):
    as_of: AsOf


class Lag(Answer):
    group: str
    topic: str
    partition: int
    committed: Count
    log_end_offset: Count
    high_watermark: Count
    lag: Count
    lag_s: Figure = LAG_S
    lag_basis: LagBasis
    member_id: str | None
    client_id: str | None
    host: str | None
    committed_at_ms: Count
    status: str


class OffsetMoved(Answer):
    topic: str
    partition: int
    before: Count
    after: int
    lag_after: int
    note: str | None = Field(description="where `after` is not what was asked for: why")
