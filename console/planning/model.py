"""What a plan is made of, and what it says."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.live import Count

Aim = Literal["racks", "capacity", "replicas", "leaders", "disk", "traffic"]
AIMS: tuple[Aim, ...] = ("racks", "capacity", "replicas", "leaders", "disk", "traffic")
"""Of a balance, in the order of their priority: one is never given up for those behind it."""


class Standing(Struct, frozen=True, kw_only=True):
    """A partition as it stands; `replicas` has the preferred leader first, `size_bytes` is of one copy, `bytes_per_s` is written to each,
    `failed` are those of its brokers whose data folder with it is offline."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    size_bytes: int | None
    is_moving: bool = False
    bytes_per_s: float | None = None
    failed: tuple[int, ...] = ()


class Host(Struct, frozen=True, kw_only=True):
    """A broker; `replicas` counts all that it has in the cluster, `preferred` those whose preferred leader it is; `log_bytes` and
    `bytes_per_s` are of all of them, `disk_bytes` and `free_bytes` of its disks. None is not known."""

    broker_id: int
    rack: str | None
    is_online: bool
    replicas: int
    preferred: int
    log_bytes: int | None = None
    disk_bytes: int | None = None
    free_bytes: int | None = None
    bytes_per_s: float | None = None


class Goal(Struct, frozen=True, kw_only=True):
    """What is wanted of the partitions that were chosen; all of it together, what is left out does not matter.

    `to`: replicas only on these brokers. `replication_factor`: so many of each. `away`: no replica on these, and where `instead` is given
    that broker takes their places. `leaders`: the preferred leaders spread evenly, over what the brokers lead of other partitions too.
    `aims`: the brokers balanced by these (`balance`), those that are left out do not count.
    """

    to: tuple[int, ...] = ()
    replication_factor: int | None = None
    away: tuple[int, ...] = ()
    instead: int | None = None
    leaders: bool = False
    aims: tuple[Aim, ...] = ()


class Move(Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    before: tuple[int, ...]
    replicas: Annotated[tuple[int, ...], Meta(description="then; the preferred leader first")]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    copy_bytes: Annotated[Count, Meta(description="to be copied, over all brokers that are added; null where the size is not known")]
    why: str
    serves: Annotated[tuple[str, ...], Meta(description="what a balance moves it for: an aim, or what has to be in any case")] = ()


class Skipped(Struct, frozen=True):
    """A partition that the goal is not reached for."""

    topic: str
    partition: int
    why: str


class Tally(Struct, frozen=True, kw_only=True):
    """A broker before and after, counted over all partitions of the cluster."""

    broker_id: int
    rack: str | None
    is_online: bool
    replicas_before: int
    replicas_after: int
    preferred_before: Annotated[int, Meta(description="partitions whose preferred leader it is")]
    preferred_after: int
    copy_bytes: Annotated[Count, Meta(description="that it has to copy; null where the size of a partition is not known")]
    log_bytes_before: Annotated[Count, Meta(description="of all its logs; null where a size is not known")] = None
    log_bytes_after: Count = None


class Share(Struct, frozen=True, kw_only=True):
    """What a broker has of an aim's figure (replicas, preferred leaderships, bytes, bytes a second), and between what it should be."""

    aim: Aim
    before: float
    after: float
    least: float
    most: float


class Unmet(Struct, frozen=True):
    """An aim that a balance does not reach, for a broker where it is about one."""

    aim: Aim
    broker_id: Annotated[int | None, Meta(description="null where it is about no single broker")]
    why: str


class Plan(Struct, frozen=True, kw_only=True):
    moves: tuple[Move, ...]
    skipped: tuple[Skipped, ...]
    unchanged: Annotated[int, Meta(description="partitions that are as they should be")]
    left: Annotated[int, Meta(description="partitions that were not looked at any more, as a job takes no more moves: plan again after it")]
    brokers: tuple[Tally, ...]
    copy_bytes: Annotated[Count, Meta(description="in all; null where the size of a partition is not known")]
    unmet: Annotated[tuple[Unmet, ...], Meta(description="what a balance does not reach, and why")] = ()
    shares: Annotated[dict[int, tuple[Share, ...]], Meta(description="by broker, what a balance makes of its figures")] = {}
