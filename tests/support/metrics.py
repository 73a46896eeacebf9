"""Metrics as they are exported and as docs/metrics.md has them: names with their kinds and labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "metrics.md"
SAMPLE = re.compile(r'(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (?P<value>\S+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
ROW = re.compile(r"^\| `(\w+)` \| (gauge|counter|histogram) \| ([^|]*) \|", re.MULTILINE)
PARTS = ("_bucket", "_sum", "_count")


class Known(NamedTuple):
    kind: str
    labels: frozenset[str]


Exported = dict[str, Known]


def exported(text: str) -> Exported:
    """Of a page in Prometheus's text format, each line of which is read; two rows alike, or one without a type, are errors."""
    kinds: dict[str, str] = {}
    found: Exported = {}
    seen: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds, f"{name} is told twice"
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            _take(line, kinds, found, seen)
    return found


def _take(line: str, kinds: dict[str, str], found: Exported, seen: set[str]) -> None:
    sample = SAMPLE.fullmatch(line)
    assert sample, f"not a sample: {line!r}"
    float(sample["value"])
    row = line.rpartition(" ")[0]
    assert row not in seen, f"{row} comes twice"
    seen.add(row)
    family, labels = family_of(sample["name"], kinds), frozenset(name for name, _ in LABEL.findall(sample["labels"] or "")) - {"le"}
    assert found.setdefault(family, Known(kinds[family], labels)).labels == labels, row


def family_of(name: str, kinds: dict[str, str]) -> str:
    """A histogram's name without what its rows add."""
    ending = next((part for part in PARTS if name.endswith(part) and kinds.get(name.removesuffix(part)) == "histogram"), "")
    return name.removesuffix(ending)


def described() -> tuple[Exported, Exported]:
    """What docs/metrics.md says of the brokers' pages, and of the console's."""
    brokers, _, console = DOCS.read_text(encoding="utf-8").partition("\n## The console\n")
    return _rows(brokers), _rows(console)


def _rows(text: str) -> Exported:
    return {name: Known(kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(text)}
