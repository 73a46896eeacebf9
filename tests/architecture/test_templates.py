"""What templates say of lengths of time: a name tells its unit, and the filter has to be that unit's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"
FILTER_OF = {"_ms": "duration", "_s": "seconds"}
SAID = re.compile(r"[a-z_.0-9]*(?P<unit>_ms|_s)\|(?P<filter>duration|seconds)\b")


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_milliseconds_are_not_said_as_seconds(path: Path) -> None:
    wrong = [found[0] for found in SAID.finditer(path.read_text(encoding="utf-8")) if FILTER_OF[found["unit"]] != found["filter"]]
    assert wrong == []
