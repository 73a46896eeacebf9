"""Topics and partitions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.http import HttpResponse
from ninja import Query, Router, Status

from broker_core.contract.log_look import LogLook
from broker_core.contract.partitions import Partition, Topic
from console import queries
from console.actions.elections import elect_unclean
from console.actions.settings import change_settings, preview_settings
from console.actions.topics import (
    add_partitions,
    check_topic,
    create_topic,
    delete_topic,
    preview_growth,
    preview_topic,
)
from console.api.answers import Job as JobAnswer
from console.api.answers import Listed, ListedLive, read
from console.api.bearer import Bearer
from console.api.described import answers, matching
from console.api.settings import tags_of
from console.api.shapes import (
    Limit,
    Moment,
    NewPartitions,
    NewTopic,
    Number,
    Place,
    TopicChange,
    TopicQuery,
    UncleanElectionAsked,
    listed_live,
    listed_names,
    number_cursor,
)
from console.api.topic_answers import Elected, TopicConfigs, TopicPlan, TopicSize, TopicWithConfigs
from console.gateway.errors import GatewayError
from console.listing import Wanted, names_after
from console.log_looks import look_at
from console.models import Cluster, job_value
from console.roles import ADMIN, OPERATOR
from console.rules.partitions import STARTING
from console.rules.settings.model import Owner
from console.snapshot.read import Snapshot

router = Router(tags=["topics"])
BEGUN: dict[Any, Any] = {200: Any, 202: Any}
NOT_SEEN = "The live feed has not told of it yet."
ONE = "/clusters/{cluster_id}/topics/{name}"


@router.get("/clusters/{cluster_id}/topics")
@answers(ListedLive[Topic])
def topics(request: Any, cluster_id: str, query: Query[TopicQuery], limit: Limit = 100, cursor: str | None = None) -> ListedLive[Topic]:
    """By name, those that the system made for itself last, or by `sort`. A cursor is of one order, and goes on after the row that it was
    made at wherever that is by now: a topic whose figures change while the list is walked may be met twice, or not at all."""
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    names, after = names_after(snapshot, Wanted(kind="topic", **query.dict()).checked(), cursor, limit)
    return listed_live(Listed(snapshot.topics(names), after), snapshot)


@router.post("/clusters/{cluster_id}/topics", auth=Bearer(OPERATOR, "create topic"), response=BEGUN | {201: Any})
@answers(s200=TopicPlan, s201=Topic, s202=JobAnswer)
def create(request: Any, cluster_id: str, payload: NewTopic) -> Status[Any]:
    """Partitions and replication_factor left out are the brokers' defaults; `validate_only` only asks whether it could be done. What
    gives brokers very many replicas wants `confirm`; 202 has the job that follows what the cluster has not finished yet."""
    cluster = queries.cluster_of(cluster_id)
    check_topic(payload.name, payload.partitions, payload.replication_factor)
    asked: dict[str, Any] = payload.dict(include={"partitions", "replication_factor", "configs"})
    if payload.validate_only:
        return Status(200, {"topic": payload.name, "changes": preview_topic(cluster, payload.name, **asked).rows})
    job = create_topic(request.auth, cluster, payload.name, **asked, confirm=payload.confirm)
    if job is not None:
        return Status(202, job_value(job))
    return Status(201, Snapshot(cluster.pk).topic(payload.name) or _unseen(payload.name))


def _unseen(name: str) -> Topic:
    """A topic that the live feed has not told of yet: nothing is known but its name."""
    fields: dict[str, Any] = dict.fromkeys(Topic.__struct_fields__)
    return Topic(**fields | {"topic": name, "internal": name.startswith("__"), "state": STARTING, "sentence": NOT_SEEN, "groups": 0})


@router.get(ONE)
@answers(TopicWithConfigs)
def topic(request: Any, cluster_id: str, name: str) -> TopicWithConfigs:
    """The topic with its settings (null when no broker answers), whose state the ETag stands for."""
    cluster = queries.cluster_at(cluster_id)
    snapshot = Snapshot(cluster.snapshot_id)
    topic = queries.topic_or_fail(snapshot, name)
    configs = _configs(cluster, name)
    request.etag = etag(configs)
    return read(TopicWithConfigs, topic, as_of=snapshot.as_of(), configs=configs)


def _configs(cluster: Cluster, name: str) -> list[dict[str, Any]] | None:
    """None where they cannot be had: of a moment of the past they are not kept."""
    try:
        return queries.topic_configs(cluster, name) if cluster.moment_ms is None else None
    except GatewayError:
        return None


@router.patch(ONE, auth=Bearer(OPERATOR, "change topic settings"))
@matching
@answers(TopicConfigs)
def change(request: Any, cluster_id: str, name: str, payload: TopicChange) -> dict[str, Any]:
    """Sets settings; null takes the topic's own value away. What puts records at risk wants `confirm`: without it
    422 with the field `confirm` says why."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        found = preview_settings(cluster, Owner("topic", name), payload.configs)
        changes = [{"label": one.label, "before": one.before, "after": one.after} for one in found.changes]
        return {"topic": name, "configs": _configs(cluster, name), "changes": changes, "risks": found.risks}
    change_settings(request.auth, cluster, Owner("topic", name), payload.configs, seen=tags_of(request), confirm=payload.confirm)
    configs = _configs(cluster, name)
    request.etag = etag(configs)
    return {"topic": name, "configs": configs, "changes": None, "risks": None}


def etag(configs: Sequence[Mapping[str, Any]] | None) -> str | None:
    """Of the topic's own settings, whatever the brokers' defaults are; None where they are not known."""
    if configs is None:
        return None
    own = sorted((row["name"], row["value"]) for row in configs if row["source"] == "topic")
    return f'"{hashlib.sha256(msgspec.json.encode(own)).hexdigest()[:32]}"'


@router.delete(ONE, auth=Bearer(ADMIN, "delete topic"), response={204: None, 202: Any})
@answers(s204=None, s202=JobAnswer)
def delete(request: Any, cluster_id: str, name: str) -> Status[Any] | HttpResponse:
    """202 has the job that follows a deletion which goes on."""
    job = delete_topic(request.auth, queries.cluster_of(cluster_id), name, confirm=name)
    return HttpResponse(status=204) if job is None else Status(202, job_value(job))


@router.get(ONE + "/partitions")
@answers(ListedLive[Partition])
def partitions(request: Any, cluster_id: str, name: str, limit: Limit = 100, cursor: str | None = None) -> ListedLive[Partition]:
    snapshot = Snapshot(queries.cluster_at(cluster_id).snapshot_id)
    total = queries.topic_or_fail(snapshot, name).partitions or 0
    after = number_cursor(cursor)
    first = 0 if after is None else after + 1
    numbers = range(first, min(first + limit + 1, total))
    return listed_live(listed_names(numbers, limit, lambda some: snapshot.some_partitions(name, some)), snapshot)


@router.post(ONE + "/partitions", auth=Bearer(OPERATOR, "add partitions"), response=BEGUN)
@answers(s200=TopicSize, s202=JobAnswer)
def grow(request: Any, cluster_id: str, name: str, payload: NewPartitions) -> Status[Any]:
    """`confirm` and 202 as at a topic's creation."""
    cluster = queries.cluster_of(cluster_id)
    if payload.dry_run:
        return Status(200, {"topic": name, "partitions": payload.count, "changes": preview_growth(cluster, name, payload.count)})
    topic = Snapshot(cluster.pk).topic(name)
    job = add_partitions(request.auth, cluster, name, payload.count, topic.partitions if topic else None, confirm=payload.confirm)
    return Status(200, TopicSize(name, payload.count)) if job is None else Status(202, job_value(job))


@router.post(ONE + "/unclean-election", auth=Bearer(ADMIN, "elect unclean leaders"))
@answers(Elected)
def unclean_election(request: Any, cluster_id: str, name: str, payload: UncleanElectionAsked) -> dict[str, Any]:
    """For every partition of the topic that has no leader: one that was not in sync leads, and acknowledged records that it does not have
    are lost. Without `confirm` 422 with the field `confirm` says what."""
    return elect_unclean(request.auth, queries.cluster_of(cluster_id), name, confirm=name if payload.confirm else None)


@router.get(ONE + "/partitions/{number}/log")
@answers(LogLook)
def log(
    request: Any,
    cluster_id: str,
    name: str,
    number: Number,
    *,
    broker: Number | None = None,
    offset: Place | None = None,
    at_ms: Moment | None = None,
    before: Place | None = None,
) -> LogLook:
    """How the log of one replica (the leader's, or that on `broker`) lies on disk: segments in pages, checkpoints, producers, and the way
    of a lookup of `offset` or `at_ms` as the broker has just gone it. Only brokers of the system's own cluster tell this."""
    where = queries.cluster_at(cluster_id)
    return look_at(where, name, number, broker=broker, offset=offset, at_ms=at_ms, before=before)
