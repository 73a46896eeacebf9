"""Jobs: ask for one, cancel one. The worker does the rest (`workers/tasks/jobs.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeGuard

from django.db import transaction

from console.actions.audit import Conflict, Invalid, audited
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster, Job, job_value, trim
from console.queue import enqueue_job
from console.roles import OPERATOR, Actor
from console.rules.words import counted, whole
from console.snapshot.jobs import publish_job
from console.snapshot.read import Snapshot, SnapshotUnavailable

ASSIGNMENTS_LIMIT = 1_000
UNITS = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
WHOLE = re.compile(r"[0-9]{1,10}")
RATE = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>[kmg]i?b|b)?(?:/s)?", re.ASCII | re.IGNORECASE)


def create_job(actor: Actor, cluster: Cluster, kind: str, params: Mapping[str, Any]) -> Job:
    """The queued row; `Conflict` where another active job has the same partition (or, but for reassignments, is of the same kind)."""
    with audited(actor, OPERATOR, f"start {kind}"[:60], cluster.pk, after=dict(params)) as entry:
        checked = check_params(kind, params)
        entry.after = checked
        refuse_unknown(cluster, kind, checked)
        with transaction.atomic():
            _one_at_a_time(cluster)
            _refuse_clash(cluster, kind, checked)
            job = Job.objects.create(cluster=cluster, kind=kind, params=checked, created_by=actor.name, message="Waiting for a worker.")
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


def check_params(kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """What of `params` the kind knows, in its canonical form; `Invalid` names the field that is wrong."""
    if kind == "reassignment":
        throttle = _throttle(params.get("throttle"))
        return {"assignments": _assignments(params.get("assignments"))} | ({"throttle": throttle} if throttle else {})
    if kind == "preferred_leader_election":
        topics = params.get("topics")
        if topics is not None and not (isinstance(topics, list) and all(isinstance(t, str) and t for t in topics)):
            raise Invalid("topics", "Give a list of topic names, or none for all.")
        return {"topics": topics} if topics else {}
    if kind in Job.KINDS:
        return {}
    raise Invalid("kind", f"A job is one of {', '.join(Job.KINDS)}.")


def refuse_unknown(cluster: Cluster, kind: str, params: Mapping[str, Any]) -> None:
    """`Invalid` where a topic, a partition or a broker that is named is not there. What the snapshot does not know the cluster is asked."""
    rows = params.get("assignments") or []
    names = sorted({row["topic"] for row in rows} | set(params.get("topics") or []))
    if names and _unknown(params, *_seen(cluster, names)):
        kafka = KafkaCluster(cluster.bootstrap_servers)
        sizes = {topic["name"]: len(topic["partitions"]) for topic in kafka.topics(names)}
        wrong = _unknown(params, sizes, kafka.brokers() if kind == "reassignment" else set())
        if wrong is not None:
            raise wrong


def _seen(cluster: Cluster, names: Sequence[str]) -> tuple[dict[str, int], set[int]]:
    """Partitions by topic, and the brokers that are online, as the snapshot has them."""
    snapshot = Snapshot(cluster.pk)
    try:
        sizes = {topic["topic"]: topic["partitions"] or 0 for topic in snapshot.topics(names)}
        return sizes, {broker["broker_id"] for broker in snapshot.brokers() if broker["state"] == "online"}
    except SnapshotUnavailable:
        return {}, set()


def _unknown(params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
    """What is wrong with the first that is not there."""
    for name in params.get("topics") or []:
        if name not in sizes:
            return Invalid("topics", f"There is no topic {name}.")
    for index, row in enumerate(params.get("assignments") or []):
        topic, partition, field = row["topic"], row["partition"], f"assignments.{index}"
        if topic not in sizes:
            return Invalid(f"{field}.topic", f"There is no topic {topic}.")
        if partition >= sizes[topic]:
            return Invalid(f"{field}.partition", f"{topic} has no partition {partition}: it has {counted(sizes[topic], 'partition')}.")
        if absent := [broker for broker in row["replicas"] if broker not in online]:
            known = ", ".join(map(str, sorted(online))) or "none"
            return Invalid(f"{field}.replicas", f"{topic}-{partition}: broker {absent[0]} is not online. Online: {known}.")
    return None


def _throttle(rate: Any) -> int | None:
    if rate is None:
        return None
    if not isinstance(rate, int) or isinstance(rate, bool) or not 1 <= rate < 2**63:
        raise Invalid("throttle", "Give a throttle of at least 1 byte a second, or none.")
    return rate


def _assignments(rows: Any) -> list[dict[str, Any]]:
    if not isinstance(rows, list) or not rows:
        raise Invalid("assignments", 'Give a list of {"topic", "partition", "replicas"}.')
    if len(rows) > ASSIGNMENTS_LIMIT:
        raise Invalid("assignments", f"A job moves at most {whole(ASSIGNMENTS_LIMIT)} partitions.")
    seen: set[tuple[str, int]] = set()
    return [_assignment(row, f"assignments.{index}", seen) for index, row in enumerate(rows)]


def _assignment(row: Any, field: str, seen: set[tuple[str, int]]) -> dict[str, Any]:
    topic, partition, replicas = (row.get(name) for name in ("topic", "partition", "replicas")) if isinstance(row, dict) else (None,) * 3
    if not isinstance(topic, str) or not topic:
        raise Invalid(f"{field}.topic", "Name the topic.")
    if not _is_id(partition):
        raise Invalid(f"{field}.partition", "Give the partition's number.")
    if not isinstance(replicas, list) or not replicas or not all(_is_id(b) for b in replicas):
        raise Invalid(f"{field}.replicas", "Give the broker ids, the preferred leader first.")
    if len(set(replicas)) != len(replicas):
        raise Invalid(f"{field}.replicas", f"A broker is named twice: {replicas}.")
    if (topic, partition) in seen:
        raise Invalid(field, f"{topic}-{partition} is named twice.")
    seen.add((topic, partition))
    return {"topic": topic, "partition": partition, "replicas": replicas}


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def parse_assignments(text: str) -> Any:
    """The form's text: JSON as in REST, or a line `topic partition broker,broker,…` for each partition."""
    if text.lstrip().startswith(("[", "{")):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Invalid("assignments", f"This is not JSON: {error}.") from error
        return found.get("assignments") if isinstance(found, dict) else found
    return [_line(line) for line in text.splitlines() if line.strip()]


def parse_rate(text: str) -> int | None:
    """The form's throttle: bytes a second as `1000000`, `500 KiB` or `10 MiB`; None where it is empty."""
    if not text.strip():
        return None
    match = RATE.fullmatch(text.strip())
    if match is None:
        raise Invalid("throttle", f"{text.strip()[:40]!r} is not a rate: give bytes a second, as 10 MiB or 1000000.")
    return int(float(match["number"]) * UNITS[(match["unit"] or "b").lower()])


def _line(line: str) -> dict[str, Any]:
    words = line.split(None, 2)
    brokers = words[2].replace(",", " ").split() if len(words) == 3 else []
    if len(words) != 3 or not all(map(WHOLE.fullmatch, (words[1], *brokers))):
        raise Invalid("assignments", f"{line.strip()[:80]!r} is not: topic partition broker,broker,…")
    return {"topic": words[0], "partition": int(words[1]), "replicas": [int(b) for b in brokers]}


def _refuse_clash(cluster: Cluster, kind: str, params: Mapping[str, Any]) -> None:
    active = Job.objects.select_for_update().filter(cluster=cluster, state__in=Job.ACTIVE, kind=kind)
    if kind != "reassignment":
        if other := active.first():
            raise Conflict(f"Job {other.pk} does the same and is {other.state}.")
        return
    wanted = {(a["topic"], a["partition"]) for a in params["assignments"]}
    for other in active:
        if params.get("throttle") and other.params.get("throttle"):
            raise Conflict(f"Job {other.pk} throttles brokers and is {other.state}: one throttle at a time, or one would undo the other.")
        for taken in other.params["assignments"]:
            if (taken["topic"], taken["partition"]) in wanted:
                raise Conflict(f"{taken['topic']}-{taken['partition']} is being moved by job {other.pk}, which is {other.state}.")


def cancel_job(actor: Actor, job: Job) -> Job:
    """Asks for the end; the worker brings it about. `Conflict` when the job is over."""
    with audited(actor, OPERATOR, f"cancel {job.kind}"[:60], str(job.pk), before={"state": job.state}):
        with transaction.atomic():
            fresh = Job.objects.select_for_update().get(pk=job.pk)
            if not fresh.active:
                raise Conflict(f"Job {job.pk} has {fresh.state} already.")
            fresh.cancel_requested, fresh.state = True, Job.CANCELLING
            fresh.save(update_fields=["cancel_requested", "state"])
            transaction.on_commit(lambda: _announce(fresh))
        return fresh
