"""The documentation: its site is made without a warning, links lead somewhere, and what it tells to type is taken."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli import main
from tests.support.openapi import document

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"/api/v1(/[\w/{}.@-]*)")


def typed() -> list[str]:
    """Each line of each block of shell, with README's."""
    pages = [*PAGES, ROOT / "README.md"]
    return sorted(
        {line.strip() for page in pages for block in SHELL.findall(page.read_text()) for line in block.splitlines() if line.strip()}
    )


def test_the_site_is_made(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    pages = {path.relative_to(tmp_path).with_suffix(".md").as_posix() for path in tmp_path.rglob("*.html")} - {"404.md"}
    assert pages == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES}
    index = (tmp_path / "index.html").read_text()
    assert not re.findall(r'(?:src|href)="https?://(?!squidfunk\.github\.io/mkdocs-material/)', index), "nothing comes from elsewhere"


@pytest.mark.parametrize("line", [line for line in typed() if re.match(r"(\.venv/bin/)?highwater ", line)])
def test_a_command_is_taken(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    main.new().parse_args(words)


@pytest.mark.parametrize("line", [line for line in typed() if line.startswith("make ")])
def test_a_target_of_make_is_there(line: str) -> None:
    target = shlex.split(line, comments=True)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_addresses_of_rest_are_there(page: Path) -> None:
    shapes = [re.sub(r"\\{\w+\\}", "[^/]+", re.escape(shape)) for shape in document()["paths"]] + [
        "/api/v1/openapi.json",
        "/api/v1/problems",
    ]
    for found in ADDRESS.finditer(page.read_text()):
        assert any(re.fullmatch(shape, found[0]) for shape in shapes), f"{page.name}: {found[0]}"
