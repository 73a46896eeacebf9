"""The pieces that sentences are made of: words, and links to what they name. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from broker_core.contract.sentences import Level, Part, Piece

PLACES = {"topic": "/topics/", "group": "/groups/"}
"""The pages of single things, which are named after the slash; `console/urls.py` has the same addresses."""


def said(text: str) -> Piece:
    return Piece(text)


def link(text: str, about: str, form: str | None = None) -> Piece:
    """Words that lead to what they are about: `topic/orders`, `group/billing`, `brokers`, `topics`, `groups`."""
    kind, slash, name = about.partition("/")
    href = PLACES[kind] + quote(name, safe="") if slash else f"/{kind}"
    return Piece(text, about, form, f"{href}#{form}" if form else href)


def text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def part(level: Level, about: str | None, *pieces: Piece) -> Part:
    """A sentence of a verdict."""
    shown = tuple(piece for piece in pieces if piece.text)
    return Part(level, text_of(shown), about, shown)
