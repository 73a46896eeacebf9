"""What a plan is made of, and what it says."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from broker_core.contract.live import Count


class Standing(Struct, frozen=True, kw_only=True):
    """A partition as it stands; `replicas` has the preferred leader first, `size_bytes` is of one copy."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    size_bytes: int | None
    is_moving: bool = False


class Host(Struct, frozen=True, kw_only=True):
    """A broker; `replicas` counts all that it has in the cluster, `preferred` those whose preferred leader it is."""

    broker_id: int
    rack: str | None
    is_online: bool
    replicas: int
    preferred: int


class Goal(Struct, frozen=True, kw_only=True):
    """What is wanted of the partitions that were chosen; all of it together, what is left out does not matter.

    `to`: replicas only on these brokers. `replication_factor`: so many of each. `away`: no replica on these, and where `instead` is given
    that broker takes their places. `leaders`: the preferred leaders spread evenly, over what the brokers lead of other partitions too.
    """

    to: tuple[int, ...] = ()
    replication_factor: int | None = None
    away: tuple[int, ...] = ()
    instead: int | None = None
    leaders: bool = False


class Move(Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    before: tuple[int, ...]
    replicas: Annotated[tuple[int, ...], Meta(description="then; the preferred leader first")]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    copy_bytes: Annotated[Count, Meta(description="to be copied, over all brokers that are added; null where the size is not known")]
    why: str


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


class Plan(Struct, frozen=True, kw_only=True):
    moves: tuple[Move, ...]
    skipped: tuple[Skipped, ...]
    unchanged: Annotated[int, Meta(description="partitions that are as they should be")]
    left: Annotated[int, Meta(description="partitions that were not looked at any more, as a job takes no more moves: plan again after it")]
    brokers: tuple[Tally, ...]
    copy_bytes: Annotated[Count, Meta(description="in all; null where the size of a partition is not known")]
