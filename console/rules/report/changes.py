"""What differs between two reports, by rule and object: new, gone, worse, better, and what cannot be told. Pure.

1. A rule that only one of them has is not compared.
2. A finding is the same where rule and key are. It is worse where its level is, or, in one level, its weight has grown by half; better
   the other way round.
3. A finding that is not there is gone only if the rule could judge everything; one that is there is new only if the rule could before.
   Otherwise it is told as uncertain.
4. Where a report has more findings of a rule than keys are kept of, only the counts are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from console.rules.report.build import ORDER
from console.rules.states import STATES
from console.rules.words import whole

Kind = Literal["new", "worse", "better", "gone", "uncertain"]
KINDS: tuple[Kind, ...] = ("new", "worse", "better", "gone", "uncertain")
GROWN = 1.5
LISTED = 50
"""Differences of a kind that are told in full."""
Report = Mapping[str, Any]
Check = Mapping[str, Any]


class Difference(NamedTuple):
    kind: Kind
    number: str
    key: str
    level: str
    sentence: str


def changes(before: Report | None, after: Report) -> dict[str, Any]:
    """By kind `{count, items}`; nothing changed where there is none before."""
    found = list(differences(before, after)) if before is not None else []
    return {kind: _some([one for one in found if one.kind == kind]) for kind in KINDS}


def _some(found: list[Difference]) -> dict[str, Any]:
    return {"count": len(found), "items": [one._asdict() for one in found[:LISTED]]}


def differences(before: Report, after: Report) -> Iterator[Difference]:
    old = {check["number"]: check for check in before["checks"]}
    for check in after["checks"]:
        if check["number"] in old:
            yield from _of_rule(old[check["number"]], check)


def _of_rule(old: Check, new: Check) -> Iterator[Difference]:
    number = new["number"]
    if old["count"] > len(old["keys"]) or new["count"] > len(new["keys"]):
        if old["count"] != new["count"]:
            kind: Kind = "worse" if new["count"] > old["count"] else "better"
            words = f"{new['title']}: {whole(new['count'])} found, {whole(old['count'])} before."
            yield Difference(kind, number, "", new["level"], words)
        return
    for key, (level, _) in new["keys"].items():
        if key in old["keys"]:
            yield from _same(old, new, key)
        elif old["unknown"]:
            words = f"{_words(new, key)} The report before could not tell, because {old['unknown']}."
            yield Difference("uncertain", number, key, level, words)
        else:
            yield Difference("new", number, key, level, _words(new, key))
    for key, (level, _) in old["keys"].items():
        if key not in new["keys"] and new["unknown"]:
            words = f"{_words(old, key)} Whether this is still so is unknown, because {new['unknown']}."
            yield Difference("uncertain", number, key, level, words)
        elif key not in new["keys"]:
            yield Difference("gone", number, key, level, _words(old, key))


def _same(old: Check, new: Check, key: str) -> Iterator[Difference]:
    (was, had), (level, has) = old["keys"][key], new["keys"][key]
    rise = ORDER.index(level) - ORDER.index(was)
    if rise:
        word = f" It was {STATES[was].words} before, it is {STATES[level].words} now."
        yield Difference("worse" if rise > 0 else "better", new["number"], key, level, _words(new, key) + word)
    elif had and has and (has >= GROWN * had or had >= GROWN * has):
        kind: Kind = "worse" if has > had else "better"
        before, now = _evidence(old, key), _evidence(new, key)
        told = f" Before: {before} Now: {now}" if before and now and before != now else ""
        yield Difference(kind, new["number"], key, level, _words(new, key) + told)


def _words(check: Check, key: str) -> str:
    found = _finding(check, key)
    return found["sentence"] if found else f"{check['title']}: {key}."


def _evidence(check: Check, key: str) -> str:
    found = _finding(check, key)
    return found["evidence"] if found else ""


def _finding(check: Check, key: str) -> Mapping[str, Any] | None:
    return next((one for one in check["findings"] if one["key"] == key), None)
