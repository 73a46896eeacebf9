"""A question of the analytics page and REST, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from broker_core.contract.sentences import Level, Line, Piece
from console.rules.pieces import text_of

Row = Mapping[str, Any]
LINES_MAX = 10
"""Sentences of one answer; the tables have the rest."""


class Told(Struct, frozen=True):
    """One sentence of an answer; `text` is its pieces joined."""

    level: Level
    text: str
    pieces: tuple[Piece, ...]


class Answer(Struct, frozen=True):
    """`verdict` sums up; `lines` are the worst first, `left_off` of them are not among these; `tables` are where it comes from."""

    id: str
    question: str
    verdict: Line
    lines: tuple[Told, ...]
    left_off: int
    tables: Annotated[tuple[str, ...], Meta(description="names of the tables that can be had whole")]


class Table(Struct, frozen=True):
    """Rows of a table of the last analysis, `left_off` fewer than it found."""

    rows: Sequence[Row]
    left_off: int = 0


NONE = Table(())


def told(level: Level, *pieces: Piece) -> Told:
    shown = tuple(piece for piece in pieces if piece.text)
    return Told(level, text_of(shown), shown)


def answer(identity: str, question: str, verdict: Line, lines: Sequence[Told], tables: tuple[str, ...], *, left_off: int = 0) -> Answer:
    """With `LINES_MAX` sentences at most."""
    return Answer(identity, question, verdict, tuple(lines[:LINES_MAX]), left_off + max(len(lines) - LINES_MAX, 0), tables)
