"""Plots as SVG, in both themes of whoever looks. Pure: text out of findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from tests.kafka_bench.findings import Finding, Verdict
from tests.kafka_bench.report import number
from tests.kafka_bench.statistics import Spread

WIDTH, LABEL_WIDTH, RIGHT = 1000, 450, 90
CROWDED = 3
"""A chapter of more rows is drawn measure by measure."""
LINE, HEAD, FOOT = 20, 34, 30
BARS = {"kafka": "#c0843c", "highwater": "#168f83"}
STYLE = """\
text{font:12px system-ui,sans-serif;fill:#1c2733}.quiet{fill:#5a6b7b}.head{font-weight:600;font-size:13px}.page{fill:#fff}
.axis{stroke:#c9d2da}.one{stroke:#5a6b7b;stroke-dasharray:4 3}.good{fill:#168f83;stroke:#168f83}.even{fill:#8a97a3;stroke:#8a97a3}
.bad{fill:#c4453a;stroke:#c4453a}.range{stroke:#1c2733;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#e4eaf0}.quiet{fill:#9aa9b7}.page{fill:#14191f}.axis{stroke:#3a4652}.one{stroke:#9aa9b7}
.range{stroke:#e4eaf0}}"""
CLASSES = {Verdict.REACHED: "good", Verdict.AHEAD: "good", Verdict.EVEN: "even", Verdict.BEHIND: "bad"}
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def ratios(findings: Sequence[Finding]) -> str:
    """Ours by Kafka's on a logarithmic axis, a line each, with the spread; the colour says who is ahead."""
    shown = [finding for finding in findings if finding.ratio is not None and finding.ratio.least > 0]
    values = [value for f in shown if f.ratio is not None for value in (f.ratio.least, f.ratio.most)] + [0.5, 2.0]
    low, high = math.log10(min(values)), math.log10(max(values))

    def x(value: float) -> float:
        return LABEL_WIDTH + (math.log10(value) - low) / (high - low) * (WIDTH - LABEL_WIDTH - RIGHT)

    parts, y = list[str](), float(HEAD)
    for head, lines in grouped(shown):
        parts.append(_text(10, y + 14, head, "head"))
        y += LINE
        for label, finding in lines:
            parts.append(_ratio_line(finding, label, x, y))
            y += LINE
    ticks = [tick for tick in TICKS if low <= math.log10(tick) <= high]
    axis = "".join(_tick(x(tick), HEAD, y, f"{tick:g}", "one" if tick == 1 else "axis") for tick in ticks)
    return _svg("Highwater by Apache Kafka: 1 is alike, green is better, red worse, grey even", y + FOOT, axis + "".join(parts))


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[str, list[tuple[str, Finding]]]]:
    """Heads, and the labelled findings below each."""
    for chapter, group in groupby(findings, lambda finding: finding.row.chapter):
        found = list(group)
        if len({finding.row.name for finding in found}) <= CROWDED:
            yield chapter, [(f"{finding.row.words}: {finding.measure.words}", finding) for finding in found]
            continue
        for measure in dict.fromkeys(finding.measure.words for finding in found):
            yield f"{chapter}: {measure}", [(f.row.words, f) for f in found if f.measure.words == measure]


def _ratio_line(finding: Finding, words: str, x: Callable[[float], float], y: float) -> str:
    assert finding.ratio is not None
    name, middle = CLASSES.get(finding.verdict, "even"), y + LINE / 2
    label = _text(LABEL_WIDTH - 8, y + 14, short(words), "quiet", "end")
    least, most = x(finding.ratio.least), x(finding.ratio.most)
    line = f'<line class="{name}" x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}" stroke-width="2"/>'
    dot = f'<circle class="{name}" cx="{x(finding.ratio.middle):.1f}" cy="{middle}" r="4"/>'
    return label + line + dot + _text(WIDTH - RIGHT + 12, y + 14, f"{finding.ratio.middle:.2f}", "quiet")


def bars(title: str, findings: Sequence[Finding]) -> str:
    """Both kinds' medians side by side with their spreads, of findings of one unit."""
    spreads = [found for f in findings for found in (f.kafka, f.ours) if found is not None]
    most = max((found.most for found in spreads), default=1.0) or 1.0

    def width(value: float) -> float:
        return value / most * (WIDTH - LABEL_WIDTH - RIGHT)

    parts, y = [_legend()], HEAD + LINE
    alike = len({finding.measure.name for finding in findings}) == 1
    for finding in findings:
        words = finding.row.words if alike else f"{finding.row.words}: {finding.measure.words}"
        parts.append(_text(LABEL_WIDTH - 8, y + 18, short(words), "quiet", "end"))
        parts.append(_bar("kafka", finding.kafka, width, y))
        parts.append(_bar("highwater", finding.ours, width, y + 13))
        y += 34
    return _svg(title, y + 6, "".join(parts))


def _bar(kind: str, found: Spread | None, width: Callable[[float], float], y: float) -> str:
    if found is None:
        return _text(LABEL_WIDTH, y + 10, "not measured", "quiet")
    end, middle = LABEL_WIDTH + width(found.middle), y + 5.5
    bar = f'<rect x="{LABEL_WIDTH}" y="{y}" width="{width(found.middle):.1f}" height="11" fill="{BARS[kind]}"/>'
    least, most = LABEL_WIDTH + width(found.least), LABEL_WIDTH + width(found.most)
    line = f'<line class="range" x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}"/>' if found.count > 1 else ""
    return bar + line + _text(max(end, most) + 6, y + 10, number(found.middle), "quiet")


def _legend() -> str:
    parts = []
    for index, (kind, words) in enumerate((("kafka", "Apache Kafka"), ("highwater", "Highwater"))):
        left = LABEL_WIDTH + index * 130
        parts.append(f'<rect x="{left}" y="{HEAD}" width="11" height="11" fill="{BARS[kind]}"/>')
        parts.append(_text(left + 17, HEAD + 10, words, "quiet"))
    return "".join(parts)


def short(words: str, most: int = 72) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def _tick(x: float, top: float, bottom: float, words: str, name: str) -> str:
    return f'<line class="{name}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>' + _text(x, bottom + 16, words, "quiet", "middle")


def _text(x: float, y: float, words: str, name: str, anchor: str = "start") -> str:
    return f'<text class="{name}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(title: str, height: float, body: str) -> str:
    named = escape(title, {'"': "&quot;"})
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{named}">'
    page = f'<rect class="page" width="{WIDTH}" height="{height:.0f}"/>'
    return f"{head}<style>{STYLE}</style>{page}{_text(10, 20, title, 'head')}{body}</svg>\n"
