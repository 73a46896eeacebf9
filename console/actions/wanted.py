"""The wanted state of a cluster: keep one, look for drift, mend an object. What differs is for `console/wanted` to say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from time import monotonic, sleep
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from msgspec import Struct

from console.actions.audit import audited
from console.actions.jobs import create_job
from console.actions.settings import change_settings
from console.actions.topics import DEFAULT, add_partitions, create_topic, replicas_by_broker
from console.errors import Invalid, Outdated, Risky
from console.gateway.actual import read_actual
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.gateway.refusals import sentence
from console.jobs.reassignment import ASSIGNMENTS_LIMIT
from console.models import Cluster, Job, WantedDrift, WantedState
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.settings.model import Owner
from console.wanted.model import BROKERS, Drift, Wanted
from console.wanted.planning import plan
from console.wanted.quotas import OBJECT as QUOTA
from console.wanted.reading import read

TOPIC = "topic/"
OF_ADMINS = (BROKERS, QUOTA)
HEARD_WITHIN_S, LOOK_S = 10.0, 0.2
STATES = ("missing", "differs", "impossible", "unmanaged")


class Mended(Struct):
    """`drift` is what was, or would be, mended; None where the object was as it is wanted already. `jobs` go on with it."""

    object: str
    drift: Drift | None
    jobs: list[int]


def plan_wanted(cluster: Cluster, files: Mapping[str, str]) -> list[Drift]:
    """What differs at this moment from what these files want; nothing is kept or changed. `Unreadable` names what cannot be meant."""
    return _plan(cluster, read(files))


def keep_wanted(actor: Actor, cluster: Cluster, files: Mapping[str, str]) -> list[Drift]:
    """Keeps the files in place of those before, and looks for drift."""
    with audited(actor, OPERATOR, "keep wanted state", cluster.pk, cluster=cluster, changes_cluster=False) as entry:
        wanted = read(files)
        entry.after = {"topics": len(wanted.topics), "files": sorted(files)[:20]}
        drifts = _plan(cluster, wanted)
        said = {"files": dict(files), "topics": len(wanted.topics), "uploaded_by": actor.name, "uploaded_at": timezone.now()}
        state, _ = WantedState.objects.update_or_create(cluster=cluster, defaults=said)
        _note(state, drifts)
        return drifts


def forget_wanted(actor: Actor, cluster: Cluster) -> None:
    with audited(actor, OPERATOR, "forget wanted state", cluster.pk, cluster=cluster, changes_cluster=False):
        _state_of(cluster)
        WantedState.objects.filter(cluster=cluster).delete()
        WantedDrift.objects.filter(cluster=cluster).delete()


def look(state: WantedState) -> None:
    """Looks for drift anew; what stands in the way is noted, and what was seen before stays, with its time."""
    try:
        drifts = _plan(state.cluster, read(state.files))
    except GatewayError as error:
        state.error = sentence(error)
        state.save(update_fields=["error"])
        return
    _note(state, drifts)


def _plan(cluster: Cluster, wanted: Wanted) -> list[Drift]:
    kafka = KafkaCluster(connection_of(cluster))
    load = replicas_by_broker(cluster, kafka)
    return plan(wanted, read_actual(kafka, wanted, load, everything=True))


def _note(state: WantedState, drifts: Sequence[Drift]) -> None:
    """The rows are written anew where anything is not as it was seen before."""
    seen = hashlib.sha256(msgspec.json.encode(drifts)).hexdigest()
    with transaction.atomic():
        if seen != state.seen:
            WantedDrift.objects.filter(cluster=state.cluster).delete()
            WantedDrift.objects.bulk_create([_row(state.cluster, drift) for drift in drifts[: WantedDrift.KEEP]], batch_size=500)
        state.counts = counts_of(drifts)
        state.seen, state.looked_at, state.error = seen, timezone.now(), ""
        state.save()


def counts_of(drifts: Sequence[Drift]) -> dict[str, int]:
    """By state."""
    return {name: sum(drift.state == name for drift in drifts) for name in STATES}


def _row(cluster: Cluster, drift: Drift) -> WantedDrift:
    return WantedDrift(cluster=cluster, object=drift.object, state=drift.state, value=told(drift))


def told(drift: Drift) -> dict[str, Any]:
    """A drift as pages and REST have it: without its steps."""
    value: dict[str, Any] = msgspec.to_builtins(drift)
    del value["steps"]
    return value


# --- mending


def preview_mend(cluster: Cluster, name: str) -> Drift | None:
    """What differs of the object at this moment; None where nothing does."""
    wanted = _part(read(_state_of(cluster).files), name)
    kafka = KafkaCluster(connection_of(cluster))
    load = replicas_by_broker(cluster, kafka)
    return next(iter(plan(wanted, read_actual(kafka, wanted, load, everything=False))), None)


def _state_of(cluster: Cluster) -> WantedState:
    found = WantedState.objects.filter(cluster=cluster).first()
    if found is None:
        raise Invalid("cluster", f"No wanted state is kept for {cluster.pk}: put one there first (highwater apply FOLDER).")
    return found


def _part(wanted: Wanted, name: str) -> Wanted:
    """The wanted state with this object alone."""
    if name == BROKERS and wanted.broker_configs is not None:
        return Wanted({}, wanted.broker_configs)
    entity = name.removeprefix(QUOTA)
    if name.startswith(QUOTA) and entity in (wanted.quotas or {}):
        return Wanted({}, None, {entity: (wanted.quotas or {})[entity]})
    topic = name.removeprefix(TOPIC)
    if not name.startswith(TOPIC) or topic not in wanted.topics:
        raise Invalid("object", f"{name[:300]} is not wanted: there is nothing that it could be mended to.")
    return Wanted({topic: wanted.topics[topic]})


def mend(actor: Actor, cluster: Cluster, name: str, *, seen: str | None = None, confirm: bool = False) -> Mended:
    """Makes the object as it is wanted; what is so already is left alone. `seen` is of the drift that was shown: `Outdated` where it is
    something else by now. Without `confirm` what could lose data is refused (`Risky`)."""
    with audited(actor, ADMIN if name.startswith(OF_ADMINS) else OPERATOR, "mend", name, cluster=cluster) as entry:
        drift = preview_mend(cluster, name)
        if drift is None:
            _settle(cluster, name, None)
            return Mended(name, None, [])
        if seen is not None and seen != drift.seen:
            raise Outdated(f"{name} differs otherwise than was shown: look again.")
        if not drift.steps:
            raise Invalid("object", " ".join(drift.impossible))
        if drift.risks and not confirm:
            raise Risky(drift.risks)
        entry.before = {change.label: change.before for change in drift.changes}
        entry.after = {change.label: change.after for change in drift.changes}
        jobs = [job.pk for job in _carry_out(actor, cluster, drift, confirm=confirm) if job]
        _settle(cluster, name, preview_mend(cluster, name))
        return Mended(name, drift, jobs)


def _settle(cluster: Cluster, name: str, drift: Drift | None) -> None:
    """The object's row as it is now; the counts follow at the next look."""
    WantedDrift.objects.filter(cluster=cluster, object=name).delete()
    if drift is not None:
        _row(cluster, drift).save()
    WantedState.objects.filter(cluster=cluster).update(seen="")


def _carry_out(actor: Actor, cluster: Cluster, drift: Drift, *, confirm: bool) -> list[Job | None]:
    if drift.object == BROKERS:
        KafkaCluster(connection_of(cluster)).alter_broker_defaults(drift.steps.configs)
        return []
    if drift.object.startswith(QUOTA):
        KafkaCluster(connection_of(cluster)).alter_quota(drift.object.removeprefix(QUOTA), drift.steps.quota)
        return []
    topic = drift.object.removeprefix(TOPIC)
    if drift.steps.create:
        return [_create(actor, cluster, topic, confirm=confirm)]
    jobs: list[Job | None] = []
    if drift.steps.configs:
        change_settings(actor, cluster, Owner("topic", topic), drift.steps.configs, confirm=confirm)
    if drift.steps.grow_to:
        grown = drift.steps.grown or ()
        jobs.append(add_partitions(actor, cluster, topic, drift.steps.grow_to, confirm=confirm, assignment=grown))
        _await_partitions(cluster, topic, drift.steps.grow_to)
    if drift.steps.moves:
        jobs.append(_move(actor, cluster, topic, drift.steps.moves))
    return jobs


def _await_partitions(cluster: Cluster, topic: str, size: int) -> None:
    """Brokers hear of new partitions a little later than the controller; moves of some that are not heard of are refused."""
    kafka = KafkaCluster(connection_of(cluster))
    end = monotonic() + HEARD_WITHIN_S
    while monotonic() < end and any(len(found["partitions"]) < size for found in kafka.topics([topic])):
        sleep(LOOK_S)


def _create(actor: Actor, cluster: Cluster, name: str, *, confirm: bool) -> Job | None:
    topic = read(_state_of(cluster).files).topics[name]
    asked: dict[str, Any] = {"partitions": topic.partitions or DEFAULT, "replication_factor": topic.replication_factor or DEFAULT}
    return create_topic(actor, cluster, name, **asked, configs=topic.configs, confirm=confirm, assignment=topic.assignment or ())


def _move(actor: Actor, cluster: Cluster, topic: str, moves: Mapping[int, Sequence[int]]) -> Job:
    """As many as one job moves; the rest is drift still, for the next one."""
    rows = [{"topic": topic, "partition": number, "replicas": list(to)} for number, to in sorted(moves.items())[:ASSIGNMENTS_LIMIT]]
    return create_job(actor, cluster, "reassignment", {"assignments": rows})
