"""Alerts, rules, silences and destinations as pages and REST show them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone
from msgspec import Struct

from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster
from console.queries import NotFound
from console.rules.alerts.destinations import KINDS, REPORTS
from console.rules.alerts.figures import FIGURES
from console.rules.alerts.notices import PAUSES_S
from console.rules.words import duration

Row = TypeVar("Row", bound=Model)
SHOWN = 200
OVER_SHOWN = 50
SEVERITY_RANK = {"critical": 0, "warning": 1, "notice": 2}
LEVELS = {"critical": "bad", "warning": "warn", "notice": "notice"}


class AlertSeen(Struct, frozen=True, kw_only=True):
    """`state` is pending, firing or over; times are ms since 1970. `is_known` is false while the figure is not known: how it was, it was at
    `known_ms`."""

    id: int
    rule: str
    severity: str
    level: str
    state: str
    target: str
    sentence: str
    value: str
    since_ms: int
    over_ms: int | None
    is_known: bool
    known_ms: int | None
    silenced_until: str | None
    silenced_by: str | None
    href: str


class RuleSeen(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    severity: str
    level: str
    says: str
    figure: str
    comparison: str
    threshold: float
    for_s: int
    sentence: str
    unless: str | None
    is_on: bool
    is_shipped: bool
    unknown_count: int
    known_at_ms: int | None
    looked_at_ms: int | None


class SilenceSeen(Struct, frozen=True, kw_only=True):
    id: int
    rule: str | None
    target: str
    until: str
    why: str
    by: str


class DestinationSeen(Struct, frozen=True, kw_only=True):
    """`gets` says what is sent there, `last` what became of the last of it, in words."""

    id: int
    name: str
    kind: str
    where: str
    gets: str
    is_on: bool
    last: str
    last_level: str
    last_at: str | None


def alerts_of(cluster: Cluster) -> tuple[list[AlertSeen], int]:
    """What is open, the worst first, then what is over lately; and how many open ones are not among them."""
    rows = Alert.objects.select_related("rule").filter(rule__cluster=cluster)
    open_rows = sorted(
        rows.filter(over_ms=None).order_by("-id")[: SHOWN * 5],
        key=lambda row: (row.state != Alert.FIRING, SEVERITY_RANK[row.rule.severity], -row.since_ms),
    )
    silences = list(AlertSilence.objects.filter(cluster=cluster, until__gt=timezone.now()))
    over = list(rows.filter(state=Alert.OVER).order_by("-over_ms")[:OVER_SHOWN])
    found = [_alert(row, silences) for row in [*open_rows[:SHOWN], *over]]
    return found, rows.filter(over_ms=None).count() - len(open_rows[:SHOWN])


def firing_count(cluster: Cluster) -> int:
    return Alert.objects.filter(rule__cluster=cluster, state=Alert.FIRING).count()


def _alert(row: Alert, silences: list[AlertSilence]) -> AlertSeen:
    rule, figure = row.rule, FIGURES[row.rule.figure]
    covering = [one for one in silences if one.rule_id in (None, rule.pk) and one.target in ("", row.target) and row.over_ms is None]
    last = max(covering, key=lambda one: one.until, default=None)
    return AlertSeen(
        id=row.pk,
        rule=rule.name,
        severity=rule.severity,
        level=LEVELS[rule.severity],
        state=row.state,
        target=f"{figure.scope} {row.target}" if row.target else "the cluster",
        sentence=rule.sentence,
        value="" if row.value is None else figure.say(row.value),
        since_ms=row.since_ms,
        over_ms=row.over_ms,
        is_known=row.is_known,
        known_ms=row.known_ms,
        silenced_until=_iso(last.until) if last else None,
        silenced_by=last.by if last else None,
        href=_href(figure.scope, row.target, figure.page),
    )


def _href(scope: str, target: str, page: str) -> str:
    if scope == "broker" and target.isdigit():
        return reverse("broker", args=[int(target)])
    return reverse("group", args=[target]) if scope == "group" and target else reverse(page)


def rules_of(cluster: Cluster) -> list[RuleSeen]:
    rows = AlertRule.objects.select_related("unless").filter(cluster=cluster)
    return [_rule(row) for row in sorted(rows, key=lambda row: (SEVERITY_RANK[row.severity], row.name))]


def _rule(row: AlertRule) -> RuleSeen:
    figure = FIGURES[row.figure]
    threshold = figure.say(row.threshold) if figure.say(row.threshold) not in ("yes", "no") else f"{row.threshold:g}"
    condition = figure.text if threshold == "0" and figure.say(1) == "yes" else f"{figure.text} {row.comparison} {threshold}"
    return RuleSeen(
        id=row.pk,
        name=row.name,
        severity=row.severity,
        level=LEVELS[row.severity],
        says=f"{condition}, for {duration(row.for_s)}",
        figure=row.figure,
        comparison=row.comparison,
        threshold=row.threshold,
        for_s=row.for_s,
        sentence=row.sentence,
        unless=row.unless.name if row.unless else None,
        is_on=row.is_on,
        is_shipped=row.is_shipped,
        unknown_count=row.unknown_count,
        known_at_ms=row.known_at_ms,
        looked_at_ms=row.looked_at_ms,
    )


def silences_of(cluster: Cluster) -> list[SilenceSeen]:
    """Those that last still, the one that ends first first."""
    rows = AlertSilence.objects.select_related("rule").filter(cluster=cluster, until__gt=timezone.now()).order_by("until")
    return [silence_value(row) for row in rows]


def silence_value(row: AlertSilence) -> SilenceSeen:
    return SilenceSeen(
        id=row.pk, rule=row.rule.name if row.rule else None, target=row.target, until=_iso(row.until), why=row.why, by=row.by
    )


def destinations_of() -> list[DestinationSeen]:
    """By name, with what became of the last notice that was tried."""
    tried = AlertDelivery.objects.filter(destination=OuterRef("pk")).order_by("-id").values("id")[:1]
    rows = list(AlertDestination.objects.annotate(newest=Subquery(tried)).order_by("name"))
    last = AlertDelivery.objects.in_bulk([row.newest for row in rows if row.newest is not None])
    return [_destination(row, last.get(row.newest)) for row in rows]


def _destination(row: AlertDestination, last: AlertDelivery | None) -> DestinationSeen:
    level, said = ("off", "Nothing was sent yet.") if last is None else _delivery(last)
    where = f"{row.settings['host']} to {', '.join(row.settings['to'])}" if row.kind == AlertDestination.MAIL else row.settings["host"]
    at = None if last is None else _iso(last.sent_at or last.at)
    return DestinationSeen(
        id=row.pk,
        name=row.name,
        kind=KINDS[row.kind],
        where=where,
        gets=REPORTS[row.settings.get("reports", "")],
        is_on=row.is_on,
        last=said,
        last_level=level,
        last_at=at,
    )


def _delivery(row: AlertDelivery) -> tuple[str, str]:
    if row.sent_at is not None:
        return "ok", "Sent."
    if row.next_at is None:
        return "bad", f"Not sent, and tried no more: {row.error}"
    if row.tries:
        return "warn", f"Not sent yet, {row.tries} of {len(PAUSES_S) + 1} tries: {row.error}"
    return "notice", "On its way."


def rule_or_fail(cluster: Cluster, rule_id: int) -> AlertRule:
    return _one(AlertRule.objects.select_related("cluster").filter(cluster=cluster), rule_id, "rule of alerts")


def silence_or_fail(cluster: Cluster, silence_id: int) -> AlertSilence:
    return _one(AlertSilence.objects.select_related("cluster", "rule").filter(cluster=cluster), silence_id, "silence")


def destination_or_fail(destination_id: int) -> AlertDestination:
    return _one(AlertDestination.objects.all(), destination_id, "destination of alerts")


def _one(rows: QuerySet[Row], number: int, what: str) -> Row:
    found = rows.filter(pk=number if number < 2**63 else -1).first()
    if found is None:
        raise NotFound(f"There is no {what} {number}.")
    return found


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
