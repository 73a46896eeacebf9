"""Jobs: ask for one, pause one, cancel one. The worker does the rest (`workers/tasks/jobs.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from console.actions.audit import audited
from console.actions.masking import rules_for, would_show
from console.errors import Conflict, Invalid
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.kind import JobKind
from console.jobs.registry import KINDS, asked_for
from console.models import Cluster, Job, job_value, trim
from console.queue import enqueue_job
from console.roles import ADMIN, OPERATOR, Actor, Refused
from console.snapshot.jobs import publish_job
from console.snapshot.read import Snapshot, SnapshotUnavailable


def create_job(
    actor: Actor, cluster: Cluster, kind: str, params: Mapping[str, Any], *, why: str = "", beside: Callable[[Job], None] | None = None
) -> Job:
    """The queued row; `Conflict` where another active job stands in its way, as its kind sees it. `why` is what its log and the audit
    say of who did not ask for it by hand. `beside` is called in the job's transaction: what it raises leaves no job."""
    changes = kind not in KINDS or KINDS[kind].changes_cluster
    role = ADMIN if kind in KINDS and KINDS[kind].for_admins else OPERATOR
    with audited(actor, role, f"start {kind}"[:60], cluster.pk, cluster=cluster, changes_cluster=changes, after=dict(params)) as entry:
        asked = asked_for(kind)
        if asked.of_own_cluster and cluster.pk != settings.LOCAL_CLUSTER:
            raise Invalid("cluster", f"This is not available from {cluster.name}: it is of this system's own cluster only.")
        checked = asked.checked(params)
        entry.after = checked | ({"why": why} if why else {})
        refuse_hidden(actor, cluster, asked, checked)
        refuse_unknown(cluster, asked, checked)
        shown, private = asked.parted(checked)
        with transaction.atomic():
            _one_at_a_time(cluster)
            _refuse_clash(cluster, asked, checked)
            words = "Waiting for a worker."
            log = [{"at": timezone.now().isoformat(timespec="seconds"), "text": why}] if why else []
            job = Job.objects.create(cluster=cluster, kind=kind, params=shown, plan=private, created_by=actor.name, message=words, log=log)
            if beside is not None:
                beside(job)
            trim(Job.objects.exclude(state__in=Job.ACTIVE), Job.KEEP)
            transaction.on_commit(lambda: _announce(job))
        return job


def follow(actor: Actor, cluster: Cluster, kind: str, topic: str, partitions: int) -> Job:
    """The row that shows how a change of a topic, which the cluster has been asked for, goes on; the one there is, where it is the same.
    `partitions` is how many there are to be, or were."""
    with transaction.atomic():
        _one_at_a_time(cluster)
        params = {"topic": topic, "partitions": partitions}
        active = Job.objects.select_for_update().filter(cluster=cluster, state__in=Job.ACTIVE, kind=kind, params=params)
        if same := active.first():
            return same
        job = Job.objects.create(cluster=cluster, kind=kind, params=params, created_by=actor.name, message="The cluster is at it.")
        trim(Job.objects.exclude(state__in=Job.ACTIVE), Job.KEEP)
        transaction.on_commit(lambda: _announce(job))
    return job


def _one_at_a_time(cluster: Cluster) -> None:
    """Whoever else makes a job of this cluster waits until the transaction is over: two that look at once would both find nothing."""
    Cluster.objects.select_for_update().get(pk=cluster.pk)


def _announce(job: Job) -> None:
    publish_job(job.cluster_id, job_value(job))
    enqueue_job(job.pk, job.kind)


def refuse_hidden(actor: Actor, cluster: Cluster, kind: JobKind, params: Mapping[str, Any]) -> None:
    """Who does not see all of a topic's records may not have them brought elsewhere; nor may anybody but an admin, who makes the rules,
    where those from whom a part is hidden would see it."""
    topics = kind.reads(params)
    if topics is None:
        return
    source, target = topics
    if rules_for(actor, cluster, source):
        raise Refused(f"Rules hide parts of the records of {source} from {actor.name}: they cannot be copied by those who do not see them.")
    shown = would_show(cluster, source, target)
    if shown and not actor.may(ADMIN):
        raise Refused(f"{shown} An admin may copy them, or make rules for {target} first.")


def refuse_unknown(cluster: Cluster, kind: JobKind, params: Mapping[str, Any]) -> None:
    """`Invalid` where a topic, a partition or a broker that is named is not there. What the snapshot does not know the cluster is asked."""
    names = sorted(set(kind.topics(params)))
    if (names or kind.names_brokers) and kind.absent(params, *_seen(cluster, names)):
        kafka = KafkaCluster(connection_of(cluster))
        sizes = {topic["name"]: len(topic["partitions"]) for topic in kafka.topics(names)} if names else {}
        if wrong := kind.absent(params, sizes, kafka.brokers() if kind.names_brokers else ()):
            raise wrong


def _seen(cluster: Cluster, names: Sequence[str]) -> tuple[dict[str, int], set[int]]:
    """Partitions by topic, and the brokers that are online, as the snapshot has them."""
    snapshot = Snapshot(cluster.pk)
    try:
        sizes = {topic.topic: topic.partitions or 0 for topic in snapshot.topics(names)}
        return sizes, {broker.broker_id for broker in snapshot.brokers() if broker.state == "online"}
    except SnapshotUnavailable:
        return {}, set()


def _refuse_clash(cluster: Cluster, kind: JobKind, params: Mapping[str, Any]) -> None:
    for other in Job.objects.select_for_update().filter(cluster=cluster, state__in=Job.ACTIVE, kind=kind.name):
        if why := kind.clash(params, other.pk, other.state, other.params):
            raise Conflict(why)


def cancel_job(actor: Actor, job: Job) -> Job:
    """Asks for the end; the worker brings it about. `Conflict` when the job is over."""
    changes = job.kind not in KINDS or KINDS[job.kind].changes_cluster
    named = f"cancel {job.kind}"[:60]
    with audited(actor, OPERATOR, named, str(job.pk), cluster=job.cluster, changes_cluster=changes, before={"state": job.state}):
        with transaction.atomic():
            fresh = Job.objects.select_for_update().get(pk=job.pk)
            if not fresh.active:
                raise Conflict(f"Job {job.pk} has {fresh.state} already.")
            fresh.cancel_requested, fresh.state = True, Job.CANCELLING
            fresh.save(update_fields=["cancel_requested", "state"])
            transaction.on_commit(lambda: _announce(fresh))
        return fresh


def pause_job(actor: Actor, job: Job, *, paused: bool) -> Job:
    """Has it begin nothing more, or go on. `Conflict` when it is over, or of a kind that has no pause; the same again changes nothing."""
    known = KINDS.get(job.kind)
    named = f"{'pause' if paused else 'resume'} {job.kind}"[:60]
    changes = known is None or known.changes_cluster
    with audited(actor, OPERATOR, named, str(job.pk), cluster=job.cluster, changes_cluster=changes, before={"paused": job.paused}):
        if known is None or not known.pause_means:
            raise Conflict(f"A job of kind {job.kind} cannot be paused.")
        with transaction.atomic():
            fresh = Job.objects.select_for_update().get(pk=job.pk)
            if fresh.state not in (Job.QUEUED, Job.RUNNING):
                raise Conflict(f"Job {job.pk} is {fresh.state}: there is nothing to pause or resume.")
            fresh.paused = paused
            fresh.save(update_fields=["paused"])
            transaction.on_commit(lambda: _announce(fresh))
        return fresh
