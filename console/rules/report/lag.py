"""HW-012: groups that are behind, each judged against its own rhythm (`console/rules/rhythm.py`)."""

from __future__ import annotations

from broker_core.contract.groups import Group
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome, group_page
from console.rules.states import SURE
from console.rules.words import counted, duration, whole


def behind(facts: Facts) -> Outcome:
    found = [_finding(group) for group in facts.groups if group.attention]
    unknown = sum(group.lag is None and bool(group.topics) for group in facts.groups)
    why = f"how far {counted(unknown, 'group')} {'is' if unknown == 1 else 'are'} behind is not known" if unknown else ""
    return Outcome(sorted(found, key=lambda one: -one.weight), why)


def _finding(group: Group) -> Finding:
    late = "" if group.lag_s is None else f", {SURE[group.lag_basis or 'record']}{duration(group.lag_s)} late"
    evidence = f"{whole(group.lag or 0)} records{late}; {group.trend.replace('_', ' ')}."
    advice = "Look whether its members work and are enough for the partitions; one that stalls on a record goes on behind it by an offset."
    level = group.attention or "notice"
    href, place = group_page(group.group), f"group {group.group}"
    return Finding(group.group, level, f"Group {group.group} is behind.", evidence, advice, href, place, group.lag_s or 0)
