"""Carries out topic deletions (the decisions are `topic_deletion`'s)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from broker_core.controller import topic_deletion
from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.partition_states import PartitionState
from broker_core.controller.replica_states import ReplicaState
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.znodes import Znodes
from broker_core.coordination.layout import deletion_path

log = logging.getLogger(__name__)

_SERVING = (ReplicaState.NEW, ReplicaState.ONLINE)
_STOPPED = (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)


class Deletions:
    """One term's topic deletions; `forget` is told of each topic whose znodes are about to go."""

    def __init__(
        self,
        context: ControllerContext,
        znodes: Znodes,
        changes: StateChanges,
        *,
        enabled: Callable[[], bool],
        forget: Callable[[str], None],
    ) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes
        self._enabled = enabled
        self._forget = forget

    async def enqueue(self, topics: Iterable[str]) -> None:
        """Orders found in the store: unknown topics' are removed, all of them where deletion is disabled."""
        wanted = sorted(topics)
        known = [topic for topic in wanted if topic in self._context.assignments and self._enabled()]
        refused = [topic for topic in wanted if topic not in known]
        if refused:
            log.warning("Orders to delete topics removed: %s (unknown, or delete.topic.enable is false)", refused)
            await self._znodes.store.delete_all([deletion_path(topic) for topic in refused])
        self._context.deleting.update(known)
        self.halt([topic for topic in known if self._context.has_moving(topic)], "a partition is being moved")

    def halt(self, topics: Iterable[str], reason: str) -> None:
        """Marks queued topics as not to be deleted for now."""
        halted = [topic for topic in topics if topic in self._context.deleting]
        self._context.ineligible.update(halted)
        if halted:
            log.info("Deletion of topics %s halted: %s", halted, reason)

    async def resume_for(self, topics: Iterable[str]) -> None:
        """Something that stood in the way of these topics' deletion is gone; a reassignment that still runs is not."""
        queued = [topic for topic in sorted(set(topics)) if topic in self._context.deleting and not self._context.has_moving(topic)]
        if queued:
            self._context.ineligible.difference_update(queued)
            await self.resume()

    async def replicas_failed(self, replicas: Sequence[Replica]) -> None:
        """Their brokers are gone, or answered with an error."""
        failed = [replica for replica in replicas if replica.topic in self._context.deleting]
        if failed:
            await self._changes.move_replicas(self._among(failed, _SERVING), ReplicaState.OFFLINE)
            await self._changes.move_replicas(self._among(failed, _STOPPED), ReplicaState.DELETION_INELIGIBLE)
            self.halt(sorted({replica.topic for replica in failed}), "replicas could not be deleted")
            await self.resume()

    async def replicas_deleted(self, replicas: Sequence[Replica]) -> None:
        """Their brokers said so."""
        deleted = self._among(replicas, (ReplicaState.DELETION_STARTED,))
        await self._changes.move_replicas(deleted, ReplicaState.DELETION_SUCCESSFUL)
        await self.resume()

    async def resume(self) -> None:
        """Finishes, retries and begins what can be."""
        plan = topic_deletion.plan(self._context)
        for topic in plan.finished:
            await self._finish(topic)
        if plan.retry:
            await self._changes.move_replicas(plan.retry, ReplicaState.OFFLINE)
        if plan.begin:
            await self._begin(plan.begin)

    def _among(self, replicas: Sequence[Replica], states: tuple[ReplicaState, ...]) -> list[Replica]:
        return [replica for replica in replicas if self._context.replica_state(replica) in states]

    async def _finish(self, topic: str) -> None:
        self._forget(topic)
        await self._znodes.delete_topic(topic)
        self._context.remove_topic(topic)
        log.info("Topic %s deleted", topic)

    async def _begin(self, topics: Sequence[str]) -> None:
        log.info("Deletion of topics %s begins", topics)
        unseen = topic_deletion.unseen_partitions(self._context, topics)
        await self._changes.move_partitions(unseen, PartitionState.OFFLINE)
        await self._changes.move_partitions(unseen, PartitionState.NON_EXISTENT)
        self._context.deletion_started.update(topics)
        self._changes.send_metadata(self._context.all_ids(), [tp for topic in topics for tp in self._context.partitions_of(topic)])
        dead, alive = topic_deletion.split_replicas(self._context, topics)
        await self._changes.move_replicas(self._among(dead, _SERVING), ReplicaState.OFFLINE)
        await self._changes.move_replicas(self._among(dead, _STOPPED), ReplicaState.DELETION_INELIGIBLE)
        await self._changes.move_replicas(alive, ReplicaState.OFFLINE)
        await self._changes.move_replicas(alive, ReplicaState.DELETION_STARTED)
        self.halt(sorted({replica.topic for replica in dead}), "a replica's broker is down")
