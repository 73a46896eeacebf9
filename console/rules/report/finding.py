"""What a rule of the health report is, and what it finds.

A rule is a pure function of `Facts` that gives an `Outcome`. A finding's `key` names its object (`orders-3`, `broker 2`) and stays the
same while the finding does; so does its sentence. Figures stand in the evidence. `weight` is how bad it is where that can be told in a
number: a finding whose weight grew by half is told as worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from broker_core.contract.sentences import Level
from console.rules.report.facts import Facts


class Finding(NamedTuple):
    """`href` is the page or form that mends it, within the cluster's pages, and `place` what that is called."""

    key: str
    level: Level
    sentence: str
    evidence: str
    advice: str
    href: str
    place: str
    weight: float = 0


class Outcome(NamedTuple):
    """`unknown`: why some or all of it could not be judged, empty where all was; `looked` is what the judgement rests on, where that
    is less than everything."""

    findings: Sequence[Finding] = ()
    unknown: str = ""
    looked: str = ""


class Rule(NamedTuple):
    """`identity` is what programs know it by, `worst` the level that a finding has at most; `looks_at` says what it judges, and by
    which limits."""

    number: str
    identity: str
    title: str
    worst: Level
    looks_at: str
    judge: Callable[[Facts], Outcome]


def topic_page(name: str) -> str:
    return f"/topics/{quote(name, safe='')}"


def group_page(name: str) -> str:
    return f"/groups/{quote(name, safe='')}"
