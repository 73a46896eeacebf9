"""The documentation: its site is made without a warning, links lead somewhere, and what it tells to type is taken."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli import main
from tests.support.openapi import document

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
HTTP = re.compile(r"^```http\n(.*?)^```", re.DOTALL | re.MULTILINE)
REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/api/v1/\S+?)(?:\?(\S+))?\n(\{.*\}\n)?")
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


def requests() -> list[tuple[str, str, str, str]]:
    """Method, path, query and body of all blocks of HTTP."""
    blocks = [block for page in PAGES for block in HTTP.findall(page.read_text())]
    found = [[one.groups(default="") for one in REQUEST.finditer(block)] for block in blocks]
    assert all(found), "a block that is no request"
    return [one for some in found for one in some]  # type: ignore[misc]


@pytest.mark.parametrize(("method", "path", "query", "body"), requests())
def test_a_request_of_rest_is_taken(method: str, path: str, query: str, body: str) -> None:
    """Its address and method are there, its parameters may be so, and its body is one that fits."""
    shapes = [shape for shape in document()["paths"] if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(shape)), path)]
    found = document()["paths"][min(shapes, key=lambda shape: shape.count("{"))][method.lower()]
    takes = {one["name"]: Draft202012Validator(one["schema"]) for one in found["parameters"] if one["in"] == "query"}
    for name, _, value in (part.partition("=") for part in query.split("&") if part):
        assert any(takes[name].is_valid(one) for one in ([value, int(value)] if value.isdigit() else [value])), name
    assert bool(body) is ("requestBody" in found)
    if body:
        schema = {**found["requestBody"]["content"]["application/json"]["schema"], "components": document()["components"]}
        assert [error.message for error in Draft202012Validator(schema).iter_errors(json.loads(body))] == []
