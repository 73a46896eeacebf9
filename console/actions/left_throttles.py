"""Throttles of replication that were left set: found, and taken back where nothing under way uses them.

A broker's own rates and a topic's own lists are looked at; a rate that is set for all brokers at once is nobody's in particular, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from broker_core.contract.partitions import Topic
from console.actions.audit import audited
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster, Job
from console.roles import OPERATOR, Actor
from console.rules.throttle import LISTS, RATES
from console.snapshot.read import Snapshot

KIND = "reassignment"
AT_ONCE = 500
"""Topics that are read, or asked for, in one question."""
CLEARED_MAX = 200
"""Brokers and topics of one request, each of which is a change of its own."""
Owner = tuple[Literal["broker", "topic"], str]


class LeftThrottle(Struct):
    """`settings` with their present values; `in_use` says what uses them, so that they stay."""

    kind: Literal["broker", "topic"]
    name: str
    settings: dict[str, str]
    in_use: Annotated[str | None, Meta(description="why it stays: the job or the move that uses it; null: left behind")]


class ClearedThrottle(Struct):
    """What was taken back, with the values that it had; `error`: why it is set still."""

    kind: Literal["broker", "topic"]
    name: str
    settings: dict[str, str]
    error: str | None


def throttles_set(cluster: Cluster) -> list[LeftThrottle]:
    """Every throttle that is set, topics first: without their lists a rate has no effect."""
    kafka = KafkaCluster(connection_of(cluster))
    set_ = {("topic", name): own for name, own in _of_topics(kafka, Snapshot(cluster.pk))}
    for broker in sorted(kafka.brokers()):
        if own := _of(kafka.own_broker_configs(broker), RATES):
            set_["broker", str(broker)] = own
    if not set_:
        return []
    used, all_used = _used(cluster, kafka)
    return [LeftThrottle(kind, name, own, all_used or used.get((kind, name))) for (kind, name), own in set_.items()]  # type: ignore[arg-type]


def clear_left(actor: Actor, cluster: Cluster) -> list[ClearedThrottle]:
    """Takes back what nothing uses, `CLEARED_MAX` at most; a refusal stops no other."""
    with audited(actor, OPERATOR, "clear throttles left behind", cluster.pk, cluster=cluster) as entry:
        left = [one for one in throttles_set(cluster) if one.in_use is None][:CLEARED_MAX]
        entry.before = {f"{one.kind} {one.name}": one.settings for one in left}
        kafka = KafkaCluster(connection_of(cluster))
        cleared = [ClearedThrottle(one.kind, one.name, one.settings, _clear(kafka, one)) for one in left]
        entry.after = {"refused": {f"{one.kind} {one.name}": one.error for one in cleared if one.error}}
    return cleared


def _clear(kafka: KafkaCluster, one: LeftThrottle) -> str | None:
    gone = dict.fromkeys(one.settings)
    try:
        if one.kind == "broker":
            kafka.alter_broker_config(int(one.name), gone)
        else:
            kafka.alter_topic_config(one.name, gone)
    except GatewayError as error:
        return str(error)
    return None


def _of_topics(kafka: KafkaCluster, snapshot: Snapshot) -> Iterator[tuple[str, dict[str, str]]]:
    """The live snapshot says which topics have such settings; they, and those it does not know that of, are asked for."""
    names = snapshot.topic_names()
    for first in range(0, len(names), AT_ONCE):
        asked = [topic.topic for topic in snapshot.topics(names[first : first + AT_ONCE]) if _may_have(topic)]
        found = kafka.own_topic_configs(asked) if asked else {}
        yield from ((name, own) for name in asked if (own := _of(found.get(name, {}), LISTS)))


def _may_have(topic: Topic) -> bool:
    return topic.own_settings is None or bool(_of(topic.own_settings, LISTS))


def _of(own: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: own[name] for name in names if own.get(name)}


def _used(cluster: Cluster, kafka: KafkaCluster) -> tuple[dict[tuple[str, str], str], str]:
    """By what each is used; the second where a job has not written down yet which it will use. Jobs are looked at after moves: one that has
    asked for its moves has written down its throttle before."""
    used: dict[tuple[str, str], str] = {}
    for (topic, partition), move in sorted(kafka.reassignments().items()):
        said = f"{topic}-{partition} is being moved"
        used |= {("topic", topic): said} | {("broker", str(broker)): said for broker in move["replicas"]}
    rows = Job.objects.filter(cluster=cluster, kind=KIND, state__in=Job.ACTIVE).values_list("pk", "step", "params", "plan")
    for number, step, params, plan in rows:
        if not params.get("throttle"):
            continue
        if step == "start":
            return used, f"job {number} is about to set a throttle"
        if throttle := (plan or {}).get("throttle"):
            said = f"job {number} has set it"
            used |= {("broker", broker): said for broker in throttle["before"]} | {("topic", topic): said for topic in throttle["topics"]}
    return used, ""
