"""What `live` makes of what it hears, and shows: brokers, partitions, topics, groups, the cluster.

These values lie in the snapshot, and pages, REST and the browser's scripts read them. Times are ms since 1970.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract import feed
from broker_core.contract.sentences import Level, Piece, Verdict

FolderState = Literal["folder_offline", "folder_filling", "folder_low", "folder_serves"]
PartitionState = Literal["safe", "under_replicated", "under_min_isr", "offline", "deleting", "starting", "unknown"]
Freshness = Literal["live", "stale", "lost"]
LagBasis = Literal["record", "estimate", "at_least"]
LagStatus = Literal["ok", "warn", "stall", "stop", "rewind", "between", "unknown"]
Trend = Literal["caught_up", "catching_up", "steady", "falling_behind", "stalled", "stopped", "in_rhythm", "unknown"]
Count = int | None
Figure = float | None
LagS = Annotated[Figure, Meta(description="age of the record at the committed offset, as well as `lag_basis` says it is known")]


class Age(Struct, frozen=True, gc=False):
    """How fresh a part of what is known is; `at_ms` is when it was last known true."""

    state: Freshness
    age_ms: Count
    at_ms: Annotated[Count, Meta(description="when it was last known true")]


class AsOf(Struct, frozen=True, gc=False):
    """How old what is answered may be: the age of the oldest part that it rests on."""

    at_ms: Annotated[Count, Meta(description="when all of it was last known true; null when never")]
    age_ms: Count
    stale: Annotated[bool, Meta(description="older than 3 seconds: what is true now may be something else")]


class Feed(Struct, frozen=True, gc=False):
    """`live` when all registered brokers are heard, `partial` when some are; `groups` are what brokers say."""

    state: Literal["live", "partial", "stale", "lost"]
    brokers: dict[str, Age]
    store: Annotated[Age | None, Meta(description="what is read of ZooKeeper")]
    groups: Age


class Cluster(Struct, frozen=True, kw_only=True, gc=False):
    """The cluster as a whole; all is null while nothing was ever seen of it."""

    id: str
    controller_id: Count = None
    controller_epoch: Count = None
    brokers_online: Count = None
    brokers_total: Count = None
    topics: Count = None
    partitions: Count = None
    troubled_topics: Annotated[Count, Meta(description="topics with a partition that is not safe")] = None
    under_replicated: Count = None
    under_min_isr: Count = None
    offline: Count = None
    starting: Count = None
    unknown: Count = None
    out_of_sync_replicas: Count = None
    not_preferred: Count = None
    deleting: Count = None
    groups: Count = None
    produce_bytes_per_s: Figure = None
    fetch_bytes_per_s: Figure = None
    messages_per_s: Figure = None
    requests_per_s: Figure = None
    verdict: Verdict | None = None
    feed: Feed | None = None
    at_ms: Count = None


class RequestFigures(Struct, frozen=True, gc=False):
    """Of one key on one broker."""

    per_s: Figure
    p50_ms: Annotated[Figure, Meta(description="at most so long: the upper bound of the histogram's bucket; null beyond the last one")]
    p99_ms: Annotated[Figure, Meta(description="the same of the 99th percentile")]


class LogDir(feed.LogDir, frozen=True, kw_only=True, gc=False):
    """What a broker said of its data folder when it was last heard, and the rules' word on it; `sentence` is its pieces joined."""

    replicas: Count
    state: FolderState
    level: Level
    sentence: str
    pieces: tuple[Piece, ...]


class Broker(Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int
    host: str | None
    port: Count
    rack: str | None
    state: Literal["online", "offline"]
    process: Annotated[str | None, Meta(description="of a local broker: running, starting, paused or stopped")]
    is_controller: bool
    broker_epoch: Count
    leaders: Count
    preferred: Count
    replicas: Count
    out_of_sync: Count
    under_replicated: Count
    unmeasured: Annotated[Count, Meta(description="replicas of whose partition's log no leader tells: size_bytes is without them")]
    size_bytes: Count
    bytes_in_per_s: Figure
    bytes_out_per_s: Figure
    messages_in_per_s: Figure
    requests: dict[str, RequestFigures]
    purgatory: Annotated[feed.Purgatory | None, Meta(description="requests that wait, by kind")]
    purgatory_expired: Annotated[feed.Purgatory | None, Meta(description="those that time ran out for since its start")]
    controller: Annotated[feed.Controller | None, Meta(description="what is before the controller; null of any other broker")]
    connections: Count
    idle_percent: Annotated[Figure, Meta(description="share of the last second in which its loop had nothing to do")]
    loop_stalls: Annotated[Count, Meta(description="how often its loop stood still since its start")]
    produce_by_acks: dict[str, int] | None
    log_dir: Annotated[LogDir | None, Meta(description="null where the broker does not run or does not tell")]
    leader_skew: Figure
    replica_skew: Figure
    feed: Age
    since_ms: Count
    at_ms: int


class SeenCut(feed.Cut, frozen=True, gc=False):
    """A truncation, and when it was first told."""

    at_ms: int


class Replica(Struct, frozen=True, kw_only=True, gc=False):
    """A replica of a partition; `last_seen_ms` where its figures are those that were last known, `reason` where it is out of the ISR."""

    broker_id: int
    is_leader: bool
    in_isr: bool
    log_end_offset: Count
    high_watermark: Count
    age_ms: Count
    last_seen_ms: Count
    reason: str | None
    truncated: SeenCut | None


class Reassigning(Struct, frozen=True, gc=False):
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Claim(Struct, frozen=True, gc=False):
    """Of several brokers that all say they lead."""

    broker_id: int
    leader_epoch: int


class UncleanElection(Struct, frozen=True, gc=False):
    """The present leader was not in sync when it was elected: acknowledged records may be lost."""

    leader_epoch: int
    in_sync: tuple[int, ...]


class Advice(Struct, frozen=True, kw_only=True, gc=False):
    """What brings back a partition that has no leader or refuses acks=all; `text` is its parts joined."""

    text: str
    parts: tuple[Piece, ...]
    can_lead: Annotated[tuple[int, ...], Meta(description="who has every committed record, in the controller's order")]
    candidates: Annotated[tuple[int, ...], Meta(description="who runs and could only be elected unclean")]
    lost: Annotated[Count, Meta(description="records that the first candidate lacks, at least; null where that is not known")]


class Partition(Struct, frozen=True, kw_only=True, gc=False):
    """`leader` is null where there is none or it is not known; `remarks` are what is said of it beside the figures, the advice last."""

    topic: str
    partition: int
    state: PartitionState
    leader: Count
    preferred_leader: Count
    leader_epoch: Count
    isr: tuple[int, ...]
    assignment: tuple[int, ...]
    high_watermark: Count
    log_end_offset: Count
    log_start_offset: Count
    last_stable_offset: Annotated[Count, Meta(description="up to where read_committed readers read")]
    epochs: Annotated[tuple[feed.LeaderEpoch, ...], Meta(description="the newest leader epochs that wrote to the log, oldest first")]
    size_bytes: Count
    min_insync_replicas: Count
    replicas: tuple[Replica, ...]
    reassigning: Reassigning | None
    unclean: UncleanElection | None
    advice: Advice | None
    claims: tuple[Claim, ...] | None
    remarks: tuple[Piece, ...]
    at_ms: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class Deletion(Struct, frozen=True, gc=False):
    """What a topic's deletion waits for: brokers that are down or whose data folder is offline, and moves of its partitions."""

    waits_for: tuple[int, ...]
    moving: bool
    sentence: str


class Topic(Struct, frozen=True, kw_only=True, gc=False):
    """A topic with sums over its partitions; `state` is that of the worst of them."""

    topic: str
    topic_id: str | None
    internal: bool
    state: PartitionState
    partitions: Count
    troubled: Annotated[Count, Meta(description="partitions that are not safe")]
    under_replicated: Count
    under_min_isr: Count
    offline: Count
    starting: Count
    unknown: Count
    out_of_sync_replicas: Count
    unmeasured: Annotated[Count, Meta(description="partitions of whose log no leader tells: size_bytes and messages are without them")]
    size_bytes: Annotated[Count, Meta(description="of one copy of each partition; null where no leader tells of any")]
    messages: Count
    replication_factor: Count
    min_insync_replicas: Count
    unclean: bool | None
    deleting: Deletion | None
    messages_per_s: Figure
    groups: int


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
    eta_s: Figure
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


class Reader(Struct, frozen=True, gc=False):
    """A group that reads a topic, with its lag there."""

    group: str
    lag: Count


class SilentClient(Struct, frozen=True, gc=False):
    """A client of our own that gets nothing done."""

    name: str
    doing: str
    sentence: str


class Point(Struct, frozen=True, kw_only=True, gc=False):
    """A point of the overview's plot."""

    at_ms: int
    produce_bytes_per_s: Figure
    fetch_bytes_per_s: Figure
    messages_per_s: Figure
    under_replicated: Count
