"""More partitions for several topics, and their preferred leaders elected: what it would do, and doing it."""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.contract.partitions import Topic
from console.actions.audit import judge_change
from console.actions.jobs import create_job
from console.actions.topics import PARTITIONS_LIMIT, add_partitions, preview_growth, replicas_by_broker, replicas_warn
from console.actions.topics_bulk import Change, Plan, Result, each, known, phrase
from console.errors import Invalid
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.election import Election
from console.models import Cluster, Job
from console.roles import OPERATOR, Actor
from console.rules.load import load_after, load_risks
from console.rules.partitions import not_preferred
from console.rules.words import counted, whole
from console.snapshot.read import Snapshot

COUNTED_MOST = 5_000
"""Partitions of one request that are looked at, to say how many leaders would move."""
KEYS_MOVE = "Records with a key may go to another partition than before, so that their order over the change is lost for readers."


def plan_growth(actor: Actor, cluster: Cluster, names: Sequence[str], total: int) -> Plan:
    """Each topic gets `total` partitions. The brokers check each without doing it."""
    judge_change(actor, OPERATOR, "add partitions", phrase(names), cluster)
    _check(total)
    topics = known(cluster, names)
    changes = [_growth(cluster, topic, total) for topic in topics]
    added = sum(total - (topic.partitions or 0) for topic, one in zip(topics, changes, strict=True) if not one.error)
    grown = sum(not one.error for one in changes)
    sentence = f"{counted(grown, 'topic')} would get {counted(added, 'partition')} more in all. Partitions cannot be taken away again."
    return Plan(sentence, topics, changes, risks=(KEYS_MOVE, *_load(cluster, topics, changes, total)) if grown else ())


def _growth(cluster: Cluster, topic: Topic, total: int) -> Change:
    before, error = None if topic.partitions is None else str(topic.partitions), ""
    try:
        preview_growth(cluster, topic.topic, total)
    except (GatewayError, Invalid) as refused:
        error = refused.detail if isinstance(refused, Invalid) else str(refused)
    return Change(topic.topic, before, str(total), (), error)


def _load(cluster: Cluster, topics: Sequence[Topic], changes: Sequence[Change], total: int) -> list[str]:
    """Of all of them together."""
    wanted = [topic for topic, one in zip(topics, changes, strict=True) if not one.error]
    copies = sum((total - (topic.partitions or 0)) * (topic.replication_factor or 1) for topic in wanted)
    now = replicas_by_broker(cluster, KafkaCluster(connection_of(cluster)))
    return load_risks("All of it together", load_after(now, copies, 1), replicas_warn())


def _check(total: int) -> None:
    if not 1 <= total <= PARTITIONS_LIMIT:
        raise Invalid("count", f"Give 1 to {whole(PARTITIONS_LIMIT)} partitions.")


def grow_topics(actor: Actor, cluster: Cluster, names: Sequence[str], total: int) -> list[Result]:
    """The plan has told the risks, so they are taken."""
    judge_change(actor, OPERATOR, "add partitions", phrase(names), cluster)
    _check(total)
    now = {topic.topic: topic.partitions for topic in known(cluster, names)}

    def grow(name: str) -> Result:
        job = add_partitions(actor, cluster, name, total, now[name], confirm=True)
        return Result(name, "done", f"has {counted(total, 'partition')}", None if job is None else job.pk)

    return each(names, grow)


def plan_election(actor: Actor, cluster: Cluster, names: Sequence[str]) -> Plan:
    """How many leaders of each topic would move, as last seen."""
    judge_change(actor, OPERATOR, "elect preferred leaders", phrase(names), cluster)
    topics, snapshot = known(cluster, names), Snapshot(cluster.pk)
    left, changes = COUNTED_MOST, []
    for topic in topics:
        many = topic.partitions or 0
        moving = _moving(snapshot, topic.topic, many) if many <= left else None
        left -= many if moving is not None else 0
        changes.append(Change(topic.topic, str(many), None if moving is None else str(moving), ()))
    sentence = f"One job asks for the preferred leader of each partition of {counted(len(topics), 'topic')}. Nothing is lost."
    return Plan(sentence, topics, changes)


def _moving(snapshot: Snapshot, topic: str, many: int) -> int:
    """Partitions led by another than their preferred replica, where that one is in sync."""
    rows = snapshot.partitions(topic, 0, many - 1) if many else []
    return sum(not_preferred(row.leader, row.assignment) and row.assignment[0] in row.isr for row in rows)


def elect_topics(actor: Actor, cluster: Cluster, names: Sequence[str]) -> Job:
    return create_job(actor, cluster, Election.name, {"topics": list(names)})
