"""A look at all rules of a cluster: how each stands, and who is told. What has changed and the deliveries that tell of it are written in
one transaction: a worker that dies before its end has changed nothing, one that dies after it has lost nothing."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from msgspec.structs import asdict

from console.addressing import base_of
from console.alert_figures import NOTHING, Figures, read_figures
from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster, trim
from console.rules.alerts.figures import FIGURES, SHIPPED, Condition, Value
from console.rules.alerts.notices import Notice, What
from console.rules.alerts.standing import OK, Standing, step
from console.snapshot.read import Snapshot


class Look(NamedTuple):
    cluster: Cluster
    now_ms: int
    figures: Figures
    silences: list[AlertSilence]
    destinations: list[AlertDestination]


def look(cluster: Cluster, now_ms: int, snapshot: Snapshot) -> None:
    """Safe to run twice, and at once: the rules' rows are taken by one."""
    _first_rules(cluster)
    rules = AlertRule.objects.filter(cluster=cluster, is_on=True)
    names = set(rules.values_list("figure", flat=True)) & FIGURES.keys()
    of_groups = Alert.objects.filter(rule__in=rules.filter(figure__startswith="group"), over_ms=None)
    figures = read_figures(snapshot, names, set(of_groups.values_list("target", flat=True))) if names else NOTHING
    with transaction.atomic():
        taken = list(rules.select_for_update(of=("self",)).order_by("id"))
        until = datetime.fromtimestamp(now_ms / 1000, UTC)
        silences = list(AlertSilence.objects.filter(cluster=cluster, until__gt=until))
        this = Look(cluster, now_ms, figures, silences, list(AlertDestination.objects.filter(is_on=True)))
        _judge(this, taken)


def _first_rules(cluster: Cluster) -> None:
    """Those that every cluster has from its beginning: they can be switched off, not taken away."""
    if AlertRule.objects.filter(cluster=cluster, is_shipped=True).count() == len(SHIPPED):
        return
    with transaction.atomic():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        made: dict[str, AlertRule] = {}
        for one in SHIPPED:
            parts = {**one.condition._asdict(), "severity": one.severity, "sentence": one.sentence, "is_shipped": True}
            made[one.name], _ = AlertRule.objects.get_or_create(cluster=cluster, name=one.name, defaults=parts)
        for one in SHIPPED:
            if one.unless:
                AlertRule.objects.filter(pk=made[one.name].pk, unless=None, looked_at_ms=None).update(unless=made[one.unless])


def _judge(this: Look, rules: list[AlertRule]) -> None:
    """Rules that others wait for come first."""
    before: dict[int, dict[str, Alert]] = {rule.pk: {} for rule in rules}
    for alert in Alert.objects.filter(rule__in=rules, over_ms=None):
        before[alert.rule_id][alert.target] = alert
    firing: set[int] = set()
    for rule in sorted(rules, key=lambda one: one.unless_id is not None):
        open_alerts = before[rule.pk]
        values = this.figures.values.get(rule.figure, {})
        explained = rule.unless_id in firing
        for target in values.keys() | open_alerts.keys():
            found = _stepped(this, rule, target, values, open_alerts.get(target), explained=explained)
            if found is not None and found.state == Alert.FIRING:
                firing.add(rule.pk)
        _note_known(this, rule, values)


def _stepped(
    this: Look, rule: AlertRule, target: str, values: Mapping[str, Value], before: Alert | None, *, explained: bool
) -> Alert | None:
    """The alert as it is now, None where it stands well. What is there no more cannot be as bad as it was; it ends like all else."""
    value = values.get(target)
    condition = Condition(rule.figure, rule.comparison, rule.threshold, rule.for_s)
    holds = condition.holds(value) if target in values else False if this.figures.is_known else None
    standing = step(_standing(before), holds, this.now_ms, rule.for_s * 1000, explained=explained)
    if standing.state == "ok":
        if before is not None:
            _end(this, rule, before)
        return None
    alert = before or Alert(rule=rule, target=target)
    alert.state, alert.since_ms, alert.clear_ms = standing.state, standing.since_ms or this.now_ms, standing.clear_ms
    alert.known_ms, alert.is_known = standing.known_ms, standing.is_known
    if value is not None:
        alert.value = value if math.isfinite(value) else None
    silenced = any(_covers(one, alert) for one in this.silences)
    tells = alert.state == Alert.FIRING and not alert.is_told and not silenced
    alert.is_told = alert.is_told or tells
    alert.save()
    if tells:
        _tell(this, rule, alert, "fired")
    return alert


def _standing(alert: Alert | None) -> Standing:
    """Of what was never bad the time of its last look does not matter."""
    if alert is None:
        return OK
    return Standing(alert.state, alert.since_ms, alert.clear_ms, alert.known_ms, alert.is_known)  # type: ignore[arg-type]  # of OPEN


def _end(this: Look, rule: AlertRule, alert: Alert) -> None:
    """Who was told that it fires is told that it is over, also while it is silenced."""
    if alert.state == Alert.PENDING:
        alert.delete()
        return
    alert.state, alert.over_ms, alert.known_ms, alert.is_known = Alert.OVER, this.now_ms, this.now_ms, True
    alert.save()
    if alert.is_told:
        _tell(this, rule, alert, "resolved")
    trim(Alert.objects.filter(rule__cluster=this.cluster, state=Alert.OVER), Alert.KEEP)


def _covers(silence: AlertSilence, alert: Alert) -> bool:
    return silence.rule_id in (None, alert.rule_id) and silence.target in ("", alert.target)


def _note_known(this: Look, rule: AlertRule, values: Mapping[str, Value]) -> None:
    unknown = sum(value is None for value in values.values())
    known = {"known_at_ms": this.now_ms} if this.figures.is_known and not unknown else {}
    counted = unknown if this.figures.is_known else 1
    AlertRule.objects.filter(pk=rule.pk).update(looked_at_ms=this.now_ms, unknown_count=counted, **known)


def _tell(this: Look, rule: AlertRule, alert: Alert, event: What) -> None:
    queue_notice(this.destinations, notice_of(this.cluster, rule, alert, event, this.now_ms), alert)


def queue_notice(destinations: Iterable[AlertDestination], notice: Notice, alert: Alert | None) -> list[AlertDelivery]:
    """A row for each destination: they are sent by the workers."""
    rows = [AlertDelivery(destination=one, alert=alert, key=uuid.uuid4().hex, notice=asdict(notice)) for one in destinations]
    made = AlertDelivery.objects.bulk_create(rows)
    trim(AlertDelivery.objects.filter(next_at=None), AlertDelivery.KEEP)
    return made


def notice_of(cluster: Cluster, rule: AlertRule, alert: Alert, event: What, now_ms: int) -> Notice:
    figure = FIGURES[rule.figure]
    origin = settings.ORIGINS[0] if settings.ORIGINS else ""
    return Notice(
        event=event,
        rule=rule.name,
        severity=rule.severity,
        cluster=cluster.name,
        target=f"{figure.scope} {alert.target}" if alert.target else "",
        sentence=rule.sentence,
        value="" if alert.value is None else figure.say(alert.value),
        since=_utc(alert.since_ms),
        at=_utc(now_ms),
        url=f"{origin}{base_of(cluster.pk)}{reverse(figure.page)}" if origin else "",
    )


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
