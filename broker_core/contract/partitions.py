"""What `live` shows of partitions and topics."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract import feed
from broker_core.contract.live import Count, Figure
from broker_core.contract.sentences import Piece

PartitionState = Literal["safe", "under_replicated", "under_min_isr", "offline", "deleting", "starting", "unknown"]


class SeenCut(feed.Cut, frozen=True, gc=False):
    """A truncation, and when it was first told."""

    at_ms: int


class Replica(Struct, frozen=True, kw_only=True, gc=False):
    """A replica of a partition; `last_seen_ms` where its figures are those that were last known, `reason` where it is out of the ISR.

    Offsets of replicas are told by state feeds only, sizes by a cluster that is asked (`Cluster.source`).
    """

    broker_id: int
    is_leader: bool
    in_isr: bool
    log_end_offset: Count
    high_watermark: Count
    age_ms: Count
    last_seen_ms: Count
    reason: str | None
    truncated: SeenCut | None
    size_bytes: Annotated[Count, Meta(description="of this copy, where a collector asks for it")] = None


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
    def kept(self) -> int | None:
        """Offsets from the log's start to its end (where that is not told, to the high watermark): so many records, but for what compaction
        or transactions take of them."""
        end = self.high_watermark if self.log_end_offset is None else self.log_end_offset
        return None if end is None else end - (self.log_start_offset or 0)

    @property
    def held(self) -> int | None:
        """Offsets that readers of committed transactions wait for: an open transaction holds the last stable offset back."""
        if self.high_watermark is None or self.last_stable_offset is None:
            return None
        return max(self.high_watermark - self.last_stable_offset, 0)

    @property
    def furthest_behind(self) -> int | None:
        """Records that the follower lacks which lags the most. With `unmeasured` followers it is at least so many, and None where those
        whose ends are known lack nothing."""
        ends = [r.log_end_offset for r in self.replicas if not r.is_leader and r.log_end_offset is not None]
        if self.log_end_offset is None or not ends:
            return None
        return max(self.log_end_offset - min(ends), 0) or (None if self.unmeasured else 0)

    @property
    def unmeasured(self) -> int:
        """Followers whose log ends are not known."""
        return sum(not r.is_leader and r.log_end_offset is None for r in self.replicas)

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
    sentence: Annotated[str, Meta(description="whether its records are in danger, in words that change only when that does")]
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
    lag: Annotated[Count, Meta(description="records that its groups have not read, summed over them; null where no group's lag is known")]
    leader_skew: Annotated[
        Figure, Meta(description="percent of its partitions whose leader would have to move for brokers to lead evenly many of them")
    ]
    own_settings: Annotated[
        dict[str, str] | None, Meta(description="set for the topic itself, secrets hidden, long values cut; null where that is not known")
    ] = None
