"""What one broker tells in its state feed (`telemetry/feed_wire.py`): absolute values, as the broker itself knows them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct, field

Role = Literal["leader", "follower", "offline", "none"]


class Cut(Struct, frozen=True, gc=False):
    """A truncation: the log end before and after it."""

    from_: int = field(name="from")
    to: int


class Follower(Struct, frozen=True, gc=False):
    """A follower as its leader sees it; `reason` is None in the ISR, else "dead", "new", "stuck" or "slow" (spec R3)."""

    broker_id: int
    log_end_offset: int | None = None
    log_start_offset: int | None = None
    fetch_age_ms: int | None = None
    caught_up_age_ms: int | None = None
    in_isr: bool = False
    reason: str | None = None


class LeaderEpoch(Struct, frozen=True, gc=False):
    """A leader epoch and the offset of its first record."""

    epoch: int
    start_offset: int


class Replica(Struct, frozen=True):
    """A broker's own replica; `isr`, `followers` and `epochs` only from the leader, offsets only where there is a log."""

    topic: str
    partition: int
    role: Role
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...] | None = None
    followers: tuple[Follower, ...] = ()
    high_watermark: int | None = None
    log_end_offset: int | None = None
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    size_bytes: int | None = None
    truncation: Cut | None = None
    """The last cut in this role, if it took anything away."""
    epochs: tuple[LeaderEpoch, ...] = ()
    """The newest of those that the log has records of, in order."""


class TopicPartition(Struct, frozen=True, gc=False):
    topic: str
    partition: int


class Committed(Struct, frozen=True, gc=False):
    topic: str
    partition: int
    offset: int
    commit_ms: int | None = None


class Member(Struct, frozen=True):
    """`assignment` is {topic: partitions}; None where it is none of a consumer, or too long to tell."""

    member_id: str
    client_id: str | None = None
    client_host: str | None = None
    group_instance_id: str | None = None
    assignment: dict[str, list[int]] | None = None


class Group(Struct, frozen=True):
    """A group that this broker coordinates; what describes a classic group to clients has no generation. `home` is the partition of
    `__consumer_offsets` that it lives in, `epoch` the leader epoch of that in which this broker was elected: of two that both tell of it
    the later one is believed."""

    group: str
    state: str
    protocol_type: str | None
    protocol: str | None
    generation: int | None
    members: tuple[Member, ...]
    offsets: tuple[Committed, ...]
    home: int | None = None
    epoch: int | None = None


class LogDir(Struct, frozen=True, gc=False):
    """A data folder: since when it is offline and why, and how soon the disk is full at the present rate; `logs` it holds, or held when it
    went offline: None where that is not known. `checkpoints_late_s`: how much longer than its interval the checkpoint that waits longest
    has not been brought up to date; 0 where none waits."""

    path: str
    offline_since_ms: int | None = None
    offline_why: str | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None
    full_in_s: int | None = None
    logs: int | None = None
    checkpoints_late_s: int | None = None


class Controller(Struct, frozen=True, kw_only=True):
    """What the controller has before it. The time is the longest that one of its last 256 events waited; `requests_waiting` is by
    broker."""

    queue_size: int
    queue_time_max_ms: float
    requests_waiting: dict[int, int] = {}
    partitions_to_create: int = 0
    partitions_moving: int = 0
    topics_to_delete: int = 0
    topics_ineligible_to_delete: int = 0


class Purgatory(Struct, frozen=True, gc=False):
    """Requests that wait, and members that are waited for; or how many of them time ran out for."""

    produce: int
    fetch: int
    join: int
    heartbeat: int


class Wheel(Struct, frozen=True, gc=False):
    """One of the timing wheels: a slot's length, and how many deadlines lie in each slot, that of the present first."""

    tick_ms: int
    slots: tuple[int, ...]


class StagesMs(Struct, frozen=True, gc=False):
    """Milliseconds in each stage (`metrics.StageTimes`)."""

    request_queue: float
    local: float
    remote: float
    response_send: float
    total: float


class Requests(Struct, frozen=True):
    """Of one key, totals since the broker's start; the percentiles are of local and remote time together."""

    count: int
    p50_ms: float | None
    p99_ms: float | None
    stages_ms: StagesMs


class OldRequests(Struct, frozen=True, gc=False):
    """Requests of one key and version that Kafka 4.0 takes no more (KIP-896), of one client, since the broker's start."""

    api: str
    api_version: int
    software: str
    software_version: str
    client_id: str
    count: int
    last_ms: int
    host: str


class Broker(Struct, frozen=True, kw_only=True):
    """A broker of itself; counters are totals since its start. `produce_by_acks` is by "-1", "0", "1", `requests` by key; `controller`
    is told by the controller alone."""

    id: int
    epoch: int
    controller_id: int | None
    controller_epoch: int | None
    is_controller: bool
    controller: Controller | None = None
    partitions: int
    leaders: int
    under_replicated: int
    log_bytes: int
    log_dir: LogDir
    """Of several the one that is worst off: offline, or with the least room."""
    other_log_dirs: tuple[LogDir, ...] = ()
    purgatory: Purgatory
    purgatory_expired: Purgatory = Purgatory(0, 0, 0, 0)
    timing_wheels: tuple[Wheel, ...] = ()
    connections: int
    messages_in: int
    produced_bytes: int
    fetched_bytes: int
    idle_percent: float | None
    loop_stalls: int
    produce_by_acks: dict[str, int]
    old_requests: tuple[OldRequests, ...] = ()
    requests: dict[str, Requests]


class Event(Struct, frozen=True, gc=False):
    """What a broker did or refused: `registered`, `stranger`, `control_refused` or `early_failover`."""

    seq: int
    at_ms: int
    kind: str
    topic: str | None
    partition: int | None
    text: str


class Cursor(NamedTuple):
    """Where a watcher is: the watch it belongs to, the last change and event seen; in a full answer, the last key told."""

    watch: str
    sequence: int
    event: int
    after: tuple[str, str, int] | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """One answer of the feed; the client joins the pages of a full one, and what that does not name is gone."""

    cursor: Cursor
    kind: Literal["full", "delta"]
    first: bool = True
    """The first page of a full answer: what was known of this broker before is to be forgotten."""
    more: bool = False
    """Another page follows at once; a delta can have more, too."""
    now_ms: int
    """The broker's wall clock."""
    broker: Broker
    partitions: list[Replica] = []
    removed: list[TopicPartition] = []
    """That this broker no longer hosts."""
    groups: list[Group] = []
    removed_groups: list[str] = []
    """That it no longer coordinates."""
    events: list[Event] = []
    """Each sent once per cursor; only the newest few hundred are kept."""
    error: Literal[0] = 0


class Refusal(Struct, frozen=True):
    """An answer that is an error, by Kafka's code."""

    error: int
    message: str = ""
