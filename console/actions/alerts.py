"""Rules, silences and destinations of alerts. A silence wants an operator, all else an admin; none of it changes a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.actions.alert_looks import queue_notice
from console.actions.audit import audited
from console.clock import now_ms
from console.errors import Conflict, Invalid
from console.gateway.sealing import seal, unseal
from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster, trim
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.alerts import destinations
from console.rules.alerts.figures import checked
from console.rules.alerts.notices import Notice

PARTS = ("name", "figure", "comparison", "threshold", "for_s", "severity", "sentence")
CONDITION = ("figure", "comparison", "threshold", "for_s")
SECRETS = ("url", "secret", "password")
WHY_MAX, TARGET_MAX = 300, 255
SILENCE_MINUTES_MAX = 60 * 24 * 30


def create_rule(actor: Actor, cluster: Cluster, asked: Mapping[str, Any], unless: AlertRule | None = None) -> AlertRule:
    after = {**{part: asked[part] for part in PARTS}, "unless": unless and unless.name}
    target = str(asked["name"])
    with audited(actor, ADMIN, "make alert rule", target, cluster=cluster, changes_cluster=False, after=after) as entry:
        parts = checked(asked)
        entry.after = {**parts, "unless": unless and unless.name}
        if unless is not None and (unless.cluster_id != cluster.pk or unless.unless_id is not None):
            raise Invalid("unless", f"{unless.name} waits for another rule itself: choose one that does not.")
        with transaction.atomic():
            Cluster.objects.select_for_update().get(pk=cluster.pk)
            rules = AlertRule.objects.filter(cluster=cluster)
            if rules.count() >= AlertRule.MOST:
                raise Conflict(f"There are {AlertRule.MOST} rules: delete one first.")
            if rules.filter(name__iexact=parts["name"]).exists():
                raise Invalid("name", f"Another rule is called {parts['name']}: people could not tell them apart.")
            return AlertRule.objects.create(cluster=cluster, unless=unless, changed_by=actor.name, changed_at=timezone.now(), **parts)


def seen_of(rule: AlertRule) -> str:
    """What a form was filled from: another one's change shows in it."""
    return f"{rule.changed_at.isoformat() if rule.changed_at else ''} {rule.is_on}"


def change_rule(actor: Actor, rule: AlertRule, asked: Mapping[str, Any], unless: AlertRule | None, *, seen: str) -> None:
    """What is open of a rule whose condition changes ends, and nobody is told that it were over: that is not known. `seen` is what the
    form was filled from (`seen_of`)."""
    before = {**{part: getattr(rule, part) for part in PARTS}, "unless": rule.unless and rule.unless.name}
    about = {"cluster": rule.cluster, "changes_cluster": False, "before": before}
    with audited(actor, ADMIN, "change alert rule", rule.name, **about) as entry:  # type: ignore[arg-type]
        parts = checked(asked)
        entry.after = {**parts, "unless": unless and unless.name}
        _refuse_unless(rule, unless)
        with transaction.atomic():
            Cluster.objects.select_for_update().get(pk=rule.cluster_id)
            now = AlertRule.objects.select_for_update().filter(pk=rule.pk).first()
            if now is None:
                raise Conflict(f"The rule {rule.name} was deleted meanwhile.")
            if seen_of(now) != seen:
                raise Conflict(f"{now.changed_by or 'Somebody'} changed {now.name} meanwhile: look at it again.")
            if rule.is_shipped and parts["name"] != rule.name:
                raise Invalid("name", f"{rule.name} is a rule of every cluster, and keeps its name.")
            if AlertRule.objects.filter(cluster=rule.cluster, name__iexact=parts["name"]).exclude(pk=rule.pk).exists():
                raise Invalid("name", f"Another rule is called {parts['name']}: people could not tell them apart.")
            is_another = any(getattr(now, part) != parts[part] for part in CONDITION)
            for part, value in parts.items():
                setattr(now, part, value)
            now.unless, now.changed_by, now.changed_at = unless, actor.name, timezone.now()
            if is_another:
                now.looked_at_ms = now.known_at_ms = None
                _end_unsaid(now)
            now.save()


def _refuse_unless(rule: AlertRule, unless: AlertRule | None) -> None:
    if unless is None:
        return
    if unless.pk == rule.pk or unless.cluster_id != rule.cluster_id or unless.unless_id is not None:
        raise Invalid("unless", f"{unless.name} waits for another rule itself, or is this one: choose one that does not.")
    if waiting := AlertRule.objects.filter(unless=rule).first():
        raise Invalid("unless", f"{waiting.name} waits for this rule, so that it cannot wait for another.")


def _end_unsaid(rule: AlertRule) -> None:
    Alert.objects.filter(rule=rule, state=Alert.PENDING).delete()
    Alert.objects.filter(rule=rule, over_ms=None).update(state=Alert.OVER, over_ms=now_ms())


def switch_rule(actor: Actor, rule: AlertRule, *, is_on: bool) -> None:
    """What is open of a rule that is switched off ends, and nobody is told that it were over: that is not known."""
    action = f"switch alert rule {'on' if is_on else 'off'}"
    with audited(actor, ADMIN, action, rule.name, cluster=rule.cluster, changes_cluster=False, before={"is_on": rule.is_on}) as entry:
        entry.after = {"is_on": is_on}
        with transaction.atomic():
            row = AlertRule.objects.select_for_update().filter(pk=rule.pk)
            if not row.update(is_on=is_on, changed_by=actor.name, changed_at=timezone.now()):
                raise Conflict(f"The rule {rule.name} was deleted meanwhile.")
            if not is_on:
                _end_unsaid(rule)


def delete_rule(actor: Actor, rule: AlertRule) -> None:
    """With its alerts and silences. What every cluster has can be switched off only."""
    before = {part: getattr(rule, part) for part in PARTS}
    with audited(actor, ADMIN, "delete alert rule", rule.name, cluster=rule.cluster, changes_cluster=False, before=before):
        if rule.is_shipped:
            raise Conflict(f"{rule.name} is a rule of every cluster: switch it off instead.")
        rule.delete()


def silence(actor: Actor, cluster: Cluster, *, rule: AlertRule | None, target: str, minutes: int, why: str) -> AlertSilence:
    """From now on, for so many minutes."""
    target, why = target.strip(), " ".join(why.split())
    after = {"rule": rule and rule.name, "target": target[:TARGET_MAX], "minutes": minutes, "why": why[:WHY_MAX]}
    about = f"{rule.name if rule else 'all rules'} {target}".strip()
    with audited(actor, OPERATOR, "silence alerts", about, cluster=cluster, changes_cluster=False, after=after):
        if not 1 <= minutes <= SILENCE_MINUTES_MAX:
            raise Invalid("minutes", "A silence lasts from 1 minute to 30 days.")
        if not 1 <= len(why) <= WHY_MAX:
            raise Invalid("why", f"Say in 1 to {WHY_MAX} characters why: others will ask.")
        if len(target) > TARGET_MAX:
            raise Invalid("target", f"A target has at most {TARGET_MAX} characters.")
        now = timezone.now()
        if AlertSilence.objects.filter(cluster=cluster, until__gt=now).count() >= AlertSilence.MOST:
            raise Conflict(f"There are {AlertSilence.MOST} silences: end one first.")
        until = now + timedelta(minutes=minutes)
        made = AlertSilence.objects.create(cluster=cluster, rule=rule, target=target, until=until, why=why, by=actor.name)
        trim(AlertSilence.objects.filter(cluster=cluster, until__lte=now), AlertSilence.KEEP)
        return made


def end_silence(actor: Actor, row: AlertSilence) -> None:
    before = {"until": row.until.isoformat(), "by": row.by, "why": row.why}
    about = f"{row.rule.name if row.rule else 'all rules'} {row.target}".strip()
    with audited(actor, OPERATOR, "end silence", about, cluster=row.cluster, changes_cluster=False, before=before):
        AlertSilence.objects.filter(pk=row.pk, until__gt=timezone.now()).update(until=timezone.now())


def add_destination(actor: Actor, given: Mapping[str, str]) -> AlertDestination:
    """The audit has nothing of its secrets."""
    with audited(actor, ADMIN, "add destination of alerts", given.get("name", ""), cluster=None) as entry:
        found = destinations.checked(given)
        entry.after = {"kind": found.kind, **found.settings}
        if AlertDestination.objects.count() >= AlertDestination.MOST:
            raise Conflict(f"There are {AlertDestination.MOST} destinations: remove one first.")
        if AlertDestination.objects.filter(name__iexact=found.name).exists():
            raise Invalid("name", f"Another destination is called {found.name}: people could not tell them apart.")
        kept = {"name": found.name, "kind": found.kind, "settings": found.settings, "secrets": seal(found.secrets)}
        return AlertDestination.objects.create(**kept, set_by=actor.name)


def seen_of_destination(row: AlertDestination) -> str:
    """What a form was filled from: another one's change shows in it."""
    return f"{row.set_at.isoformat()} {row.set_by}"


def change_destination(actor: Actor, row: AlertDestination, given: Mapping[str, str]) -> None:
    """Secrets that are left empty stay, unless `forget` is 1. The kind stays. The audit has of secrets only that they changed."""
    before = {"name": row.name, "kind": row.kind, **row.settings}
    with audited(actor, ADMIN, "change destination of alerts", row.name, cluster=None, before=before) as entry:
        kept = {} if given.get("forget") == "1" else unseal(row.secrets)
        address = {"url": unseal(row.secrets).get("url", "")}
        typed = {name: value for name, value in given.items() if value or name not in SECRETS}
        found = destinations.checked({**address, **kept, **typed, "kind": row.kind})
        entry.after = {"name": found.name, "kind": found.kind, **found.settings, "secrets_changed": found.secrets != unseal(row.secrets)}
        with transaction.atomic():
            now = AlertDestination.objects.select_for_update().filter(pk=row.pk).first()
            if now is None:
                raise Conflict(f"The destination {row.name} was removed meanwhile.")
            if seen_of_destination(now) != given.get("seen"):
                raise Conflict(f"{now.set_by} changed {now.name} meanwhile: look at it again.")
            if AlertDestination.objects.filter(name__iexact=found.name).exclude(pk=row.pk).exists():
                raise Invalid("name", f"Another destination is called {found.name}: people could not tell them apart.")
            now.name, now.settings, now.secrets = found.name, found.settings, seal(found.secrets)
            now.set_by, now.set_at = actor.name, timezone.now()
            now.save()


def switch_destination(actor: Actor, row: AlertDestination, *, is_on: bool) -> None:
    with audited(actor, ADMIN, f"switch destination of alerts {'on' if is_on else 'off'}", row.name, cluster=None):
        AlertDestination.objects.filter(pk=row.pk).update(is_on=is_on)


def remove_destination(actor: Actor, row: AlertDestination) -> None:
    """With what was sent there."""
    with audited(actor, ADMIN, "remove destination of alerts", row.name, cluster=None, before={"kind": row.kind, **row.settings}):
        row.delete()


def test_destination(actor: Actor, row: AlertDestination, cluster: Cluster) -> AlertDelivery:
    """On its way like any other notice; it is tried once."""
    with audited(actor, ADMIN, "test destination of alerts", row.name, cluster=None):
        at = timezone.now().strftime("%Y-%m-%d %H:%M:%S UTC")
        words = f"{actor.name} tests where alerts are told: nothing is wrong."
        notice = Notice(
            event="test", rule="Test", severity="notice", cluster=cluster.name, target="", sentence=words, value="", since=at, at=at
        )
        return queue_notice([row], notice, None)[0]
