"""What the documents point to is there: files, anchors, and the paths that the working guides name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.specification.document import ROOT, files

_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)\s*$", re.M | re.S)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(?P<text>.+?)\s*#*$", re.M)
_ID = re.compile(r"""<a\s+(?:id|name)=["'](?P<id>[^"']+)["']""")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.I)
_PATH = re.compile(r"`(?P<path>(?:broker_core|console|workers|tests|docs|docker|scripts|templates|static)/[\w./-]*)`")
_DECIDER = re.compile(r"`(?P<path>[\w/]+\.py)`: `(?P<name>\w+)`")
GUIDES = ("CONTRIBUTING.md", "docs/glossary.md", "docs/specification.md")


def anchors(text: str) -> set[str]:
    """Ids as GitHub makes them of headings (a number is added to those that come again), and those written out."""
    found = {match["id"] for match in _ID.finditer(text)}
    seen: dict[str, int] = {}
    for match in _HEADING.finditer(_FENCE.sub("", text)):
        words = re.sub(r"<[^>]+>|\[([^\]]*)\]\([^)]*\)", r"\1", match["text"]).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def dead(document: Path, root: Path) -> Iterator[str]:
    """Relative links of a document whose file or anchor is not there."""
    text = document.read_text()
    for match in _LINK.finditer(_CODE.sub("", _FENCE.sub("", text))):
        target = unquote(match["target"])
        if _ELSEWHERE.match(target):
            continue
        name, _, anchor = target.partition("#")
        file = document if not name else (root if name.startswith("/") else document.parent) / name.lstrip("/")
        if not file.exists():
            yield f"{document.relative_to(root)}: {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{document.relative_to(root)}: {target}: no such anchor"


def test_no_link_of_a_document_is_dead() -> None:
    documents = list(files(".md"))
    assert ROOT / "README.md" in documents
    assert [line for document in documents for line in dead(document, ROOT)] == []


@pytest.mark.parametrize("name", GUIDES)
def test_paths_that_a_guide_names_are_there(name: str) -> None:
    text = (ROOT / name).read_text()
    assert [match["path"] for match in _PATH.finditer(text) if not (ROOT / match["path"]).exists()] == []


def test_the_deciders_that_the_architecture_names_are_there() -> None:
    named = [(match["path"], match["name"]) for match in _DECIDER.finditer((ROOT / "ARCHITECTURE.md").read_text())]
    assert len(named) >= 10
    assert [(path, name) for path, name in named if f"def {name}(" not in (ROOT / path).read_text()] == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text('# A *title*, twice\n## A title, twice\n### <a id="R6"></a>R6 · Epochs\n```\n# no heading\n```\n')
    document = tmp_path / "page.md"
    document.write_text(
        "[1](there.md) [2](there.md#a-title-twice-1) ![3](gone.png) [4](there.md#no-heading) [5](#here) [6](https://x.test/gone.md)\n"
        "[7](there.md#R6) [8](/there.md) `[9](gone.md)`\n\n# Here\n\n```\n[10](gone.md)\n```\n"
    )
    assert list(dead(document, tmp_path)) == ["page.md: gone.png: no such file", "page.md: there.md#no-heading: no such anchor"]
