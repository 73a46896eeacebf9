"""What is announced to those who show the live state, and the frames in which a browser gets it. Values are JSON already."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Raw, Struct

Values = dict[str, Raw]
"""JSON by key; `null` of what is gone."""
SaidOfValues = Meta(
    description="by key: `cluster`, `broker/1`, `topic/orders`, `partition/orders/0`, `group/billing`, `lag/billing/orders/0`, `job/12`, "
    "`event/7`. Each has the fields that REST's lists of these have; null: it is gone. In `cluster` are those of GET /clusters that are "
    "live; a group's name is percent-encoded in its key"
)


class Announcement(Struct, frozen=True):
    """What changed, or (`reset`) that everything is to be read anew."""

    values: Values = {}
    reset: bool = False


class Snapshot(Struct, frozen=True, tag="snapshot", tag_field="type"):
    """All that is shown, as it was after the change with the number `seq`."""

    seq: int
    now_ms: int
    values: Annotated[Values, SaidOfValues]


class Changes(Struct, frozen=True, tag="changes", tag_field="type"):
    """What changed since the frame before."""

    seq: int
    now_ms: int
    values: Annotated[Values, SaidOfValues]


class Beat(Struct, frozen=True, tag="beat", tag_field="type"):
    """The owner lived at `live_ms`; all that it wrote was true at `oldest_ms`, and the first part of it is stale after `due_ms`. None where
    there is none."""

    now_ms: int
    live_ms: int | None
    oldest_ms: int | None
    due_ms: int | None
