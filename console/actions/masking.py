"""Rules that hide parts of records from roles: made, changed and taken away by admins, looked up for each search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast, get_args

from console.actions.audit import audited
from console.errors import Conflict, Invalid
from console.models import Cluster, MaskRule
from console.queries import NotFound
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.records.masking import Part, Rule, WrongRule, check_rule, covers

BELOW = (OPERATOR, ADMIN)
TOPICS = re.compile(r"[A-Za-z0-9._*?-]{1,249}")


def rules_for(actor: Actor, cluster: Cluster, topic: str) -> tuple[Rule, ...]:
    """What is hidden from the actor in the topic, always in one order."""
    rows = MaskRule.objects.filter(cluster=cluster).order_by("id")
    return in_order(rule_of(row) for row in rows if covers(row.topics, topic) and not actor.may(row.below))


def would_show(cluster: Cluster, source: str, target: str) -> str:
    """What would be seen of records of `source` in `target` by those from whom it is hidden in `source`; empty where nothing would."""
    rows = list(MaskRule.objects.filter(cluster=cluster).order_by("id"))
    there = {(rule_of(row), row.below) for row in rows if covers(row.topics, target)}
    bare = [row for row in rows if covers(row.topics, source) and (rule_of(row), row.below) not in there]
    if not bare:
        return ""
    first = bare[0]
    what = f"{first.part} {first.expression}".strip()
    said = f"A rule hides {what} of {source} from roles below {first.below}"
    return f"{said}, and no rule hides the same of {target}: it would be seen there."


def in_order(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(set(rules), key=lambda rule: (rule.part, rule.expression)))


def rule_of(row: MaskRule) -> Rule:
    return Rule(cast(Part, row.part), row.expression)


def check_parts(*, topics: str, part: str, expression: str, below: str) -> Rule:
    """The rule; `Invalid` names what of it cannot be."""
    if not TOPICS.fullmatch(topics):
        raise Invalid("topics", "Topics are named by letters a to z, digits and . _ - with * and ? for any characters.")
    if part not in get_args(Part):
        raise Invalid("part", f"A rule hides one of {', '.join(get_args(Part))}.")
    if below not in BELOW:
        raise Invalid("below", f"A rule hides from roles below {' or '.join(BELOW)}.")
    try:
        return check_rule(Rule(cast(Part, part), expression))
    except WrongRule as error:
        raise Invalid(error.field, str(error)) from error


def add_rule(actor: Actor, cluster: Cluster, *, topics: str, part: str, expression: str, below: str) -> MaskRule:
    asked = {"part": part, "expression": expression, "below": below}
    with audited(actor, ADMIN, "hide parts of records", topics, cluster=cluster, changes_cluster=False, after=asked):
        check_parts(topics=topics, **asked)
        if MaskRule.objects.filter(cluster=cluster).count() >= MaskRule.MOST:
            raise Conflict(f"There are {MaskRule.MOST} rules: take one away first.")
        return MaskRule.objects.create(cluster=cluster, topics=topics, created_by=actor.name, **asked)


def change_rule(actor: Actor, cluster: Cluster, rule_id: int, *, topics: str, part: str, expression: str, below: str) -> MaskRule:
    row, asked = rule_or_fail(cluster, rule_id), {"topics": topics, "part": part, "expression": expression, "below": below}
    before = _parts(row)
    with audited(actor, ADMIN, "change what is hidden", topics, cluster=cluster, changes_cluster=False, before=before, after=asked):
        check_parts(**asked)
        for name, value in asked.items():
            setattr(row, name, value)
        row.save(update_fields=list(asked))
    return row


def rule_or_fail(cluster: Cluster, rule_id: int) -> MaskRule:
    row = MaskRule.objects.filter(cluster=cluster, pk=rule_id).first()
    if row is None:
        raise NotFound(f"There is no rule {rule_id} that hides parts of records.")
    return row


def remove_rule(actor: Actor, cluster: Cluster, rule_id: int) -> None:
    row = rule_or_fail(cluster, rule_id)
    with audited(actor, ADMIN, "show parts of records again", row.topics, cluster=cluster, changes_cluster=False, before=_parts(row)):
        row.delete()


def _parts(row: MaskRule) -> dict[str, str]:
    return {name: getattr(row, name) for name in ("topics", "part", "expression", "below")}
