"""What is announced to those who show the live state, and the frames in which a browser gets it. Values are JSON already."""

from __future__ import annotations

from msgspec import Raw, Struct

Values = dict[str, Raw]
"""JSON by key; `null` of what is gone."""


class Announcement(Struct, frozen=True):
    """What changed, or (`reset`) that everything is to be read anew."""

    values: Values = {}
    reset: bool = False


class Snapshot(Struct, frozen=True, tag="snapshot", tag_field="type"):
    """All that is shown, as it was after the change with the number `seq`."""

    seq: int
    now_ms: int
    values: Values


class Changes(Struct, frozen=True, tag="changes", tag_field="type"):
    """What changed since the frame before."""

    seq: int
    now_ms: int
    values: Values


class Beat(Struct, frozen=True, tag="beat", tag_field="type"):
    """The owner lived at `live_ms`; all that it wrote was true at `oldest_ms`, and the first part of it is stale after `due_ms`. None where
    there is none."""

    now_ms: int
    live_ms: int | None
    oldest_ms: int | None
    due_ms: int | None
