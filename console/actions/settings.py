"""Settings of a topic, of a broker and of all brokers: one way for pages, REST and commands to read, preview, change and put back.

A change is checked by the brokers themselves (`validate_only`) before it is shown and again when it is made; what they refuse is placed
at the settings that they refuse, which they are asked about one by one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from console.actions.audit import audited
from console.actions.settings_effects import effects_of
from console.differences import INHERITED
from console.errors import Conflict, Invalid, Outdated, Risky
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError, WrongSettings
from console.gateway.kafka_cluster import KafkaCluster
from console.models import AuditEntry, Cluster
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.risks import MIN_ISR
from console.rules.settings.changes import Change, risks_of, rows_of
from console.rules.settings.model import HIDDEN, Owner, Setting, etag, without_secrets
from console.snapshot.asking import ask_now
from console.snapshot.read import await_snapshot

INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION = 40, 42, 44
OF_ONE_SETTING = (INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION)
CHANGES_MAX = 100
ACTIONS = {"topic": "change topic settings", "broker": "change broker settings", "brokers": "change brokers' defaults"}
ROLES = {"topic": OPERATOR, "broker": ADMIN, "brokers": ADMIN}
LAST_SHOWN = 3
LOOKED_THROUGH = 500
"""Rows of the audit in which the last changes of one owner are looked for."""


class Preview(Struct):
    """What changes would do; `loses` where records can be lost, `seen` stands for what is set now."""

    changes: list[Change]
    risks: list[str]
    effects: list[str]
    loses: bool
    seen: str


def read_settings(cluster: Cluster, owner: Owner) -> list[Setting]:
    """By name, as the brokers say at this moment."""
    return KafkaCluster(connection_of(cluster)).settings(owner)


def preview_settings(
    cluster: Cluster, owner: Owner, changes: Mapping[str, str | None], settings: Sequence[Setting] | None = None
) -> Preview:
    """Checked by the brokers without doing it; `WrongSettings` says which they refuse."""
    kafka = KafkaCluster(connection_of(cluster))
    known = kafka.settings(owner) if settings is None else settings
    _refuse_unknown(owner, known, changes)
    _check(kafka, owner, changes)
    risks, loses = risks_of(owner, known, changes, _copies(kafka, owner, changes))
    effects = effects_of(cluster, kafka, owner, known, changes)
    return Preview(rows_of(known, changes), risks, effects, loses, etag(known))


def change_settings(
    actor: Actor,
    cluster: Cluster,
    owner: Owner,
    changes: Mapping[str, str | None],
    *,
    seen: Collection[str] = (),
    confirm: bool = False,
) -> list[Change]:
    """What was changed; None takes away what is set here. Without `confirm` what puts records at risk is refused (`Risky`); `Outdated`
    where the ETag of what is set now is none of `seen` (empty: whatever is set). Kafka has no such condition: between the look and the
    change another client may still be quicker."""
    target = owner.name if owner.kind != "brokers" else owner.words
    with audited(actor, ROLES[owner.kind], ACTIONS[owner.kind], target, cluster=cluster, after=without_secrets(changes)) as entry:
        if not changes:
            raise Invalid("key", "Name a setting.")
        kafka = KafkaCluster(connection_of(cluster))
        known = kafka.settings(owner)
        _refuse_unknown(owner, known, changes)
        if seen and etag(known) not in seen:
            raise Outdated(f"The settings of {owner.words} are not those that you read.")
        if not confirm and (risks := risks_of(owner, known, changes, _copies(kafka, owner, changes))[0]):
            raise Risky(risks)
        entry.before, entry.after = _before(known, changes), without_secrets(changes, known)
        _alter(kafka, owner, changes)
    _settle(cluster, owner, changes)
    return rows_of(known, changes)


def _refuse_unknown(owner: Owner, known: Sequence[Setting], changes: Mapping[str, str | None]) -> None:
    """Of brokers: topics' settings are the brokers' to refuse, in their words."""
    if len(changes) > CHANGES_MAX:
        raise Invalid("configs", f"At most {CHANGES_MAX} settings are changed at once.")
    if owner.kind == "topic":
        return
    by_name = {one.name: one for one in known}
    for name in changes:
        if name not in by_name:
            raise Invalid(f"configs.{name}", f"{owner.words[:1].upper()}{owner.words[1:]} has no setting {name[:100]!r}.")
        if by_name[name].read_only:
            raise Invalid(f"configs.{name}", f"{name} is read at a broker's start only: change its file and restart it.")


def _copies(kafka: KafkaCluster, owner: Owner, changes: Mapping[str, str | None]) -> int | None:
    """The fewest that a partition of the topic has, where it matters."""
    if owner.kind != "topic" or MIN_ISR not in changes:
        return None
    return min((len(p["replica_nodes"]) for topic in kafka.topics([owner.name]) for p in topic["partitions"]), default=None)


def _check(kafka: KafkaCluster, owner: Owner, changes: Mapping[str, str | None]) -> None:
    try:
        kafka.alter_settings(owner, changes, validate_only=True)
    except GatewayError as error:
        raise _placed(kafka, owner, changes, error) from error


def _alter(kafka: KafkaCluster, owner: Owner, changes: Mapping[str, str | None]) -> None:
    try:
        kafka.alter_settings(owner, changes)
    except GatewayError as error:
        raise _placed(kafka, owner, changes, error) from error


def _placed(kafka: KafkaCluster, owner: Owner, changes: Mapping[str, str | None], error: GatewayError) -> Exception:
    """Which settings were refused. Those that contradict each other are right each by itself: then the error stays as it is."""
    if error.code not in OF_ONE_SETTING:
        return error
    if len(changes) == 1:
        return WrongSettings({next(iter(changes)): error})
    wrong = {}
    for name, value in changes.items():
        try:
            kafka.alter_settings(owner, {name: value}, validate_only=True)
        except GatewayError as found:
            wrong[name] = found
    return WrongSettings(wrong) if wrong else error


def _before(known: Sequence[Setting], changes: Mapping[str, str | None]) -> dict[str, Any]:
    found = {one.name: HIDDEN if one.sensitive else one.value for one in known if one.name in changes}
    inherited = sorted(one.name for one in known if one.name in changes and not one.is_own)
    return {**found, INHERITED: inherited} if inherited else found


def _settle(cluster: Cluster, owner: Owner, changes: Mapping[str, str | None]) -> None:
    """Brokers hear of it by the store: until they say so themselves a little is waited."""
    if owner.kind == "topic":
        ask_now(cluster.pk, "configs", owner.name)
        return
    with contextlib.suppress(GatewayError):
        await_snapshot(lambda: _has(cluster, owner, changes))


def _has(cluster: Cluster, owner: Owner, changes: Mapping[str, str | None]) -> bool:
    own = {one.name: one.own for one in read_settings(cluster, owner) if not one.sensitive}
    return all(own[key] == value for key, value in changes.items() if key in own)


# --- putting back


class Past(Struct):
    """A change that was made, and `back`: what takes it back."""

    entry: AuditEntry
    back: dict[str, str | None]


def last_changes(cluster: Cluster, owner: Owner) -> list[Past]:
    """The newest first; those that changed something which is known."""
    newest = AuditEntry.objects.filter(cluster=cluster.pk).order_by("-id")[:LOOKED_THROUGH]
    target = owner.name if owner.kind != "brokers" else owner.words
    rows = [row for row in newest if (row.action, row.target, row.outcome) == (ACTIONS[owner.kind], target, "done")]
    return [Past(row, back) for row in rows if (back := _back(row))][:LAST_SHOWN]


def change_to_put_back(cluster: Cluster, owner: Owner, entry_id: int) -> dict[str, str | None]:
    """What takes that change back; `Conflict` where it is not among the last ones any more."""
    found = next((past.back for past in last_changes(cluster, owner) if past.entry.pk == entry_id), None)
    if found is None:
        raise Conflict(f"That change of {owner.words} is not among its last ones any more.")
    return found


def _back(row: AuditEntry) -> dict[str, str | None]:
    before, after = row.before, row.after
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {}
    inherited = before.get(INHERITED) or ()
    return {
        name: None if name in inherited else before[name]
        for name in after
        if name in before and name != INHERITED and HIDDEN not in (before[name], after[name])
    }
