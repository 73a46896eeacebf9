"""Deleting topics: what may begin, what must wait, and what is done (kafka.controller.TopicDeletionManager).

A topic in `/admin/delete_topics` is *queued*. It is *ineligible* while one of its replicas is on a dead broker, answered
with an error, or one of its partitions is being reassigned. Each replica goes OFFLINE → DELETION_STARTED → SUCCESSFUL, or
INELIGIBLE and from there OFFLINE again at the next try. Only when all are SUCCESSFUL do the znodes go.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.model import TopicPartition


class DeletionPlan(Struct, frozen=True):
    """`finished` topics lose their znodes, `retry` replicas go OFFLINE again, deletion of `begin` topics (re)starts."""

    finished: tuple[str, ...]
    retry: tuple[Replica, ...]
    begin: tuple[str, ...]


def plan(context: ControllerContext) -> DeletionPlan:
    """What to do about the queued topics now."""
    queued = sorted(context.queued_for_deletion)
    finished = tuple(topic for topic in queued if context.all_deleted(topic))
    rest = [topic for topic in queued if topic not in finished]
    idle = [topic for topic in rest if not context.stopping.get(topic)]
    retry = tuple(replica for topic in idle for replica in context.in_state(topic, ReplicaState.DELETION_INELIGIBLE))
    return DeletionPlan(finished, retry, tuple(topic for topic in idle if topic not in context.ineligible_for_deletion))


def unseen_partitions(context: ControllerContext, topics: Iterable[str]) -> list[TopicPartition]:
    """Partitions of topics whose deletion begins for the first time."""
    return [tp for topic in topics if topic not in context.deletion_started for tp in context.partitions_of(topic)]


def split_replicas(context: ControllerContext, partitions: Iterable[TopicPartition]) -> tuple[list[Replica], list[Replica]]:
    """(dead, alive) replicas of the partitions; those already deleted are in neither when alive."""
    dead: list[Replica] = []
    alive: list[Replica] = []
    for replica in context.replicas_of(partitions):
        if not context.is_online(replica.broker_id, replica.tp):
            dead.append(replica)
        elif context.replica_state(replica) is not ReplicaState.DELETION_SUCCESSFUL:
            alive.append(replica)
    return dead, alive


def ineligible_at_start(context: ControllerContext) -> set[str]:
    """Queued topics that cannot be deleted yet: a replica is not online, or a partition is being reassigned."""
    reassigning = {tp.topic for tp in sorted(context.being_reassigned)}
    return {
        topic
        for topic in sorted(context.queued_for_deletion)
        if topic in reassigning or any(not context.is_online(r.broker_id, r.tp) for r in context.replicas_of_topic(topic))
    }
