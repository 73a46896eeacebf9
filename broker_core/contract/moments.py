"""What is kept of the past: which stretch of it, a moment that was asked for, and what changed between two of them.

Times are ms since 1970.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.sentences import Level, Piece

Change = Literal["came", "went", "changed"]
FIGURES: dict[str, tuple[str, ...]] = {
    "group": ("lag", "lag_s"),
    "topic": ("messages_per_s", "size_bytes", "lag"),
    "broker": ("bytes_in_per_s", "bytes_out_per_s", "messages_in_per_s", "idle_percent"),
}
"""What is kept over time of each, by the names that the live values have for them."""


class Gap(Struct, frozen=True, gc=False):
    """A stretch in which nobody recorded: what is known of it is what was last known before."""

    from_ms: int
    to_ms: int


class Kept(Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of a cluster; nothing yet where `oldest_ms` is null."""

    oldest_ms: int | None = None
    newest_ms: int | None = None
    bytes: int = 0
    limit_bytes: int = 0
    figures_every_s: Annotated[float, Meta(description="states are kept within 2 s, figures (offsets, lag, rates) so often")] = 2.0
    gaps: tuple[Gap, ...] = ()
    error: Annotated[str | None, Meta(description="why nothing is being recorded now")] = None


class Difference(Struct, frozen=True, gc=False):
    """One thing that is otherwise at the later moment; `sentence` is its pieces joined."""

    kind: Literal["cluster", "broker", "topic", "partition", "group"]
    name: str
    change: Change
    level: Level
    sentence: str
    pieces: tuple[Piece, ...] = ()


class Differences(Struct, frozen=True, kw_only=True, gc=False):
    """Between two moments, the gravest first; `more` were left out."""

    from_ms: int
    to_ms: int
    rows: tuple[Difference, ...] = ()
    more: int = 0


class Track(Struct, frozen=True, kw_only=True, gc=False):
    """Figures of one thing over time: `figures` has of each as many values as `at_ms` has times. Null is what was not known then; where
    nothing was recorded for a while, there is a time of nulls."""

    from_ms: int
    to_ms: int
    every_ms: Annotated[int, Meta(description="about so far apart are two samples that follow each other")]
    at_ms: tuple[int, ...] = ()
    figures: dict[str, tuple[float | None, ...]] = {}


class Question(Struct, frozen=True, gc=False):
    """What the recorder is asked: to lay a moment out, with `until_ms` to compare two, and with `keys` for the figures of each
    between them, at most so many."""

    id: str
    cluster: str
    at_ms: int
    until_ms: int | None = None
    keys: tuple[str, ...] = ()
    most: int = 0


class Reply(Struct, frozen=True, kw_only=True, gc=False):
    """`known_ms` is when what is laid out was last known true: before the moment, where that lies in a gap.
    `is_missing` where nothing was recorded so long ago."""

    known_ms: int | None = None
    differences: Differences | None = None
    tracks: tuple[Track, ...] = ()
    error: str | None = None
    is_missing: bool = False
