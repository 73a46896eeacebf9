"""Rules that hide parts of records from roles: made and taken away by admins, looked up for each search."""

from __future__ import annotations

import re
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
    found = {Rule(cast(Part, row.part), row.expression) for row in rows if covers(row.topics, topic) and not actor.may(row.below)}
    return tuple(sorted(found, key=lambda rule: (rule.part, rule.expression)))


def add_rule(actor: Actor, cluster: Cluster, *, topics: str, part: str, expression: str, below: str) -> MaskRule:
    asked = {"part": part, "expression": expression, "below": below}
    with audited(actor, ADMIN, "hide parts of records", topics, cluster=cluster, changes_cluster=False, after=asked):
        if not TOPICS.fullmatch(topics):
            raise Invalid("topics", "Topics are named by letters a to z, digits and . _ - with * and ? for any characters.")
        if part not in get_args(Part):
            raise Invalid("part", f"A rule hides one of {', '.join(get_args(Part))}.")
        if below not in BELOW:
            raise Invalid("below", f"A rule hides from roles below {' or '.join(BELOW)}.")
        try:
            check_rule(Rule(cast(Part, part), expression))
        except WrongRule as error:
            raise Invalid(error.field, str(error)) from error
        if MaskRule.objects.filter(cluster=cluster).count() >= MaskRule.MOST:
            raise Conflict(f"There are {MaskRule.MOST} rules: take one away first.")
        return MaskRule.objects.create(cluster=cluster, topics=topics, part=part, expression=expression, below=below, created_by=actor.name)


def remove_rule(actor: Actor, cluster: Cluster, rule_id: int) -> None:
    row = MaskRule.objects.filter(cluster=cluster, pk=rule_id).first()
    if row is None:
        raise NotFound(f"There is no rule {rule_id} that hides parts of records.")
    before = {"part": row.part, "expression": row.expression, "below": row.below}
    with audited(actor, ADMIN, "show parts of records again", row.topics, cluster=cluster, changes_cluster=False, before=before):
        row.delete()
