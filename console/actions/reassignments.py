"""Moves of replicas that are under way, whoever began them, their end before they are over, and jobs that take them over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from console.actions.audit import audited
from console.actions.jobs import create_job
from console.errors import Conflict, Invalid
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.reassignment import ASSIGNMENTS_LIMIT
from console.models import Cluster, Job
from console.roles import OPERATOR, Actor
from console.rules.words import whole

PLACES_MAX = 1_000
KIND = "reassignment"


class Move(Struct):
    """`replicas` are all that there are meanwhile, those being added among them."""

    topic: str
    partition: int
    replicas: list[int]
    adding: list[int]
    removing: list[int]
    job: Annotated[int | None, Meta(description="the job of this console that moves it; null: somebody else began it")]

    @property
    def then(self) -> list[int]:
        """The replicas once it is over."""
        return [broker for broker in self.replicas if broker not in self.removing]

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition


class Ended(Struct):
    """`error`: why its move goes on."""

    topic: str
    partition: int
    error: str | None


def moves_under_way(cluster: Cluster) -> list[Move]:
    """As the controller says at this moment, by topic and partition."""
    jobs = _jobs(cluster)
    found = KafkaCluster(connection_of(cluster)).reassignments()
    return [
        Move(*place, list(move["replicas"]), list(move["adding_replicas"]), list(move["removing_replicas"]), jobs.get(place))
        for place, move in sorted(found.items())
    ]


def adoption(cluster: Cluster, places: Sequence[tuple[str, int]] | None) -> list[Move]:
    """The moves that a job would take over: these, or, where none is named, the first `ASSIGNMENTS_LIMIT` that somebody else began.
    `Conflict` where a job of ours is at one."""
    if places is None:
        others = [move for move in moves_under_way(cluster) if move.job is None][:ASSIGNMENTS_LIMIT]
        if not others:
            raise Conflict("Nothing is being moved that is no job of this console already.")
        return others
    return _of_others(cluster, places, "it sees to it already")


def adopt_moves(actor: Actor, cluster: Cluster, moves: Sequence[Move], pace: Mapping[str, Any]) -> Job:
    """A job that sees these moves (`adoption`) to the end that they have: with progress, a throttle where `pace` has one, and a cancel that
    takes them back. Nothing is asked of the controller that it does not do already."""
    rows = [{"topic": move.topic, "partition": move.partition, "replicas": move.then} for move in moves]
    return create_job(actor, cluster, KIND, {"assignments": rows, **pace}, why="Takes over moves that somebody else began.")


def _jobs(cluster: Cluster) -> dict[tuple[str, int], int]:
    rows = Job.objects.filter(cluster=cluster, kind=KIND, state__in=Job.ACTIVE).values_list("id", "params")
    return {(row["topic"], row["partition"]): number for number, params in rows for row in params["assignments"]}


def plan_cancellation(cluster: Cluster, places: Sequence[tuple[str, int]]) -> list[Move]:
    """The moves that would end; `Conflict` where a job of ours is at one, since it would begin it again."""
    return _of_others(cluster, places, "cancel that")


def _of_others(cluster: Cluster, places: Sequence[tuple[str, int]], advice: str) -> list[Move]:
    """`Conflict` with `advice` where a job of ours is at one."""
    if not 1 <= len(places) <= PLACES_MAX:
        raise Invalid("partitions", f"Name 1 to {whole(PLACES_MAX)} partitions.")
    moving = {move.place: move for move in moves_under_way(cluster)}
    for topic, partition in places:
        if (topic, partition) not in moving:
            raise Invalid("partitions", f"{topic}-{partition} is not being moved.")
    found = [moving[place] for place in dict.fromkeys(places)]
    ours = next((move for move in found if move.job is not None), None)
    if ours is not None:
        raise Conflict(f"{ours.topic}-{ours.partition} is being moved by job {ours.job}: {advice}.")
    return found


def cancel_moves(actor: Actor, cluster: Cluster, places: Sequence[tuple[str, int]]) -> list[Ended]:
    """Replicas being added are dropped again, each partition keeps those that it had. A refusal stops no other."""
    target = ", ".join(f"{topic}-{partition}" for topic, partition in places[:20])
    with audited(actor, OPERATOR, "cancel moves", target, cluster=cluster) as entry:
        moves = plan_cancellation(cluster, places)
        entry.before = {f"{move.topic}-{move.partition}": move.adding for move in moves}
        refused = KafkaCluster(connection_of(cluster)).reassign(dict.fromkeys((move.place for move in moves), None))
        entry.after = {"refused": {f"{topic}-{number}": error for (topic, number), error in refused.items() if error}}
    return [Ended(*move.place, refused.get(move.place)) for move in moves]
