"""What `live` makes of what it hears, and shows: the cluster, its brokers, and how fresh all is; `partitions` and `groups` are beside.

These values lie in the snapshot, and pages, REST and the browser's scripts read them. Times are ms since 1970.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract import feed
from broker_core.contract.sentences import Level, Line, Piece, Verdict

FolderState = Literal["folder_offline", "folder_filling", "folder_low", "folder_serves"]
Freshness = Literal["live", "stale", "lost"]
Source = Literal["feed", "collector"]
Kind = Literal["metadata", "offsets", "groups", "log_dirs", "configs"]
"""What a cluster without a state feed is asked: brokers, leaders and ISRs; log ends; groups and what they have committed; sizes and disks;
topics' settings."""
Count = int | None
Figure = float | None


class Age(Struct, frozen=True, gc=False):
    """How fresh a part of what is known is; `at_ms` is when it was last known true."""

    state: Freshness
    age_ms: Count
    at_ms: Annotated[Count, Meta(description="when it was last known true")]
    every_ms: Annotated[Count, Meta(description="how often it is asked for at present; null where it is told by itself")] = None


class Question(Struct, frozen=True, gc=False):
    """One kind of what a cluster is asked again and again; `error` is why it was not answered when it was last asked."""

    age: Age
    error: str | None = None


class AsOf(Struct, frozen=True, gc=False):
    """How old what is answered may be: the age of the oldest part that it rests on."""

    at_ms: Annotated[Count, Meta(description="when all of it was last known true; null when never")]
    age_ms: Count
    stale: Annotated[bool, Meta(description="older than 3 s, or than three intervals where it is asked for: it may be otherwise now")]


class Feed(Struct, frozen=True, gc=False):
    """`live` when all registered brokers are heard, `partial` when some are; `groups` are what brokers say. Of a cluster that is asked,
    `store` is its metadata."""

    state: Literal["live", "partial", "stale", "lost"]
    brokers: dict[str, Age]
    store: Annotated[Age | None, Meta(description="what is read of ZooKeeper, or of a cluster's metadata")]
    groups: Age


class Cluster(Struct, frozen=True, kw_only=True, gc=False):
    """The cluster as a whole; all is null while nothing was ever seen of it."""

    id: str
    source: Source = "feed"
    """`feed`: its brokers tell all that they know. `collector`: it is asked what any client may ask, and what no answer has (replicas' log
    ends, requests, byte rates, …) is null: not available from this cluster."""
    questions: Annotated[dict[Kind, Question] | None, Meta(description="what a collector asks, how often, how old the answers are")] = None
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
    groups_behind: Annotated[Count, Meta(description="groups whose lag is out of their own rhythm")] = None
    topics_line: Annotated[Line | None, Meta(description="of all topics; null where there is none")] = None
    groups_line: Annotated[Line | None, Meta(description="of all groups; null where there is none")] = None
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
    stages_ms: Annotated[feed.StagesMs | None, Meta(description="mean of each stage since the broker's start")]
    recent_ms: Annotated[Figure, Meta(description="mean of the last ten seconds, all stages together; null where there was none")] = None


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
    timing_wheels: Annotated[
        tuple[feed.Wheel, ...] | None, Meta(description="deadlines of what waits, by how soon they come: the finest wheel first")
    ] = None
    old_requests: Annotated[
        tuple[feed.OldRequests, ...] | None,
        Meta(description="those of versions that Kafka 4.0 takes no more, by client; null where the broker does not tell"),
    ] = None
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
    other_log_dirs: Annotated[
        tuple[LogDir, ...], Meta(description="its other data folders, where it has several: log_dir is the one that is worst off")
    ] = ()
    own_settings: Annotated[
        dict[str, str] | None,
        Meta(description="set for it, or for all brokers, while they run; secrets hidden, long values cut; null where not known"),
    ] = None
    gone_by: Annotated[
        tuple[int, ...] | None,
        Meta(description="who sees its port refuse, so that it counts as gone though it is registered until its session ends; else null"),
    ] = None


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
