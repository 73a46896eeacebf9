"""Leaders go back to a broker that was down and has returned, once no partition that it hosts lacks a copy: an election is asked for, once
a return, of what the broker is preferred for. On for a cluster only where an operator has set it so."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from console.actions.jobs import create_job
from console.clock import now_ms
from console.errors import Conflict, Invalid
from console.gateway.errors import GatewayError
from console.jobs.scheduled import ELECTION
from console.models import Event, Job, ReturnElection
from console.roles import BEAT
from console.rules.partitions import DELETING, SAFE
from console.rules.words import duration
from console.snapshot.read import Snapshot, SnapshotUnavailable

log = logging.getLogger(__name__)
RETURNED = "broker_returned"
EVENTS_AT_ONCE = 1_000
WAIT_MOST_MS = 7 * 24 * 3_600_000
"""A broker that is not whole for so long is waited for no more: what leads by then has for long."""


def look_for_returns() -> None:
    """Of every cluster where it is on; one that cannot be looked at is looked at again."""
    for row in ReturnElection.objects.select_related("cluster").filter(is_on=True):
        try:
            look(row)
        except (Conflict, Invalid, GatewayError, SnapshotUnavailable) as error:
            log.info("no election after a return in %s yet: %s", row.cluster_id, error)


def look(row: ReturnElection) -> Job | None:
    """The election that is asked for now: one at a time, as two would stand in each other's way."""
    waiting = _waiting(row)
    if not waiting or row.cluster.read_only or _elects(row):
        return None
    snapshot = Snapshot(row.cluster_id)
    if snapshot.as_of().stale:
        return None
    broker = next((number for number in sorted(map(int, waiting)) if _is_whole(snapshot, number)), None)
    if broker is None:
        return None
    since_ms = waiting[str(broker)]
    back = duration(max(now_ms() - since_ms, 0) / 1000)
    why = f"Broker {broker} was down and is back since {back}; no partition that it hosts lacks a copy any more."
    return create_job(BEAT, row.cluster, ELECTION, {"broker": broker}, why=why, beside=lambda _job: _taken(row, broker, since_ms))


def _waiting(row: ReturnElection) -> Mapping[str, int]:
    """Brokers that have returned, with those of events that are new."""
    found = Event.objects.filter(cluster=row.cluster, kind=RETURNED, id__gt=row.seen_event).order_by("id")
    new = list(found.values_list("id", "broker_id", "at_ms")[:EVENTS_AT_ONCE])
    oldest_ms = now_ms() - WAIT_MOST_MS
    waiting = {**row.waiting, **{str(broker): at_ms for _, broker, at_ms in new if broker is not None}}
    waiting = {broker: at_ms for broker, at_ms in waiting.items() if at_ms >= oldest_ms}
    seen = new[-1][0] if new else row.seen_event
    if waiting != row.waiting or seen != row.seen_event:
        as_read = ReturnElection.objects.filter(pk=row.pk, is_on=True, seen_event=row.seen_event)
        if not as_read.update(seen_event=seen, waiting=waiting):
            return {}
    return waiting


def _elects(row: ReturnElection) -> bool:
    return Job.objects.filter(cluster=row.cluster, kind=ELECTION, state__in=Job.ACTIVE).exists()


def _is_whole(snapshot: Snapshot, broker: int) -> bool:
    """It is there, and none of its partitions lacks a copy or is not known."""
    found = snapshot.broker(broker)
    if found is None or found.state != "online":
        return False
    worst = snapshot.worst_hosted(broker)
    return worst is None or worst.state in (SAFE, DELETING)


def _taken(row: ReturnElection, broker: int, since_ms: int) -> None:
    """In the job's transaction: the return is answered, once."""
    now = ReturnElection.objects.select_for_update().get(pk=row.pk)
    if not now.is_on or now.waiting.get(str(broker)) != since_ms:
        raise Conflict(f"The return of broker {broker} was answered by somebody else meanwhile.")
    now.waiting = {number: at_ms for number, at_ms in now.waiting.items() if number != str(broker)}
    now.save(update_fields=["waiting"])
