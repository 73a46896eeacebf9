"""Writes docs/performance.md, its plots and its samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.kafka_bench import plots, report, results
from tests.kafka_bench.findings import Finding, findings
from tests.kafka_bench.latency import CHAPTER, LOAD
from tests.kafka_bench.results import Document
from tests.kafka_bench.rows import ROWS
from tests.kafka_bench.throughput import JAVA, NATIVE, RATE

PAGE, FOLDER, NAVIGATION = "docs/performance.md", "docs/performance", "mkdocs.yml"
RECORDED = f"{FOLDER}/results.json"


def make(document: Document, root: Path) -> Path:
    """The page's path. Notes written by hand in an earlier page stay."""
    found = list(findings(document, ROWS))
    page, folder, navigation = root / PAGE, root / FOLDER, root / NAVIGATION
    folder.mkdir(parents=True, exist_ok=True)
    drawn = drawings(found)
    for name, text in drawn.items():
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")
    results.save(document, root / RECORDED)
    notes = report.notes_of(page.read_text(encoding="utf-8")) if page.exists() else ""
    page.write_text(report.page(document, found, drawn, notes), encoding="utf-8")
    navigation.write_text(report.in_navigation(navigation.read_text(encoding="utf-8")), encoding="utf-8")
    return page


def drawings(found: Sequence[Finding]) -> dict[str, str]:
    """SVG by file name; a plot of nothing is none."""
    wanted = {
        "throughput-native": ("Throughput with librdkafka, MB/s", _of(found, NATIVE, RATE)),
        "throughput-java": ("Throughput with Kafka's own tools, MB/s", _of(found, JAVA, RATE)),
        "cpu-native": ("Brokers' CPU seconds a GB, librdkafka (less is better)", _of(found, NATIVE, "cpu_s_per_gb")),
        "latency": (
            f"Latency, ms (less is better): {LOAD.words}",
            [f for f in found if f.row.chapter == CHAPTER and f.measure.unit == "ms"],
        ),
    }
    goals = [finding for finding in found if finding.measure.goal is not None and finding.ratio is not None]
    ratios = {"ratios": plots.ratios(goals)} if goals else {}
    return ratios | {name: plots.bars(title, chosen) for name, (title, chosen) in wanted.items() if chosen}


def _of(found: Sequence[Finding], chapter: str, measure: str) -> list[Finding]:
    return [finding for finding in found if finding.row.chapter == chapter and finding.measure.name == measure]
