"""A report of what the rules find: the checks in the rules' order, each with its worst findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.contract.sentences import Level
from console.rules.report.facts import Facts
from console.rules.report.finding import Outcome, Rule
from console.rules.report.rules import RULES
from console.rules.words import counted, whole

FORMAT = 2
"""Of the checks as they are kept; reports of different formats are not compared."""
FINDINGS_LIMIT = 20
KEYS_LIMIT = 2_000
ORDER: tuple[Level, ...] = ("ok", "unknown", "notice", "warn", "bad")
"""Of a report: what is known to be bad leads, and what is not known is never ok."""
UNKNOWN: Level = "unknown"


def report(facts: Facts) -> dict[str, Any]:
    checks = [_check(rule, rule.judge(facts)) for rule in RULES]
    level = worst([check["level"] for check in checks])
    return {"level": level, "sentence": sentence(checks), "checks": checks}


def worst(levels: Sequence[Level]) -> Level:
    return max(levels, key=ORDER.index, default="ok")


def _check(rule: Rule, found: Outcome) -> dict[str, Any]:
    ordered = sorted(found.findings, key=lambda one: -ORDER.index(one.level))
    return {
        "id": rule.identity,
        "number": rule.number,
        "title": rule.title,
        "level": worst([one.level for one in ordered] + ([UNKNOWN] if found.unknown else [])),
        "sentence": _said(len(ordered), found),
        "unknown": found.unknown,
        "count": len(ordered),
        "findings": [one._asdict() for one in ordered[:FINDINGS_LIMIT]],
        "keys": {one.key: [one.level, round(one.weight, 3)] for one in ordered[:KEYS_LIMIT]},
    }


def _said(count: int, found: Outcome) -> str:
    left = f" ({found.looked})" if found.looked else ""
    if not count:
        return f"Unknown, because {found.unknown}.{left}" if found.unknown else f"Nothing found{left}."
    said = f"{whole(count)} found" + (f"; the worst {FINDINGS_LIMIT} are listed" if count > FINDINGS_LIMIT else "") + f"{left}."
    return f"{said} The rest is unknown, because {found.unknown}." if found.unknown else said


def sentence(checks: Sequence[dict[str, Any]]) -> str:
    """What is found, the worst first, then what is not known."""
    found = sorted((check for check in checks if check["count"]), key=lambda check: -ORDER.index(check["level"]))
    parts = ["Look at: " + ", ".join(f"{_within(check['title'])} ({whole(check['count'])})" for check in found) + "." if found else ""]
    if unknown := sum(bool(check["unknown"]) for check in checks):
        parts.append(
            f"{counted(unknown, 'rule')} of {whole(len(checks))} could not be judged{'' if found else '; the others found nothing'}."
        )
    return " ".join(part for part in parts if part) or f"All {whole(len(checks))} rules found nothing."


def _within(title: str) -> str:
    """As it stands within a sentence."""
    return title if title[:2].isupper() else title[0].lower() + title[1:]
