"""What is said in words: sentences made of pieces, some of which lead to what they name, with how bad it is."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Level = Literal["ok", "notice", "warn", "bad", "unknown"]


class Piece(Struct, frozen=True, gc=False):
    """Words of a sentence. `about` is what they name (`topic/orders`, `brokers`), `form` the form there in which a choice is made,
    `href` the address of both within the cluster's pages: those of a registered cluster stand after `/c/<id>`."""

    text: str
    about: str | None = None
    form: str | None = None
    href: str | None = None


class Part(Struct, frozen=True, gc=False):
    """A sentence of a verdict: `text` is its pieces joined, `about` what it is about as a whole."""

    level: Level
    text: str
    about: str | None
    pieces: tuple[Piece, ...]


class Line(Struct, frozen=True, gc=False):
    """One sentence that a list opens with."""

    level: Level
    text: str


class Verdict(Struct, frozen=True, gc=False):
    """What a page opens with; `level` is the worst of its parts'. `last_known_ms`: of a cluster that nobody tells of any more."""

    level: Level
    text: str
    parts: tuple[Part, ...] = ()
    last_known_ms: int | None = None
    brief: Annotated[str, Meta(description="the same in a few words, which change only when what is counted does")] = ""


class Event(Struct, frozen=True, gc=False):
    """What happened, when, and to what."""

    kind: str
    level: Level
    sentence: str
    at_ms: int
    broker_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None


class KeptEvent(Event, frozen=True, kw_only=True, gc=False):
    """An event in the list of all; later ones have higher ids."""

    id: int
