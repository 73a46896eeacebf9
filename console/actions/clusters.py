"""Registered clusters: register, change, test, delete.

Secrets go in and never come out: not in answers, not in the audit, not in errors.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import transaction

from console.actions.audit import audited
from console.actions.schedules import first_schedules
from console.errors import Conflict, Invalid, Unconfirmed
from console.gateway.connection import Connection, connection_of, tls_context
from console.gateway.sealing import SecretsUnreadable, seal, unseal
from console.gateway.trial import try_out
from console.models import Cluster, Job
from console.roles import ADMIN, Actor
from console.rules.registration import SECRET, check_id, checked
from console.rules.trial import Trial
from console.rules.words import counted
from console.snapshot.forget import forget
from console.snapshot.read import SnapshotUnavailable

PUBLIC = (
    *("name", "bootstrap_servers", "zookeeper", "security_protocol", "sasl_mechanism", "sasl_username"),
    *("ca_pem", "certificate_pem", "check_hostname", "colour", "read_only"),
)
"""What may be entered, but for the secrets."""
FIELDS = (*PUBLIC, *SECRET)
Values = Mapping[str, Any]


def blank() -> dict[str, Any]:
    """A registration into which nothing has been entered."""
    row = Cluster(id="new")
    return {**{name: getattr(row, name) for name in PUBLIC}, **dict.fromkeys(SECRET, "")}


def register(actor: Actor, cluster_id: str, given: Values) -> Cluster:
    """The new row; `Invalid` names the field that is wrong."""
    with audited(actor, ADMIN, "register cluster", cluster_id[:64], cluster=None) as entry:
        check_id(cluster_id)
        values = _checked(blank(), given)
        entry.after = _told(blank(), values)
        with transaction.atomic():
            _refuse_taken(cluster_id, values["name"])
            if Cluster.objects.count() >= Cluster.LIMIT:
                raise Conflict(f"There are {Cluster.LIMIT} clusters: delete one first.")
            made = Cluster.objects.create(pk=cluster_id, **_columns(values))
            first_schedules(made)
            return made


def change(actor: Actor, cluster: Cluster, given: Values) -> Cluster:
    """The row with what is given; all else stays, secrets too."""
    with audited(actor, ADMIN, "change cluster", cluster.pk, cluster=None) as entry:
        _refuse_local(cluster)
        now = _values(cluster, given)
        values = _checked(now, given)
        entry.before, entry.after = _told(values, now), _told(now, values)
        with transaction.atomic():
            _refuse_taken(None, values["name"], but=cluster.pk)
            forgotten = {} if values["bootstrap_servers"] == now["bootstrap_servers"] else {"kafka_id": ""}
            Cluster.objects.filter(pk=cluster.pk).update(**_columns(values), **forgotten)
        return Cluster.objects.get(pk=cluster.pk)


def delete(actor: Actor, cluster: Cluster, *, confirm: str) -> None:
    """The registration, with its events, jobs and reports; the cluster itself is not touched."""
    with audited(actor, ADMIN, "delete cluster", cluster.pk, cluster=None) as entry:
        _refuse_local(cluster)
        entry.before = {name: getattr(cluster, name) for name in ("name", "bootstrap_servers")}
        if confirm != cluster.pk:
            raise Unconfirmed("confirm", f"Type the cluster's id, {cluster.pk}, to delete its registration.")
        with transaction.atomic():
            _refuse_busy(cluster)
            cluster.delete()
        _forget_snapshot(str(entry.target))


def test(actor: Actor, cluster: Cluster | None, given: Values) -> Trial:
    """Asks the servers as they would be asked with what is given; of a registered cluster all else is as it is. Takes up to 10 s.

    What a registered cluster calls itself is kept, the first time and while its servers are those that were asked.
    """
    target = cluster.pk if cluster else str(given.get("bootstrap_servers", ""))[:100]
    with audited(actor, ADMIN, "test cluster", target, cluster=None) as entry:
        now = blank() if cluster is None else _values(cluster, given)
        values = _checked(now, {**given, "name": "test"} if cluster is None else given)
        found = try_out(_connection(values), cluster.kafka_id if cluster else "")
        entry.after = {"ok": found.ok, "sentence": found.sentence[:400]}
        if cluster and found.ok and found.kafka_id and values["bootstrap_servers"] == now["bootstrap_servers"]:
            Cluster.objects.filter(pk=cluster.pk, kafka_id="").update(kafka_id=found.kafka_id)
        return found


def _refuse_local(cluster: Cluster) -> None:
    if cluster.pk == settings.LOCAL_CLUSTER:
        raise Invalid("cluster", "This system's own cluster is set by the environment: it is neither changed nor deleted here.")


def _refuse_taken(cluster_id: str | None, name: str, but: str = "") -> None:
    if cluster_id is not None and Cluster.objects.filter(pk=cluster_id).exists():
        raise Invalid("id", f"There is a cluster {cluster_id} already.")
    if Cluster.objects.exclude(pk=but).filter(name__iexact=name).exists():
        raise Invalid("name", f"Another cluster is called {name}: people could not tell them apart.")


def _refuse_busy(cluster: Cluster) -> None:
    active = Job.objects.select_for_update().filter(cluster=cluster, state__in=Job.ACTIVE).count()
    if active:
        raise Conflict(f"{counted(active, 'job')} of {cluster.pk} {'is' if active == 1 else 'are'} under way: cancel or await first.")


def _forget_snapshot(cluster_id: str) -> None:
    """What was last known of it must not be shown of another that takes the id; without Redis nothing is shown at all."""
    try:
        forget(cluster_id)
    except SnapshotUnavailable:
        return


def _values(cluster: Cluster, given: Values) -> dict[str, Any]:
    """What is entered now. Secrets that cannot be read any more are as good as none, once both are given anew."""
    try:
        secrets = unseal(cluster.secrets)
    except SecretsUnreadable:
        if not any(given.get(name) for name in SECRET) and given.get("security_protocol") != "PLAINTEXT":
            raise
        secrets = {}
    return {**{name: getattr(cluster, name) for name in PUBLIC}, **dict.fromkeys(SECRET, ""), **secrets}


def _checked(now: Values, given: Values) -> dict[str, Any]:
    values = checked(now, given, Cluster.COLOURS)
    _refuse_unreadable_pems(_connection(values))
    return values


def _connection(values: Values) -> Connection:
    found = connection_of(SimpleNamespace(**{name: values[name] for name in PUBLIC}, secrets=""))
    return replace(found, **{name: values[name] for name in SECRET})


def _refuse_unreadable_pems(connection: Connection) -> None:
    """OpenSSL's own words are of use for a file only."""
    if not connection.is_encrypted:
        return
    try:
        tls_context(replace(connection, certificate_pem="", key_pem=""))
    except (ssl.SSLError, ValueError):
        raise Invalid("ca_pem", "This is no certificate that can be read: paste all lines from -----BEGIN to -----END.") from None
    try:
        tls_context(connection)
    except (ssl.SSLError, ValueError) as error:
        field, said = _wrong_pair(error)
        raise Invalid(field, said) from None


def _wrong_pair(error: Exception) -> tuple[str, str]:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "key_pem", "This key belongs to another certificate."
    if "passphrase" in str(error):
        return "key_pem", "This key is encrypted: paste it without a passphrase."
    return "certificate_pem", "Certificate and key cannot be read: paste all lines from -----BEGIN to -----END of both."


def _columns(values: Values) -> dict[str, Any]:
    return {**{name: values[name] for name in PUBLIC}, "secrets": seal({name: values[name] for name in SECRET})}


def _told(before: Values, after: Values) -> dict[str, Any]:
    """For the audit: what `after` has otherwise than `before`; of a secret only whether there is one, of PEM texts how long they are."""
    found = {name: after[name] for name in FIELDS if after[name] != before[name]}
    hidden = {name: ("set" if found[name] else "none") for name in SECRET if name in found}
    pems = {name: f"{len(found[name])} characters" for name in ("ca_pem", "certificate_pem") if name in found}
    return found | hidden | pems
