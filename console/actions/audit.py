"""The audit row around a change: who, what, to what, from and to, and how it ended; also of one that was refused, failed or asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from console.errors import ReadOnly, Unconfirmed
from console.models import AuditEntry, Cluster, trim
from console.roles import Actor, Refused


@contextmanager
def audited(
    actor: Actor,
    role: str,
    action: str,
    target: str,
    *,
    cluster: Cluster | None,
    changes_cluster: bool = True,
    before: Any = None,
    after: Any = None,
) -> Iterator[AuditEntry]:
    """Refuses an actor without the role, and any change of a cluster that is read-only here; then runs the change. The row is written
    before the change begins. `cluster` is whose change it is: None of what is the console's own."""
    entry = AuditEntry(
        cluster=cluster.pk if cluster else "",
        actor=actor.name[:150],
        via=actor.via,
        address=actor.address,
        action=action,
        target=target[:400],
        before=before,
        after=after,
        outcome="begun",
    )
    try:
        actor.require(role, action)
        if cluster and cluster.read_only and changes_cluster:
            raise ReadOnly(cluster.name)
    except (Refused, ReadOnly) as error:
        _end(entry, "refused", error)
        raise
    entry.save()
    try:
        yield entry
    except BaseException as error:
        _end(entry, AuditEntry.ASKED if isinstance(error, Unconfirmed) else "failed", error)
        raise
    _end(entry, "done")


def judge(actor: Actor, role: str, doing: str, place: Mapping[str, Any], cluster_of: Callable[[], Cluster | None]) -> None:
    """Refuses, with a row in the audit, an actor without the role; `place` is what the address names, of which `doing` may take words;
    whose change it would be is looked up only then."""
    if actor.may(role):
        return
    named = [str(value) for name, value in place.items() if name not in ("cluster_id", "action")] or [str(v) for v in place.values()]
    with audited(actor, role, doing.format_map(place), " ".join(named), cluster=cluster_of()):
        """Nothing is done: the entry ends as refused."""


def judge_change(actor: Actor, role: str, doing: str, target: str, cluster: Cluster) -> None:
    """Refuses, before it begins, a change of many things that each have a row of their own: for want of the role, or of a read-only
    cluster."""
    if actor.may(role) and not cluster.read_only:
        return
    with audited(actor, role, doing, target, cluster=cluster):
        """Nothing is done: the entry ends as refused."""


def _end(entry: AuditEntry, outcome: str, error: BaseException | None = None) -> None:
    entry.outcome, entry.error = outcome, str(error)[:1000] if error else ""
    entry.save()
    if entry.pk % 500 == 0:
        trim(AuditEntry.objects.all(), AuditEntry.KEEP)
