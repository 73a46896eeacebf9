"""A report in the order in which it is read, for the page, mail and PDF alike: findings worst first, then what is not known. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from console.rules.report.build import ORDER
from console.rules.report.changes import KINDS
from console.rules.states import STATES
from console.rules.words import THIN, counted, whole

HEADS = {
    "new": "New",
    "worse": "Worse",
    "better": "Better",
    "gone": "Gone",
    "uncertain": "Not certain",
}
Report = Mapping[str, Any]


class Said(NamedTuple):
    """A finding with the rule that found it."""

    number: str
    title: str
    level: str
    word: str
    sentence: str
    evidence: str
    advice: str
    href: str
    place: str


class Change(NamedTuple):
    """Differences of a kind; `more` is how many are not listed."""

    kind: str
    head: str
    items: list[Mapping[str, Any]]
    more: int


def findings(report: Report) -> list[Said]:
    """The worst first, those of one level in the rules' order."""
    rows = [
        Said(
            check["number"],
            check["title"],
            one["level"],
            STATES[one["level"]].words,
            *(one[name] for name in ("sentence", "evidence", "advice", "href", "place")),
        )
        for check in report["checks"]
        for one in check["findings"]
    ]
    return sorted(rows, key=lambda row: -ORDER.index(row.level))


def left_out(report: Report) -> list[str]:
    """Of rules that found more than is kept in full."""
    return [
        f"{named(check)}: {whole(check['count'] - len(check['findings']))} more of {whole(check['count'])}."
        for check in report["checks"]
        if check["count"] > len(check["findings"])
    ]


def unknown(report: Report) -> list[str]:
    return [f"{named(check)}: unknown, because {check['unknown']}." for check in report["checks"] if check["unknown"]]


def clean(report: Report) -> list[str]:
    return [named(check) for check in report["checks"] if check["level"] == "ok"]


def named(check: Mapping[str, Any]) -> str:
    return f"{check['number']} {check['title']}".strip()


def changed(differences: Mapping[str, Any]) -> Iterator[Change]:
    """Kinds of which there are any."""
    for kind in KINDS:
        some = differences.get(kind) or {"count": 0, "items": []}
        if some["count"]:
            yield Change(kind, HEADS[kind], some["items"], some["count"] - len(some["items"]))


def summary(differences: Mapping[str, Any]) -> str:
    """`2 new, 1 gone`; empty where nothing changed."""
    return ", ".join(f"{whole(one.more + len(one.items))} {one.head.lower()}" for one in changed(differences))


def visible(words: str) -> str:
    """In one line: a group's name may hold line ends, which would be taken for lines of ours."""
    return "".join(c if c.isprintable() or c == THIN else f"\\u{ord(c):04x}" for c in words)


def more_words(change: Change) -> str:
    return f"and {counted(change.more, 'more', 'more')}" if change.more else ""
