"""What a change of a group's committed offsets means, per partition and in sum, and the mark of what is committed. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from console.rules.words import counted

MEMBERS_NAMED = 5
Place = tuple[str, int]
Ends = tuple[int | None, int | None]
Counted = Annotated[int | None, Meta(description="offsets; null where nothing is committed, before or then")]


class Move(Struct, frozen=True):
    """One partition. `first` and `end` are its log's; `skipped` is never read, `again` is read a second time: offsets, of which a compacted
    log or one with transactions has fewer records."""

    topic: str
    partition: int
    before: Annotated[int | None, Meta(description="what is committed; null: nothing")]
    after: Annotated[int | None, Meta(description="what would be, or is now; null: nothing")]
    lag_after: int | None
    note: Annotated[str | None, Meta(description="where `after` is not what was asked for: why")]
    first: int | None = None
    end: int | None = None
    skipped: Counted = None
    again: Counted = None

    @property
    def place(self) -> str:
        return f"{self.topic}-{self.partition}"


class Plan(Struct):
    """Where offsets go. `seen` stands for what is committed now, `at` for the time (ISO) where one was asked for; `members` are those that
    stand in its way. Of one that puts offsets back: `drift` says where they are not as that change left them, `gone` what is left out."""

    moves: list[Move]
    seen: str
    members: Sequence[str] = ()
    at: str | None = None
    drift: Sequence[str] = ()
    gone: Sequence[str] = ()

    @property
    def skipped(self) -> int:
        return sum(move.skipped or 0 for move in self.moves)

    @property
    def again(self) -> int:
        return sum(move.again or 0 for move in self.moves)

    @property
    def noted(self) -> list[Move]:
        return [move for move in self.moves if move.note]

    @property
    def changes(self) -> bool:
        return any(move.before != move.after for move in self.moves)

    @property
    def sentence(self) -> str:
        """Of all partitions together."""
        changed = [move for move in self.moves if move.before != move.after]
        if not changed:
            return "Nothing would change: all offsets are there already."
        parts = [f"{counted(self.again, 'record')} would be read again" if self.again else ""]
        parts += [f"{counted(self.skipped, 'record')} would be skipped" if self.skipped else ""]
        new = sum(move.before is None for move in changed)
        parts += [f"{counted(new, 'partition')} have nothing committed now" if new else ""]
        gone = sum(move.after is None for move in changed)
        parts += [f"of {counted(gone, 'partition')} nothing would be committed any more" if gone else ""]
        said = "; ".join(part for part in parts if part) or "no record would be read twice or skipped"
        return f"{counted(len(changed), 'offset')} of {counted(len(self.moves), 'partition')} would change: {said}."


def move(place: Place, before: int | None, after: int | None, ends: Ends = (None, None), note: str | None = None) -> Move:
    """`ends` are where the log begins and ends. What was committed outside of the log counts as at its nearer end: nothing there can be
    read or skipped."""
    first, end = ends
    lag = max(end - after, 0) if end is not None and after is not None else None
    if before is None or after is None:
        return Move(*place, before, after, lag, note, first, end)
    reached = before if first is None or end is None else min(max(before, first), end)
    return Move(*place, before, after, lag, note, first, end, max(after - reached, 0), max(reached - after, 0))


def seen_of(committed: Mapping[tuple[str, int], int], places: Iterable[tuple[str, int]]) -> str:
    """The ETag of what is committed at these places."""
    rows: list[list[Any]] = [[*place, committed.get(place)] for place in sorted(places)]
    return f'"{hashlib.sha256(msgspec.json.encode(rows)).hexdigest()[:32]}"'


def named_members(members: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each by its client, host and static name, as far as the cluster tells them."""
    return [_named(member) for member in members]


def _named(member: Mapping[str, Any]) -> str:
    said = str(member.get("client_id") or member.get("member_id") or "one without a name")[:100]
    host = str(member.get("client_host") or "").lstrip("/")[:60]
    static = f", static {str(member['group_instance_id'])[:100]}" if member.get("group_instance_id") else ""
    return f"{said} ({host}{static})" if host else f"{said}{f' ({static[2:]})' if static else ''}"


def listed_members(names: Sequence[str]) -> str:
    more = len(names) - MEMBERS_NAMED
    return ", ".join(names[:MEMBERS_NAMED]) + (f" and {counted(more, 'other')}" if more > 0 else "")
