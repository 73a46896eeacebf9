"""The page and the plots of a small sample."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.kafka_bench import making, report
from tests.kafka_bench.findings import Finding, Verdict, falls, findings
from tests.kafka_bench.results import Document, Machine, Sample
from tests.kafka_bench.rows import ROWS

AT = "2026-01-01T00:00:00+00:00"
NAVIGATION = "nav:\n  - Reference:\n      - Beside other tools: compare.md\n"
FAST = "native-1k-acks1-rf1-p1"


def sample(row: str, kind: str, number: int, error: str | None = None, **figures: float) -> Sample:
    return Sample(row, kind, number, AT, 1.0, 0.5, figures, error)


def document(ours: tuple[float, ...] = (150.0, 170.0, 160.0)) -> Document:
    samples = [sample(FAST, "kafka", number, mb_per_s=rate, cpu_s_per_gb=10.0) for number, rate in enumerate((100.0, 110.0, 90.0))]
    samples += [
        sample(FAST, "highwater", number, mb_per_s=rate, cpu_s_per_gb=12.0, client_cpu_share=0.97) for number, rate in enumerate(ours)
    ]
    samples += [sample("start", "kafka", 0, start_s=12.0), sample("start", "highwater", 0, start_s=1.0)]
    samples += [sample("partitions-10000", "highwater", 0, "Failed: no <b>replicas</b> | in sync\nmore", create_s=9.0)]
    return Document(AT, "abc123", False, Machine("A | processor", 2, 8.0, "Linux", "memory"), {"Java": "17"}, samples)


def found(of: Document, row: str, measure: str) -> Finding:
    return next(f for f in findings(of, ROWS) if (f.row.name, f.measure.name) == (row, measure))


def test_ratios_are_of_the_same_round() -> None:
    finding = found(document(), FAST, "mb_per_s")
    assert finding.ratio is not None
    assert [finding.ratio.least, finding.ratio.middle, finding.ratio.most] == pytest.approx([1.5, 170 / 110, 160 / 90])
    assert (finding.verdict, finding.client_bound) == (Verdict.REACHED, True)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ((150.0, 165.0, 135.0), Verdict.REACHED),
        ((120.0, 130.0, 110.0), Verdict.AHEAD),
        ((90.0, 130.0, 90.0), Verdict.EVEN),
        ((80.0, 90.0, 70.0), Verdict.BEHIND),
    ],
)
def test_a_verdict_needs_all_rounds(ours: tuple[float, ...], verdict: Verdict) -> None:
    assert found(document(ours), FAST, "mb_per_s").verdict is verdict


def test_what_only_one_has_is_compared_with_nothing() -> None:
    finding = found(document(), "partitions-10000", "create_s")
    assert (finding.ratio, finding.verdict) == (None, Verdict.UNKNOWN)


def test_a_fall_is_beyond_both_spreads() -> None:
    assert falls(document(), document((149.0, 170.0, 160.0)), ROWS) == []
    assert falls(document(), document((100.0, 110.0, 90.0)), ROWS) == [f"{FAST} fell against Kafka: throughput 1.55 → 1.00"]
    assert falls(document((100.0, 110.0, 90.0)), document(), ROWS) == []


def test_the_page_of_a_small_sample(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text(NAVIGATION)
    text = making.make(document(), tmp_path).read_text()
    assert "| throughput | produce 1 KB, batches of 16 KB, acks=1, 1 replica, 1 partition | MB/s | 100 (90–110) | 160 (150–170) |" in text
    assert "| 1.55 (1.50–1.78) | ≥ 1.5 | **goal reached**, client-bound |" in text
    assert "| launch → all know each other | start of three brokers | s | 12 | 1 | 0.08 | ≤ 0.1 | **goal reached** |" in text
    assert (
        "- Throughput with librdkafka, produce 1 KB, batches of 16 KB, acks=1, 1 replica, 1 partition: brokers' CPU a GB 1.20 (1.20–1.20)"
        in text
    )
    assert "| 9 | – | ≤ 0.5 | not known |" in text
    assert "- partitions-10000, highwater, round 1: `Failed: no <b>replicas</b> | in sync`\n" in text
    assert "A \\| processor, 2 cores" in text
    assert json.loads((tmp_path / making.RECORDED).read_text())["commit"] == "abc123"
    for name in ("ratios", "throughput-native", "cpu-native"):
        assert f"performance/{name}.svg" in text
        drawn = ElementTree.fromstring((tmp_path / making.FOLDER / f"{name}.svg").read_text())
        assert drawn.tag.endswith("svg")
    assert "throughput-java" not in text
    assert "performance.md" in (tmp_path / "mkdocs.yml").read_text()


def test_what_somebody_wrote_stays(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text(NAVIGATION)
    page = making.make(document(), tmp_path)
    page.write_text(page.read_text().replace(report.NO_NOTES, "The profile says why."))
    making.make(document(), tmp_path)
    assert page.read_text().count(report.NOTES) == 1
    assert page.read_text().endswith("The profile says why.\n")
    assert (tmp_path / "mkdocs.yml").read_text().count("performance.md") == 1


def test_a_document_without_samples_is_a_page(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text(NAVIGATION)
    empty = Document(AT, "abc", True, Machine("p", 2, 8.0, "Linux", "memory"), {})
    text = making.make(empty, tmp_path).read_text()
    assert "Of 0 comparisons" in text
    assert "A quick run" in text


def test_the_navigation_has_a_place_for_the_page() -> None:
    text = (Path(__file__).parent.parent.parent / making.NAVIGATION).read_text()
    assert "performance.md" in report.in_navigation(text)
