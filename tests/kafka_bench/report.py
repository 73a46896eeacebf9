"""The page of docs/ from the samples: tables, links to the plots, and the notes that somebody wrote by hand. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tests.kafka_bench.findings import Finding, Verdict
from tests.kafka_bench.kinds import KINDS
from tests.kafka_bench.results import Document
from tests.kafka_bench.row import Better
from tests.kafka_bench.statistics import Spread

NOTES = "## Notes by hand"
NO_NOTES = "Nothing noted yet; what stands below this line stays when the page is made anew."
SIGNS = {Verdict.REACHED: "**goal reached**", Verdict.AHEAD: "ahead", Verdict.EVEN: "even", Verdict.BEHIND: "**behind**"}
HOW = """\
Three brokers each, over one ZooKeeper, with the same settings (those of Kafka but for a session of 6 s) and their data in {folder}. They
take turns: in each round one kind is asked, then the other, the first of them changing; what is compared is ours by Kafka's *of the same
round*. Brokers of Kafka run as `kafka-server-start.sh` starts them (1 GB of heap, G1), and are driven until their JVM no longer gets
faster. Figures are medians, with the least and the greatest in brackets; one without brackets was taken once, as those of many partitions
are. A slow machine goes through three rounds of a row, not five. CPU is that of the three broker processes alone; a request is one of the
client's. Clients keep five requests on their way to a broker, and wait for nothing unless batches are of 1 MB (10 ms). Latency counts
from the moment a record was due; 100 % load is what the slower kind takes from the same two clients. *Client-bound*: the client had
nearly a core of its own, so the brokers could have done more. *Even*: the rounds do not agree who is ahead, or it is less than 5 %. In
sync is what brokers tell clients.
"""


def page(document: Document, findings: Sequence[Finding], plots: Iterable[str], notes: str) -> str:
    parts = [
        "# Performance",
        "Made by `make bench-kafka` and `make bench-kafka ARGS=--report`; every sample is in [results.json](performance/results.json).",
        *(["**A quick run, that only shows that the bench works: no figures to go by.**"] if document.quick else []),
        _machine(document),
        summary(findings),
        *(f"![{name}](performance/{name}.svg)" for name in plots),
        *(_chapter(name, list(found)) for name, found in groupby(findings, lambda finding: finding.row.chapter)),
        *_failures(document),
        "## How it is measured\n\n" + HOW.format(folder=document.machine.folder).strip(),
        notes or f"{NOTES}\n\n{NO_NOTES}",
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def notes_of(text: str) -> str:
    """What somebody wrote at the end of a page made earlier; empty without."""
    _, mark, rest = text.partition(NOTES)
    return (mark + rest).rstrip()


def summary(findings: Sequence[Finding]) -> str:
    """How many of the comparisons are ahead, even or behind, and which are behind."""
    counts = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    ahead = counts[Verdict.REACHED] + counts[Verdict.AHEAD]
    goals = sum(finding.measure.goal is not None and finding.verdict is not Verdict.UNKNOWN for finding in findings)
    head = (
        f"Of {len(findings)} comparisons Highwater is ahead in {ahead}, even in {counts[Verdict.EVEN]}, behind in {counts[Verdict.BEHIND]}"
        f"; {counts[Verdict.REACHED]} of {goals} goals are reached."
    )
    behind = [
        f"- {f.row.chapter.partition(':')[0]}, {f.row.words}: {f.measure.words} {_ratio(f.ratio)}"
        for f in findings
        if f.verdict is Verdict.BEHIND
    ]
    return "\n".join([head, *(["", "Behind:", "", *behind] if behind else [])])


def _machine(document: Document) -> str:
    machine = document.machine
    rows = {
        "Taken": f"{document.began[:10]}, {rounds(document)} rounds",
        "Machine": f"{machine.processor}, {machine.cores} cores, {machine.memory_gb:g} GB, {machine.system}",
        "Load before the turns": _load(document),
        **document.versions,
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {_cell(value)} |" for name, value in rows.items())])


def rounds(document: Document) -> int:
    return max((sample.round + 1 for sample in document.samples), default=0)


def _load(document: Document) -> str:
    """The machine's load average is mostly the bench's own."""
    loads = [sample.load_before for sample in document.samples]
    return f"{min(loads):.1f} to {max(loads):.1f} (the bench's own included)" if loads else "unknown"


def _chapter(name: str, findings: Sequence[Finding]) -> str:
    labels = " | ".join(kind.label for kind in KINDS)
    head = [f"## {name}", "", f"| What | | Unit | {labels} | ours / Kafka's | Goal | |", "|---|---|---|---|---|---|---|---|"]
    measures = list(dict.fromkeys(finding.measure.name for finding in findings))
    ordered = sorted(findings, key=lambda finding: measures.index(finding.measure.name))
    return "\n".join([*head, *map(_line, ordered)])


def _line(finding: Finding) -> str:
    measure = finding.measure
    verdict = ", ".join(filter(None, [SIGNS.get(finding.verdict, "not known"), "client-bound" if finding.client_bound else ""]))
    cells = [measure.words, finding.row.words, measure.unit, spread_words(finding.kafka), spread_words(finding.ours)]
    return "| " + " | ".join([*map(_cell, cells), _ratio(finding.ratio), _goal(finding), verdict]) + " |"


def _goal(finding: Finding) -> str:
    sign = "≥" if finding.measure.better is Better.MORE else "≤"
    return "" if finding.measure.goal is None else f"{sign} {finding.measure.goal:g}"


def _ratio(found: Spread | None) -> str:
    return "–" if found is None else f"{found.middle:.2f}" + (f" ({found.least:.2f}–{found.most:.2f})" if found.count > 1 else "")


def spread_words(found: Spread | None) -> str:
    if found is None:
        return "not measured"
    return number(found.middle) + (f" ({number(found.least)}–{number(found.most)})" if found.count > 1 else "")


def number(value: float) -> str:
    """Three digits, thousands apart."""
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 100 else f"{value:.3g}"


def _failures(document: Document) -> list[str]:
    failed = [f"- {s.row}, {s.kind}, round {s.round + 1}: `{_plain(s.error)}`" for s in document.samples if s.error]
    return ["\n".join(["## What did not run to its end", "", *failed])] if failed else []


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """The first line, as it may stand between backticks."""
    return text.partition("\n")[0].replace("`", "'")


def in_navigation(text: str) -> str:
    """mkdocs.yml with the page in it: a page that its navigation lacks is an error."""
    after = "      - Beside other tools: compare.md\n"
    return text if "performance.md" in text else text.replace(after, after + "      - Beside Apache Kafka: performance.md\n")
