"""The page of clients' own tests: made of the results that are kept, with a reason for whatever did not pass."""

from __future__ import annotations

from tests.conformance.__main__ import PAGE, load, text
from tests.conformance.case import Case, Outcome, SuiteRun
from tests.conformance.page import OURS, THEIRS, anchor, page
from tests.conformance.reasons import Reason, Verdict, reason_of, unexplained
from tests.conformance.reasons import load as known
from tests.conformance.suites import SUITES

REASONS = (
    Reason("client", ("*.test_quorum*",), Verdict.NOT_APPLICABLE, "Asks a KRaft controller."),
    Reason("client", ("*.test_slow",), Verdict.THEIRS, "Waits 10 ms.", says="*timed out*"),
)
CASES = (
    Case("a.test_good", Outcome.PASSED),
    Case("a.test_new", Outcome.FAILED, "a | b"),
    Case("a.test_quorum_1", Outcome.SKIPPED, "no quorum"),
    Case("a.test_quorum_2", Outcome.SKIPPED, "no quorum"),
    Case("a.test_slow", Outcome.FAILED, "it timed out"),
)


def run(kind: str, *cases: Case) -> SuiteRun:
    return SuiteRun("client", "1.0", kind, "2026-01-31T09:00:00+00:00", "abc123", 120, cases)


def test_a_reason_is_found_by_name_and_by_what_was_said() -> None:
    assert [reason_of("client", case, REASONS) for case in CASES] == [None, None, REASONS[0], REASONS[0], REASONS[1]]
    assert reason_of("client", Case("a.test_slow", Outcome.FAILED, "wrong answer"), REASONS) is None
    assert unexplained("client", CASES, REASONS) == [CASES[1]]


def test_what_the_page_says() -> None:
    made = page([run(OURS, *CASES), run(THEIRS, CASES[0], CASES[4])], {"client": "A client's tests."}, REASONS, "Kafka 3")
    assert "| [client 1.0](#client-10) | 1 | 0 | 1 | 2 | 1 | 2026-01-31, abc123 |" in made
    assert "A client's tests. 1 of 5 tests pass, in 2 min." in made
    assert "| `test_new` | not run | **no reason is known yet** |" in made
    assert "| `test_quorum_1`, `test_quorum_2` | not run | *not applicable*: Asks a KRaft controller. |" in made
    assert "| `test_slow` | 1 failed | *the test's own doing*: Waits 10 ms. |" in made
    assert anchor(run(OURS)) == "client-10"


def test_the_page_is_of_the_results_and_each_failure_has_its_reason() -> None:
    runs = load()
    assert PAGE.read_text(encoding="utf-8") == text(runs)
    ours = [run for run in runs if run.kind == OURS]
    assert {run.suite for run in ours} == {suite.name for suite in SUITES}
    assert [case for run in ours for case in unexplained(run.suite, run.cases, known())] == []
    assert not [run.error for run in ours if run.error]


def test_no_reason_is_left_over() -> None:
    """One that fits nothing any more hides what fails next."""
    found = {id(reason_of(run.suite, case, REASONS_KEPT)) for run in load() if run.kind == OURS for case in run.cases}
    assert [reason for reason in REASONS_KEPT if id(reason) not in found] == []


REASONS_KEPT = known()
