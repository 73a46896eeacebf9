"""What one test of a client's own suite came to, and one run of such a suite against one kind of brokers."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

MOST_MESSAGE_CHARACTERS = 300


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Case(Struct, frozen=True):
    """One test: its name as its suite has it, and the first words of what it said when it did not pass."""

    name: str
    outcome: Outcome
    message: str = ""


class SuiteRun(Struct, frozen=True):
    """All cases of a suite at one version, sorted by name. `error` says why there are none, or why not all."""

    suite: str
    version: str
    kind: str
    began: str
    commit: str
    seconds: float
    cases: tuple[Case, ...]
    error: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(case.outcome is outcome for case in self.cases)


def short(text: str) -> str:
    """The first line that says something, cut."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:MOST_MESSAGE_CHARACTERS]
