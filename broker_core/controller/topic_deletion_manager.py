"""Carries out topic deletions (the decisions are `topic_deletion`'s).

A large topic is stopped and its znodes are removed slice by slice, as the brokers have room (`backlog`). Brokers that come, and all of
them when a controller takes office, are told of its replicas slice by slice as well: the topics that are served do not wait behind
thousands of partitions that go. Where a deletion has to wait, the roles end before the logs go: a follower would ask a leader that
was started anew, and was told of no role, again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from broker_core.controller import backlog as work
from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.deciders import topic_deletion
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.store.znodes import Znodes
from broker_core.coordination.layout import deletion_path
from broker_core.model import TopicPartition

log = logging.getLogger(__name__)

_SERVING = (ReplicaState.NEW, ReplicaState.ONLINE)
_ENDING = (*_SERVING, ReplicaState.OFFLINE)
_REST, _STOP, _REMOVE = "end the roles of deleted topics", "stop deleted topics", "remove deleted topics"
_STOPPED = (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)


class TopicDeletionManager:
    """One term's topic deletions; `forget` is told of each topic whose znodes are about to go."""

    def __init__(
        self,
        context: ControllerContext,
        znodes: Znodes,
        changes: StateChanges,
        backlog: work.Backlog,
        *,
        enabled: Callable[[], bool],
        forget: Callable[[str], None],
    ) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes
        self._backlog = backlog
        self._enabled = enabled
        self._forget = forget
        self._to_rest: list[Replica] = []
        self._to_stop: dict[str, list[TopicPartition]] = {}
        self._to_remove: dict[str, list[str]] = {}

    async def enqueue(self, topics: Iterable[str]) -> None:
        """Orders found in the store: unknown topics' are removed, all of them where deletion is disabled."""
        wanted = sorted(topics)
        known = [topic for topic in wanted if topic in self._context.assignments and self._enabled()]
        refused = [topic for topic in wanted if topic not in known]
        if refused:
            log.warning("Orders to delete topics removed: %s (unknown, or delete.topic.enable is false)", refused)
            await self._znodes.store.delete_all([deletion_path(topic) for topic in refused])
        self._context.queued_for_deletion.update(known)
        self.mark_ineligible([topic for topic in known if self._context.is_reassigning(topic)], "a partition is being reassigned")

    def mark_ineligible(self, topics: Iterable[str], reason: str) -> list[str]:
        """Marks queued topics as not to be deleted for now; those that were not before."""
        waiting = self._context.ineligible_for_deletion
        halted = [topic for topic in topics if topic in self._context.queued_for_deletion and topic not in waiting]
        self._context.ineligible_for_deletion.update(halted)
        if halted:
            log.info("Deletion of topics %s halted: %s", halted, reason)
        return halted

    def end_roles(self, replicas: Iterable[Replica]) -> None:
        """They are neither led nor followed any more, though their logs have to wait."""
        self._to_rest += replicas
        if self._to_rest:
            self._backlog.add(_REST, self._end_some_roles)

    async def resume_deletions_of(self, topics: Iterable[str]) -> None:
        """Something that stood in the way of these topics' deletion is gone; a reassignment that still runs is not."""
        queued = [
            topic for topic in sorted(set(topics)) if topic in self._context.queued_for_deletion and not self._context.is_reassigning(topic)
        ]
        if queued:
            self._context.ineligible_for_deletion.difference_update(queued)
            await self.resume_deletions()

    async def fail_replica_deletion(self, replicas: Sequence[Replica]) -> None:
        """Their brokers are gone, or answered with an error."""
        failed = [replica for replica in replicas if replica.topic in self._context.queued_for_deletion]
        if failed:
            await self._changes.move_replicas(self._among(failed, _SERVING), ReplicaState.OFFLINE)
            await self._changes.move_replicas(self._among(failed, _STOPPED), ReplicaState.DELETION_INELIGIBLE)
            self._halt({replica.topic for replica in failed}, "replicas could not be deleted")
            await self.resume_deletions()

    async def complete_replica_deletion(self, replicas: Sequence[Replica]) -> None:
        """Their brokers said so."""
        deleted = self._among(replicas, (ReplicaState.DELETION_STARTED,))
        await self._changes.move_replicas(deleted, ReplicaState.DELETION_SUCCESSFUL)
        if any(topic not in self._to_stop and not self._context.stopping.get(topic) for topic in sorted({each.topic for each in replicas})):
            await self.resume_deletions()

    async def resume_deletions(self) -> None:
        """Finishes, retries and begins what can be."""
        plan = topic_deletion.plan(self._context)
        for topic in plan.finished:
            if topic not in self._to_remove:
                await self._finish(topic)
        if plan.retry:
            await self._changes.move_replicas(plan.retry, ReplicaState.OFFLINE)
        begin = [topic for topic in plan.begin if topic not in self._to_stop]
        if begin:
            await self._begin(begin)

    def _among(self, replicas: Sequence[Replica], states: tuple[ReplicaState, ...]) -> list[Replica]:
        return [replica for replica in replicas if self._context.replica_state(replica) in states]

    async def _finish(self, topic: str) -> None:
        if len(self._context.assignments[topic]) > work.PARTITIONS_PER_SLICE:
            self._to_remove[topic] = await self._znodes.partition_names(topic)
            self._backlog.add(_REMOVE, self._remove_some)
        else:
            await self._remove(topic)

    async def _remove_some(self) -> bool:
        """Some of a topic's partitions' znodes, and when there are no more the topic's own."""
        topic, left = next(iter(self._to_remove.items()))
        await self._znodes.delete_partitions(topic, left[-work.PARTITIONS_PER_SLICE :])
        del left[-work.PARTITIONS_PER_SLICE :]
        if not left:
            del self._to_remove[topic]
            await self._remove(topic)
        return bool(self._to_remove)

    async def _remove(self, topic: str) -> None:
        # The znodes before the context: a write that fails, or an office that ends, leaves a topic whose deletion is taken up again.
        self._forget(topic)
        await self._znodes.delete_topic(topic)
        await self._changes.forget(self._context.partitions_of(topic))
        self._context.remove_topic(topic)
        log.info("Topic %s deleted", topic)

    async def _begin(self, topics: Sequence[str]) -> None:
        log.info("Deletion of topics %s begins", topics)
        await self._changes.take_up([tp for topic in topics for tp in self._context.partitions_of(topic) if tp in self._context.uncreated])
        unseen = topic_deletion.unseen_partitions(self._context, topics)
        await self._changes.move_partitions(unseen, PartitionState.OFFLINE)
        await self._changes.move_partitions(unseen, PartitionState.NON_EXISTENT)
        self._context.deletion_started.update(topics)
        # Clients hear that the topic goes before its replicas do: they would ask brokers for logs that have just been deleted.
        await self._changes.send_metadata(self._context.all_ids(), [tp for topic in topics for tp in self._context.partitions_of(topic)])
        for topic in topics:
            self._to_stop[topic] = self._context.partitions_of(topic)[::-1]
        if await self._stop_some():
            self._backlog.add(_STOP, self._stop_some)

    async def _stop_some(self) -> bool:
        """The next partitions' replicas are stopped and deleted; whether more are to be."""
        partitions: list[TopicPartition] = []
        while self._to_stop and len(partitions) < work.PARTITIONS_PER_STEP:
            topic, left = next(iter(self._to_stop.items()))
            if not self._context.is_being_deleted(topic):
                del self._to_stop[topic]
                continue
            partitions += left[: -work.PARTITIONS_PER_STEP - 1 : -1]
            del left[-work.PARTITIONS_PER_STEP :]
            if not left:
                del self._to_stop[topic]
        dead, alive = topic_deletion.split_replicas(self._context, partitions)
        await self._changes.move_replicas(self._among(dead, _SERVING), ReplicaState.OFFLINE)
        await self._changes.move_replicas(self._among(dead, _STOPPED), ReplicaState.DELETION_INELIGIBLE)
        # Who may have come back since is told of its replicas first, as of all others: one in a failed folder is not taken for deleted.
        await self._changes.tell_roles(self._among(alive, (ReplicaState.OFFLINE,)))
        await self._changes.move_replicas(alive, ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)
        self._halt({replica.topic for replica in dead}, "a replica's broker is down")
        return bool(self._to_stop)

    def _halt(self, topics: Iterable[str], reason: str) -> None:
        halted = self.mark_ineligible(sorted(topics), reason)
        self.end_roles(self._among([replica for topic in halted for replica in self._context.replicas_of_topic(topic)], _SERVING))

    async def _end_some_roles(self) -> bool:
        part, deleted = self._to_rest[: work.PARTITIONS_PER_SLICE], self._context.topics_being_deleted()
        del self._to_rest[: work.PARTITIONS_PER_SLICE]
        await self._changes.move_replicas([each for each in self._among(part, _ENDING) if each.topic in deleted], ReplicaState.OFFLINE)
        return bool(self._to_rest)
