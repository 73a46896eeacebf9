"""A cluster's schema registry: set, tested and taken away by admins. The password goes in and never comes out."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from console.actions.audit import audited
from console.errors import Invalid
from console.gateway.schema_registry import Schema, SchemaRegistry, Unavailable, registry_of
from console.gateway.sealing import SecretsUnreadable, seal, unseal
from console.models import Cluster
from console.models import SchemaRegistry as Row
from console.queries import NotFound
from console.roles import ADMIN, Actor
from console.rules.records.schemas import FIELDS, SECRET, Values, checked
from console.rules.words import counted


def registry_row(cluster: Cluster) -> Row | None:
    return Row.objects.filter(cluster=cluster).first()


def set_registry(actor: Actor, cluster: Cluster, given: Mapping[str, Any]) -> Row:
    """What is left out stays as it is; `Invalid` names the field that is wrong."""
    with audited(actor, ADMIN, "set schema registry", cluster.pk, cluster=cluster, changes_cluster=False) as entry:
        now = _values(registry_row(cluster), given)
        values = _checked(now, given)
        entry.before, entry.after = _told(now), _told(values)
        columns = {"url": values["url"], "username": values["username"], "ca_pem": values["ca_pem"]}
        sealed = seal({SECRET: values[SECRET]})
        who = {"set_by": actor.name, "set_at": timezone.now()}
        return Row.objects.update_or_create(cluster=cluster, defaults={**columns, "secrets": sealed, **who})[0]


def test_registry(actor: Actor, cluster: Cluster, given: Mapping[str, Any]) -> tuple[bool, str]:
    """Asks it as it would be asked with what is given; takes up to 4 s. Whether it answers, and what it says."""
    with audited(actor, ADMIN, "test schema registry", cluster.pk, cluster=cluster, changes_cluster=False) as entry:
        values = _checked(_values(registry_row(cluster), given), given)
        try:
            found = SchemaRegistry(*(values[name] for name in FIELDS)).subjects()
            ok, said = True, f"{values['url']} answers: it has {counted(found, 'subject')}."
        except Unavailable as error:
            ok, said = False, f"{error.message}."
        entry.after = {"url": values["url"], "ok": ok, "sentence": said[:400]}
        return ok, said


def read_schema(cluster: Cluster, number: int) -> tuple[str, Schema]:
    """The registry's address, and what it says of the schema; takes up to 4 s an answer. `NotFound`, `Unavailable`."""
    row = registry_row(cluster)
    if row is None:
        raise NotFound(f"No schema registry is set for {cluster.pk}.")
    try:
        return row.url, registry_of(row).schema(number)
    except Unavailable as error:
        if error.is_missing:
            raise NotFound(f"{row.url} has no schema {number}.") from None
        raise


def remove_registry(actor: Actor, cluster: Cluster) -> None:
    row = registry_row(cluster)
    if row is None:
        raise NotFound(f"No schema registry is set for {cluster.pk}.")
    with audited(actor, ADMIN, "remove schema registry", cluster.pk, cluster=cluster, changes_cluster=False, before={"url": row.url}):
        row.delete()


def _values(row: Row | None, given: Mapping[str, Any]) -> Values:
    """What is set now. A password that cannot be read any more is as good as none, once it is given anew."""
    if row is None:
        return dict.fromkeys(FIELDS, "")
    try:
        password = unseal(row.secrets).get(SECRET, "")
    except SecretsUnreadable:
        if SECRET not in given:
            raise
        password = ""
    return {"url": row.url, "username": row.username, SECRET: password, "ca_pem": row.ca_pem}


def _checked(now: Values, given: Mapping[str, Any]) -> Values:
    values = checked(now, given)
    try:
        if values["ca_pem"]:
            ssl.create_default_context(cadata=values["ca_pem"])
    except (ssl.SSLError, ValueError):
        raise Invalid("ca_pem", "This is no certificate that can be read: paste all lines from -----BEGIN to -----END.") from None
    return values


def _told(values: Values) -> dict[str, str]:
    """For the audit: of the password only whether there is one, of certificates how long they are."""
    pem = values["ca_pem"]
    return {
        "url": values["url"],
        "username": values["username"],
        "password": "set" if values[SECRET] else "none",
        "ca_pem": f"{len(pem)} characters" if pem else "none",
    }
