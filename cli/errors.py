"""How a command ends that was not done, with the shell's exit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REFUSED, USAGE, UNREACHABLE = 1, 2, 3
AWAY = ("cluster-unreachable", "database-away", "snapshot-away")
"""Codes of problems that say that something does not answer."""


class Stopped(Exception):
    """The message is for people; `problem` is what REST said, where it said something."""

    status = REFUSED
    problem: Mapping[str, Any] | None = None


class Usage(Stopped):
    """The command line cannot be meant."""

    status = USAGE


class Unreachable(Stopped):
    status = UNREACHABLE


class Problem(Stopped):
    """REST refused (RFC 9457)."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(_said(problem))
        self.problem, self.code = problem, str(problem.get("code", ""))
        self.status = UNREACHABLE if self.code in AWAY else REFUSED


def _said(problem: Mapping[str, Any]) -> str:
    lines = [f"{problem.get('title', 'Refused')}: {problem.get('detail', '')}".rstrip(": ")]
    lines += [f"  {one.get('field')}: {one.get('detail')}" for one in (problem.get("errors") or ())[1:]]
    if problem.get("kafka_name"):
        lines.append(f"  Kafka's error: {problem['kafka_name']} ({problem.get('kafka_code')})")
    return "\n".join(lines)
