"""`docs/specification.md` as data: its rows and rules, and which of them are not built yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "specification.md"
NOT_BUILT = ("Not built yet:", "Not built yet.")
_HEADING = re.compile(r'^#{2,4} <a id="(?P<row>[A-Z]\d{0,2})"></a>(?P=row) · (?P<title>.+)$')

_FOREIGN = {"build", "data", "staticfiles", "node_modules"}  # at the top: what runs and builds leave there, and may be anybody's


def files(*suffixes: str) -> Iterator[Path]:
    """The project's own files with one of the suffixes; nothing hidden (.venv, .git), nothing that runs or builds have left."""
    for path in sorted(ROOT.iterdir()):
        if path.name.startswith(".") or path.name in _FOREIGN or path.is_symlink():
            continue
        if path.is_dir():
            yield from (file for file in sorted(path.rglob("*")) if file.suffix in suffixes and file.is_file())
        elif path.suffix in suffixes:
            yield path


class Row(NamedTuple):
    """One row (S, R, P, N, Z, G, O) or rule (A, B, C). `built` is false where its text has a line that begins `Not built yet`."""

    id: str
    title: str
    built: bool


def rows() -> dict[str, Row]:
    """All rows and rules by id, in the document's order."""
    return rows_in(DOCUMENT.read_text())


def rows_in(text: str) -> dict[str, Row]:
    """The rows of a text: from each heading `### <a id="R6"></a>R6 · Title` to the next heading."""
    found: dict[str, Row] = {}
    current: Row | None = None
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            current = Row(heading["row"], heading["title"], built=True)
            assert current.id not in found, f"{current.id} is there twice"
            found[current.id] = current
        elif line.startswith("#"):
            current = None
        elif current is not None and line.startswith(NOT_BUILT):
            found[current.id] = current._replace(built=False)
    return found
