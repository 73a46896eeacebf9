"""A topic's creation, growth or deletion that went on after the request for it had run out of time: followed to its end.

The cluster does the work and the job only looks: cancelled, it looks no more.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.topics import Deletion
from console.models import Job
from console.rules.words import counted, whole
from console.snapshot.read import Snapshot
from workers.kinds.step import Step

STUCK_S = 300
"""After so long without progress the cluster has given it up, or never took it."""


def advance(job: Job) -> Step:
    found = KafkaCluster(connection_of(job.cluster)).topics([job.params["topic"]])
    partitions = found[0]["partitions"] if found else []
    return _deletion(job, len(partitions)) if job.kind == Deletion.name else _leaders(job, partitions)


def _leaders(job: Job, partitions: list[dict[str, Any]]) -> Step:
    """Done when there are as many partitions as asked for, all with a leader; a creation with the brokers' default number asks for -1."""
    name, wanted = job.params["topic"], max(job.params["partitions"], len(partitions), 1)
    led = sum(row["leader_id"] >= 0 for row in partitions)
    said = f"{whole(led)} of {counted(wanted, 'partition')} of {name} {'has' if led == 1 else 'have'} a leader."
    if led >= wanted:
        return Step("end", job.plan, led, wanted, message=said, said=said, state=Job.SUCCEEDED, result={"partitions": wanted})
    return _going_on(job, led, wanted, said)


def _deletion(job: Job, left: int) -> Step:
    """Done when brokers no longer know the topic and its znodes are gone."""
    name = job.params["topic"]
    shown = Snapshot(job.cluster_id).topic(name)
    total = max(job.params["partitions"], job.total, left, 1)
    if not left and shown is None:
        said = f"{name} is deleted."
        return Step("end", job.plan, total, total, message=said, said=said, state=Job.SUCCEEDED, result={"partitions": total})
    deleting = shown and shown.deleting
    if deleting and (deleting.waits_for or deleting.moving):
        return Step("follow", {"since": _now()}, total - left, total, message=deleting.sentence)
    said = (
        f"Brokers still serve {counted(left, 'partition')} of {name}."
        if left
        else f"No broker serves {name} any more; what is left is removed."
    )
    return _going_on(job, total - left, total, said)


def _going_on(job: Job, done: int, total: int, said: str) -> Step:
    plan = job.plan if job.plan and done <= job.done else {"since": _now()}
    if _now() - plan["since"] < STUCK_S:
        return Step("follow", plan, done, total, message=said)
    message = f"Nothing has moved for {STUCK_S // 60} minutes. {said}"
    return Step("end", plan, done, total, message=message, said=message, state=Job.FAILED)


def cancel(job: Job) -> Step:
    said = "No longer followed; what the cluster has taken it goes on with."
    return Step("end", job.plan, job.done, job.total, message=said, said=said, state=Job.CANCELLED)


def _now() -> float:
    return timezone.now().timestamp()
