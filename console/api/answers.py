"""What REST answers, typed for its description (`described.py`); a figure that is not known is null.

The values come from the live snapshot as they are: more fields may be there than these, never fewer.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from console.jobs.registry import KINDS as JOB_KINDS
from console.rules.problems import KINDS

Item = TypeVar("Item")
Count = int | None
Figure = float | None


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")


class Problem(Answer):
    """RFC 9457: what was wrong and what to do next, in the broker's words where it said so."""

    type: str = Field(description="leads to its entry at /api/v1/problems")
    title: str
    status: int
    code: str = Field(description="what programs go by; stays as it is", json_schema_extra={"enum": list(KINDS)})
    detail: str
    field: str | None = Field(None, description="what of the request is wrong")
    errors: list[dict[str, str]] | None = None
    kafka_code: int | None = Field(None, description="Kafka's error code, where the cluster answered one")
    kafka_name: str | None = Field(None, description="its name in Kafka's protocol")


class ProblemKind(Answer):
    code: str
    status: int
    title: str
    advice: str = Field(description="what to do next; may be empty")


class Listed(Answer, Generic[Item]):
    """A page of a list; `next` is the cursor of the next one, null on the last."""

    items: list[Item]
    next: str | None


class Part(Answer):
    level: str
    text: str
    about: str | None


class Verdict(Answer):
    level: Literal["ok", "notice", "warn", "bad", "unknown"]
    text: str
    parts: list[Part]
    last_known_ms: Count = Field(None, description="of a cluster that nobody tells of any more: when the verdict was last known")


class AsOf(Answer):
    """How old what is answered may be: the age of the oldest part that it rests on."""

    at_ms: Count = Field(description="when all of it was last known true; null when never")
    age_ms: Count
    stale: bool = Field(description="older than 3 seconds: what is true now may be something else")


class ListedLive(Listed[Item], Generic[Item]):
    """A list from the live snapshot."""

    as_of: AsOf


class FeedState(Answer):
    state: Literal["live", "stale", "lost"]
    age_ms: Count
    at_ms: Count = Field(description="when it was last known true")


class Feed(Answer):
    state: Literal["live", "partial", "stale", "lost"]
    brokers: dict[str, FeedState]
    store: FeedState | None = Field(description="what is read of ZooKeeper")
    groups: FeedState


class Cluster(Answer):
    id: str
    name: str
    bootstrap_servers: str
    is_local: bool
    controller_id: Count
    controller_epoch: Count
    brokers_online: Count
    brokers_total: Count
    topics: Count
    partitions: Count
    troubled_topics: Count = Field(description="topics with a partition that is not safe")
    under_replicated: Count
    under_min_isr: Count
    offline: Count
    starting: Count
    unknown: Count
    out_of_sync_replicas: Count
    not_preferred: Count
    deleting: Count
    groups: Count
    produce_bytes_per_s: Figure
    fetch_bytes_per_s: Figure
    messages_per_s: Figure
    requests_per_s: Figure
    verdict: Verdict | None
    feed: Feed | None
    at_ms: Count
    as_of: AsOf


class RequestFigures(Answer):
    per_s: Figure
    p50_ms: Figure = Field(description="at most so long: the upper bound of the histogram's bucket; null beyond the last one")
    p99_ms: Figure = Field(description="the same of the 99th percentile")


class LogDir(Answer):
    """What a broker said of its data folder when it was last heard (`feed` says when that was)."""

    path: str
    offline_since_ms: Count = Field(description="when an I/O error took it offline; it serves again after a restart of the broker")
    offline_why: str | None
    free_bytes: Count
    total_bytes: Count
    replicas: Count
    full_in_s: Count = Field(description="until the disk is full, at the rate of the last ten minutes")
    state: Literal["folder_offline", "folder_filling", "folder_low", "folder_serves"]
    level: str
    sentence: str


class Broker(Answer):
    broker_id: int
    host: str | None
    port: Count
    rack: str | None
    state: Literal["online", "offline"]
    process: str | None = Field(description="of a local broker: running, starting, paused or stopped")
    is_controller: bool
    broker_epoch: Count
    leaders: Count
    preferred: Count
    replicas: Count
    out_of_sync: Count
    under_replicated: Count
    unmeasured: Count = Field(description="replicas of whose partition's log no leader tells: size_bytes is without them")
    size_bytes: Count
    bytes_in_per_s: Figure
    bytes_out_per_s: Figure
    messages_in_per_s: Figure
    requests: dict[str, RequestFigures]
    purgatory: dict[str, Count] | None = Field(description="requests that wait, by kind")
    connections: Count
    idle_percent: Figure = Field(description="share of the last second in which its loop had nothing to do")
    loop_stalls: Count = Field(description="how often its loop stood still since its start")
    produce_by_acks: dict[str, int] | None
    log_dir: LogDir | None = Field(None, description="null where the broker does not run or does not tell")
    leader_skew: Figure
    replica_skew: Figure
    feed: FeedState
    since_ms: Count
    at_ms: int


class ReadBroker(Broker):
    as_of: AsOf


class BrokerAction(Answer):
    broker_id: int
    action: str
    done: Literal[True]


class Event(Answer):
    id: int
    at_ms: int
    kind: str
    level: str
    sentence: str
    broker_id: Count
    topic: str | None
    partition: Count
    group: str | None


class Progress(Answer):
    done: int
    total: int
    unit: str


class Job(Answer):
    id: int
    cluster: str
    kind: str = Field(json_schema_extra={"enum": list(JOB_KINDS)})
    state: Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
    progress: Progress
    message: str
    result: dict[str, Any] | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    params: dict[str, Any]
    created_by: str
    can_cancel: bool
    cancel_means: str
