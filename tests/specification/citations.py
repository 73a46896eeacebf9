"""Citations in code, comments and documents: `spec R6`, `spec Z4, B11`, `spec S1–S7`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.specification.document import ROOT, files

_ID = r"[A-Z]\d{0,2}\b"
_CITATION = re.compile(rf"\bspec (?P<ids>{_ID}(?:(?:, |–){_ID})*)")
_BARE = re.compile(r"""(?:(?<=\()|(?<=\"\"\"))[SRPNZGOB]\d{1,2}(?:(?:, |–)[SRPNZGOB]\d{1,2})*(?=[),;:.])""")
_FORMER = re.compile(r"\b(?:SOURCES|REPLICATION) [A-Z]\d{0,2}\b")
_KINDS = (".py", ".md", ".html", ".js", ".toml")
_SKIPPED = ("static/vendor/", "tests/browser/vendor/", "docs/specification.md", "tests/architecture/test_specification.py")


class Citation(NamedTuple):
    """One cited id, and `FILE:LINE`."""

    row: str
    place: str


def citations() -> list[Citation]:
    """All citations in the project's files."""
    return [Citation(row, place) for place, line in _lines() if "spec " in line for row in cited(line)]


def unreadable() -> list[str]:
    """Lines that mean a row but would not be found by who looks for `spec R6`."""
    return [f"{place}: {', '.join(found)}" for place, line in _lines() if (found := strays(line))]


def cited(line: str) -> Iterator[str]:
    """The ids cited in a line; of a range all."""
    for citation in _CITATION.finditer(line):
        for part in citation["ids"].split(", "):
            first, _, last = part.partition("–")
            if not last:
                yield first
            elif first[0] == last[0] and first[1:].isdigit() and last[1:].isdigit():
                yield from (f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1))
            else:
                yield part


def strays(line: str) -> list[str]:
    """Ids in brackets or at a docstring's start without the word `spec`."""
    return [found.group() for pattern in (_BARE, _FORMER) for found in pattern.finditer(line)]


def _lines() -> Iterator[tuple[str, str]]:
    for path in files(*_KINDS):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(_SKIPPED):
            yield from ((f"{name}:{number}", line) for number, line in enumerate(path.read_text().splitlines(), 1))
