"""What a PromQL expression asks for: as much of the language as it takes to find names and labels, without its meaning.

https://prometheus.io/docs/prometheus/latest/querying/basics/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<comment>\#[^\n]*)|(?P<range>\[[^\]]*\])|(?P<number>(?:0x[0-9a-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)[a-z]*)"""
    r"""|(?P<word>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<sign>=~|!~|!=|==|[<>]=|[-+*/%^<>=(){},@])""",
    re.IGNORECASE,
)
GROUPING = ("by", "without", "on", "ignoring", "group_left", "group_right")
WORDS = {*GROUPING, "and", "or", "unless", "bool", "offset", "inf", "nan"}


class Selector(NamedTuple):
    """`labels` by name, with what they are compared with."""

    metric: str
    labels: dict[str, str]


def selectors(query: str) -> list[Selector]:
    """All of them, in their order; `ValueError` for what is no expression."""
    tokens = [*_tokens(query), ("end", "")]
    found: list[Selector] = []
    at = 0
    while at < len(tokens) - 1:
        kind, text = tokens[at]
        is_call = tokens[at + 1][1] == "(" or tokens[at + 1][1].lower() in ("by", "without")
        if text.lower() in GROUPING and tokens[at + 1][1] == "(":
            at = _after(tokens, at, ")")
        elif kind == "word" and text.lower() not in WORDS and not is_call:
            end = _after(tokens, at + 1, "}") if tokens[at + 1][1] == "{" else at + 1
            found.append(Selector(text, _labels(tokens[at + 2 : end - 1])))
            at = end
        else:
            at += 1
    return found


def grouped_by(query: str) -> set[str]:
    """All labels that `by`, `on` and their like name."""
    found: set[str] = set()
    tokens = [*_tokens(query), ("end", "")]
    for at, (_, text) in enumerate(tokens):
        if text.lower() in ("by", "on") and tokens[at + 1][1] == "(":
            found |= {label for kind, label in tokens[at + 2 : _after(tokens, at, ")") - 1] if kind == "word"}
    return found


def _labels(tokens: list[tuple[str, str]]) -> dict[str, str]:
    return {tokens[at][1]: tokens[at + 2][1][1:-1] for at in range(0, len(tokens), 4)}


def _after(tokens: list[tuple[str, str]], at: int, closing: str) -> int:
    return next(n for n in range(at, len(tokens)) if tokens[n][1] == closing) + 1


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    at = 0
    while query[at:].strip():
        at += len(query[at:]) - len(query[at:].lstrip())
        found = TOKEN.match(query, at)
        if found is None:
            raise ValueError(f"no PromQL: {query[at:]!r}")
        at = found.end()
        if found.lastgroup != "comment":
            yield str(found.lastgroup), found[0]
