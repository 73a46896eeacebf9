"""docs/conformance.md from the results and the reasons. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from tests.conformance.case import Case, Outcome, SuiteRun
from tests.conformance.reasons import Reason, Verdict, reason_of

OURS, THEIRS = "highwater", "kafka"
VERDICTS = {
    Verdict.MISSING: "Highwater does not have it",
    Verdict.THEIRS: "the test's own doing",
    Verdict.NOT_APPLICABLE: "not applicable",
}
HOW = """\
Each suite is the project's own, unmodified, at the version named, against brokers of this repository that run as processes with ZooKeeper;
*Passed with* is the same suite with the same settings against Apache Kafka, on the same machine. What a suite starts by itself in
containers is given to it by a stand-in (`tests/conformance/stand_ins/`), which hands out the address of the running broker and does
nothing else. Tests that need no broker are left out where a suite keeps them apart. Every test that did not pass has its reason below, by
hand, in `tests/conformance/reasons.toml`; one without makes `make conformance` fail.

Not in the table, because they are tests of this repository: Kafka's own command-line tools, whose output is compared with what they print
for Apache Kafka ([tests/kafka_tools](../tests/kafka_tools/sides.py)); Kafka Streams and Kafka Connect
([tests/frameworks](../tests/frameworks/test_streams.py)).
"""


def page(runs: Sequence[SuiteRun], words: Mapping[str, str], reasons: Sequence[Reason], kafka: str) -> str:
    ours = [run for run in runs if run.kind == OURS]
    theirs = {run.suite: run for run in runs if run.kind == THEIRS}
    parts = [
        "# Clients' own tests",
        "Made by `make conformance`: the test suites of public Kafka clients, run against Highwater.",
        "\n".join(_table(ours, theirs, reasons, kafka)),
        HOW.strip(),
        *(_chapter(run, words.get(run.suite, ""), theirs.get(run.suite), reasons) for run in ours),
    ]
    return "\n\n".join(parts) + "\n"


def _table(ours: Sequence[SuiteRun], theirs: Mapping[str, SuiteRun], reasons: Sequence[Reason], kafka: str) -> list[str]:
    rows = [
        f"| Suite | Passed | Highwater lacks it | The test's own doing | Not applicable | Passed with {kafka} | Taken |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in ours:
        verdicts = [reason.verdict for case in run.cases if (reason := reason_of(run.suite, case, reasons))]
        beside = theirs.get(run.suite)
        counts = [verdicts.count(verdict) for verdict in (Verdict.MISSING, Verdict.THEIRS, Verdict.NOT_APPLICABLE)]
        cells = [f"[{run.suite} {run.version}](#{anchor(run)})", str(run.count(Outcome.PASSED)), *map(str, counts)]
        cells += [str(beside.count(Outcome.PASSED)) if beside else "not run", f"{run.began[:10]}, {run.commit}"]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def anchor(run: SuiteRun) -> str:
    """As Markdown makes it of the chapter's head."""
    return "".join(letter for letter in f"{run.suite} {run.version}".lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def _chapter(run: SuiteRun, words: str, beside: SuiteRun | None, reasons: Sequence[Reason]) -> str:
    passed, total = run.count(Outcome.PASSED), len(run.cases)
    head = [f"## {run.suite} {run.version}", f"{words} {passed} of {total} tests pass, in {max(run.seconds / 60, 1):.0f} min."]
    if run.error:
        head.append(f"The run was not whole: {run.error}.")
    others = [case for case in run.cases if case.outcome is not Outcome.PASSED]
    if not others:
        return "\n\n".join(head)
    there = {case.name: case.outcome for case in beside.cases} if beside else {}
    rows = ["| Tests | With Kafka | Why |", "|---|---|---|"]
    explained = sorted(others, key=lambda case: _place(run.suite, case, reasons))
    for reason, cases in groupby(explained, key=lambda case: reason_of(run.suite, case, reasons)):
        found = list(cases)
        rows.append(f"| {_names(found)} | {_there(found, there)} | {_why(reason)} |")
    return "\n\n".join([*head, "\n".join(rows)])


def _place(suite: str, case: Case, reasons: Sequence[Reason]) -> tuple[int, str]:
    reason = reason_of(suite, case, reasons)
    return (reasons.index(reason) if reason else -1, case.name)


def _names(cases: Sequence[Case]) -> str:
    """All of them by their last name; what they have in common is clear from their suite."""
    return ", ".join(f"`{_cell(case.name.rpartition('.')[2])}`" for case in cases)


def _there(cases: Sequence[Case], there: Mapping[str, Outcome]) -> str:
    found = [there[case.name].value for case in cases if case.name in there]
    return ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(sorted(found))) or "not run"


def _why(reason: Reason | None) -> str:
    return f"*{VERDICTS[reason.verdict]}*: {_cell(reason.why)}" if reason else "**no reason is known yet**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
