"""Clusters and their events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Router, Status
from pydantic import Field

from broker_core.contract import live
from broker_core.contract.moments import Differences, Kept, Track
from broker_core.contract.sentences import KeptEvent
from console import queries
from console.actions.clusters import change, delete, register, test
from console.api.answers import Cluster as ClusterAnswer
from console.api.answers import Listed, read
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import ClusterChange, ClusterTrial, EventText, Limit, Moment, NewCluster, Number, listed, number_cursor, text_cursor
from console.models import Cluster, Event
from console.roles import ADMIN
from console.rules.trial import Trial
from console.snapshot.read import Snapshot
from console.topology.chosen import focus_of
from console.topology.chosen import topology as chosen
from console.topology.model import Topology

router = Router(tags=["clusters"])
Tracked = Literal["group", "topic", "broker"]
TrackedName = Annotated[str, Field(min_length=1, max_length=queries.NAME_MAX)]
Minutes = Annotated[int, Field(ge=1, le=7 * 1440)]
TrackMost = Annotated[int, Field(ge=1, le=500, description="Samples of the answer: the last of so many equal parts of the time")]
FocusText = Annotated[str, Field(max_length=queries.NAME_MAX, description="topic:orders, broker:2 or group:billing")]
TopicText = Annotated[str, Field(max_length=249, description="A part of the topics' names, in any case of letters")]
SHOWN = (
    *("name", "bootstrap_servers", "is_local", "read_only", "colour", "zookeeper"),
    *("security_protocol", "sasl_mechanism", "sasl_username", "check_hostname"),
)


@router.get("/clusters")
@answers(Listed[ClusterAnswer])
def clusters(request: Any, limit: Limit = 100, cursor: str | None = None) -> Listed[ClusterAnswer]:
    found = Cluster.objects.filter(pk__gt=text_cursor(cursor)).order_by("pk")[: limit + 1]
    return listed([_answer(one) for one in found], limit, lambda one: one.id)


@router.post("/clusters", auth=Bearer(ADMIN, "register cluster"), response={201: Any})
@answers(s201=ClusterAnswer)
def create(request: Any, payload: NewCluster) -> Status[Any]:
    """Another cluster to look at and to manage. Its pages are at `/c/<id>`."""
    given = payload.dict(exclude_unset=True)
    return Status(201, _answer(register(request.auth, given.pop("id"), given)))


@router.post("/clusters/test", auth=Bearer(ADMIN, "test cluster"))
@answers(Trial)
def trial(request: Any, payload: ClusterTrial) -> Trial:
    """Asks the servers as they would be asked, and registers nothing; takes up to 10 s. That it fails is an answer, too: `ok` is false."""
    given = payload.dict(exclude_unset=True)
    name = given.pop("id", "")
    return test(request.auth, queries.cluster_of(name) if name else None, given)


@router.get("/clusters/{cluster_id}")
@answers(ClusterAnswer)
def cluster(request: Any, cluster_id: str) -> ClusterAnswer:
    """All that is read under `/clusters/local` is read as it was at a moment of the past under `/clusters/local@1763882590000` (ms since
    1970), where `history` says that this was recorded."""
    return _answer(queries.cluster_at(cluster_id))


@router.patch("/clusters/{cluster_id}", auth=Bearer(ADMIN, "change cluster"))
@answers(ClusterAnswer)
def update(request: Any, cluster_id: str, payload: ClusterChange) -> ClusterAnswer:
    """What is left out stays; the password must come along where it would be given to another server."""
    return _answer(change(request.auth, queries.cluster_of(cluster_id), payload.dict(exclude_unset=True)))


@router.delete("/clusters/{cluster_id}", auth=Bearer(ADMIN, "delete cluster"), response={204: None})
@answers(s204=None)
def remove(request: Any, cluster_id: str) -> HttpResponse:
    """Its registration, with the events, jobs and reports kept of it; the cluster itself is not touched."""
    delete(request.auth, queries.cluster_of(cluster_id), confirm=cluster_id)
    return HttpResponse(status=204)


def _answer(cluster: Cluster) -> ClusterAnswer:
    """With what is known of it live; the figures are null while nothing was ever seen."""
    seen, as_of = queries.seen(cluster)
    own: dict[str, Any] = {name: getattr(cluster, name) for name in SHOWN}
    own |= {"has_secrets": bool(cluster.secrets), "kafka_id": cluster.kafka_id or None}
    return read(ClusterAnswer, seen or live.Cluster(id=cluster.pk), **own, as_of=as_of)


@router.get("/clusters/{cluster_id}/history")
@answers(Kept)
def history(request: Any, cluster_id: str) -> Kept:
    """Which stretch of the past can be looked at, and how finely it is kept."""
    return queries.kept(queries.cluster_of(cluster_id))


@router.get("/clusters/{cluster_id}/changes")
@answers(Differences)
def changes(request: Any, cluster_id: str, from_ms: Moment | None = None, to_ms: Moment | None = None) -> Differences:
    """What was otherwise at the second moment than at the first: states, not figures. The oldest that is kept and the
    newest where none are given."""
    return queries.changes(queries.cluster_of(cluster_id), from_ms, to_ms)


@router.get("/clusters/{cluster_id}/figures")
@answers(Track)
def figures(request: Any, cluster_id: str, *, kind: Tracked, name: TrackedName, minutes: Minutes = 60, most: TrackMost = 300) -> Track:
    """Of a group (`lag`, `lag_s`), a topic (`messages_per_s`, `size_bytes`, `lag`) or a broker (`bytes_in_per_s`, `bytes_out_per_s`,
    `messages_in_per_s`, `idle_percent`), by its name, over the last minutes. What is not known was not known then."""
    return queries.track(queries.cluster_at(cluster_id), kind, name, minutes=minutes, most=most)


@router.get("/clusters/{cluster_id}/topology")
@answers(Topology)
def topology(request: Any, cluster_id: str, *, focus: FocusText = "", q: TopicText = "") -> Topology:
    """At most 24 brokers, topics and groups, with what joins them: the worst first, then those with the most lag and traffic. `focus` is
    one thing of which only what it touches is told."""
    return chosen(Snapshot(queries.cluster_at(cluster_id).snapshot_id), focus_of(focus), q)


@router.get("/clusters/{cluster_id}/events")
@answers(Listed[KeptEvent])
def events(
    request: Any,
    cluster_id: str,
    *,
    limit: Limit = 100,
    cursor: str | None = None,
    text: EventText = "",
    kind: str = "",
    level: str = "",
    topic: str = "",
    partition: Number | None = None,
    broker: Number | None = None,
    group: str = "",
    from_ms: Moment | None = None,
    until_ms: Moment | None = None,
) -> Listed[KeptEvent]:
    """Newest first."""
    where = queries.cluster_at(cluster_id)
    queries.known_choice("kind", kind, queries.event_kinds(where) if kind else ())
    queries.known_choice("level", level, Event.LEVELS)
    query = queries.EventQuery(text, kind, level, topic, partition, broker, group, from_ms, until_ms)
    found = queries.events(where, query, before=number_cursor(cursor), count=limit + 1)
    return listed(found, limit, lambda e: str(e.id))
