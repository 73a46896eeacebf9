"""Why a test of a client's suite does not pass here: written by hand, in `reasons.toml`, for each that does not. Pure but for the file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, convert

from tests.conformance.case import Case, Outcome

FILE = Path(__file__).parent / "reasons.toml"


class Verdict(StrEnum):
    NOT_APPLICABLE = "not applicable"
    """It asks for what is not to be had here, or is skipped by its suite."""
    THEIRS = "theirs"
    """It fails beside Apache Kafka alike, or by its own timing."""
    MISSING = "missing"
    """Highwater does not have what it asks for."""


class Reason(Struct, frozen=True):
    """`tests` are patterns as of a shell, matched with a case's whole name; `says`, if given, with its message as well."""

    suite: str
    tests: tuple[str, ...]
    verdict: Verdict
    why: str
    says: str = "*"

    def fits(self, suite: str, case: Case) -> bool:
        return self.suite == suite and fnmatchcase(case.message, self.says) and any(fnmatchcase(case.name, name) for name in self.tests)


def load(path: Path = FILE) -> tuple[Reason, ...]:
    with open(path, "rb") as file:
        return convert(tomllib.load(file), type=dict[str, tuple[Reason, ...]]).get("reason", ())


def reason_of(suite: str, case: Case, reasons: Sequence[Reason]) -> Reason | None:
    """The first that fits; None for one that passed."""
    if case.outcome is Outcome.PASSED:
        return None
    return next((reason for reason in reasons if reason.fits(suite, case)), None)


def unexplained(suite: str, cases: Iterable[Case], reasons: Sequence[Reason]) -> list[Case]:
    """Cases that did not pass and have no reason."""
    return [case for case in cases if case.outcome is not Outcome.PASSED and reason_of(suite, case, reasons) is None]
