"""Carries out reassignments (the decisions are `reassignment`'s, with the phases explained there)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from broker_core.controller.context import ControllerContext, Leadership, Replica
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.reassignment import ReplicaAssignment, completed_state, requested, start_state
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.store.znodes import Znodes
from broker_core.controller.topic_deletion_manager import TopicDeletionManager
from broker_core.coordination.layout import REASSIGN_PARTITIONS
from broker_core.coordination.store import BadVersion, Delete, NoNode, SetData, StoreError, TooLarge, Watcher
from broker_core.coordination.znode_data import decode_reassignment, encode_reassignment
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import NO_LEADER, TopicPartition

log = logging.getLogger(__name__)

Outcome = tuple[ErrorCode, str | None]


class Reassignments:
    """One term's reassignments; `watch_state` makes the watch on such a partition's state."""

    def __init__(
        self,
        context: ControllerContext,
        znodes: Znodes,
        changes: StateChanges,
        deletions: TopicDeletionManager,
        watch_state: Callable[[TopicPartition], Watcher],
    ) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes
        self._deletions = deletions
        self._watch_state = watch_state

    async def alter(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, Outcome]:
        """Starts, changes or (None) cancels; a request through the API replaces one through the znode."""
        assignments: dict[TopicPartition, ReplicaAssignment] = {}
        outcomes: dict[TopicPartition, Outcome] = {}
        for tp, target in wanted.items():
            try:
                assignments[tp] = self._requested(tp, target)
            except KafkaError as error:
                outcomes[tp] = (error.code, error.message)
        await self._drop_from_znode(lambda tp, _: tp in assignments)
        for tp, assignment in assignments.items():
            outcomes[tp] = await self._try(tp, assignment)
        return {tp: outcomes[tp] for tp in wanted}

    async def from_znode(self, watch: Watcher) -> list[TopicPartition]:
        """Begins what `/admin/reassign_partitions` asks for and is not under way; refused entries are taken out of it."""
        entries = await self._read_znode(watch)
        wanted = {
            tp: target
            for tp, target in entries.items()
            if tp not in self._context.being_reassigned or self._context.assignment(tp).target != target
        }
        refused: set[TopicPartition] = set()
        for tp, target in wanted.items():
            try:
                outcome = await self._try(tp, self._requested(tp, target))
            except KafkaError as error:
                outcome = (error.code, error.message)
            if outcome[0] is not ErrorCode.NONE:
                log.warning("Reassignment of %s through %s refused: %s", tp, REASSIGN_PARTITIONS, outcome[1])
                refused.add(tp)
        if refused:
            await self._drop_from_znode(lambda tp, _: tp in refused)
        return [tp for tp in wanted if tp not in refused]

    async def resume(self, which: Callable[[TopicPartition, ReplicaAssignment], bool]) -> None:
        """Takes up those that a former controller began, or that waited for a broker."""
        for tp in sorted(self._context.being_reassigned):
            assignment = self._context.assignment(tp)
            if which(tp, assignment):
                code, message = await self._try(tp, assignment)
                if code is not ErrorCode.NONE:
                    log.warning("Reassignment of %s waits: %s", tp, message)

    async def check(self, tp: TopicPartition) -> None:
        """The ISR of a partition that is being reassigned has changed: completes the reassignment if it can be."""
        if tp in self._context.being_reassigned:
            await self._znodes.state(tp, self._watch_state(tp))
            try:
                await self._complete(tp, self._context.assignment(tp), ())
            except KafkaError as error:
                log.warning("Reassignment of %s waits: %s", tp, error.message)

    def _requested(self, tp: TopicPartition, target: Sequence[int] | None) -> ReplicaAssignment:
        if tp.topic in self._context.queued_for_deletion and target is not None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if tp in self._context.uncreated or tp in self._context.withheld:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition is being created.")
        return requested(self._context.assignment(tp), target, self._context.is_live)

    async def _try(self, tp: TopicPartition, assignment: ReplicaAssignment) -> Outcome:
        try:
            await self._reassign(tp, assignment)
        except KafkaError as error:
            return error.code, error.message
        return ErrorCode.NONE, None

    async def _reassign(self, tp: TopicPartition, wanted: ReplicaAssignment) -> None:
        self._deletions.mark_ineligible([tp.topic], "a partition is being reassigned")
        current = self._context.assignment(tp)
        if wanted != current:
            # Before anybody is told: a controller that ends after this line leaves its successor all it needs to go on.
            await self._persist(tp, wanted)
            self._context.set_assignment(tp, wanted)
        self._context.being_reassigned.add(tp)
        if self._context.partition_state(tp) is PartitionState.NEW:
            await self._changes.move_partitions([tp], PartitionState.ONLINE)
        unneeded = tuple(replica for replica in current.replicas if replica not in wanted.replicas)
        await self._znodes.state(tp, self._watch_state(tp))
        if not await self._complete(tp, wanted, unneeded):
            await self._start(tp, wanted, unneeded)

    async def _start(self, tp: TopicPartition, assignment: ReplicaAssignment, unneeded: tuple[int, ...]) -> None:
        """Phase A."""
        leadership = await self._changes.rewrite(tp, lambda state: start_state(assignment, state, self._online(tp)))
        assert leadership is not None, "start_state never declines"
        for replica in self._replicas(tp, assignment.adding):
            self._context.replica_states.setdefault(replica, ReplicaState.NEW)
        self._note_leader(tp, leadership)
        batch = self._changes.batch()
        batch.leader_and_isr(assignment.origin, tp, leadership, assignment)
        batch.leader_and_isr(assignment.adding, tp, leadership, assignment, is_new=True)
        self._changes.send(batch)
        await self._stop(tp, unneeded)
        log.info("Reassignment of %s to %s began", tp, assignment.target)

    async def _complete(self, tp: TopicPartition, assignment: ReplicaAssignment, unneeded: tuple[int, ...]) -> bool:
        """Phase B, if its time has come."""
        leadership = await self._changes.rewrite(tp, lambda state: completed_state(assignment, state, self._online(tp)))
        if leadership is None:
            return False
        for replica in self._replicas(tp, assignment.adding):
            self._context.replica_states[replica] = ReplicaState.ONLINE
        done = ReplicaAssignment(assignment.target)
        self._context.set_assignment(tp, done)
        self._note_leader(tp, leadership)
        batch = self._changes.batch()
        batch.leader_and_isr(done.replicas, tp, leadership, done)
        self._changes.send(batch)
        # The assignment last: until then the replicas to remove are in it, and a successor that finds the reassignment unfinished stops
        # and deletes them again. The other way round nobody would know of them, and their logs would stay for ever.
        await self._stop(tp, (*assignment.removing, *unneeded))
        await self._persist(tp, done)
        self._context.being_reassigned.discard(tp)
        await self._drop_from_znode(lambda other, target: other == tp and target == done.replicas)
        await self._changes.send_metadata(self._context.all_ids(), [tp])
        log.info("Reassignment of %s to %s completed", tp, done.replicas)
        await self._deletions.resume_deletions_of([tp.topic])
        return True

    def _note_leader(self, tp: TopicPartition, leadership: Leadership) -> None:
        led = leadership.state.leader != NO_LEADER
        self._context.partition_states[tp] = PartitionState.ONLINE if led else PartitionState.OFFLINE

    async def _stop(self, tp: TopicPartition, brokers: Sequence[int]) -> None:
        """Stops and deletes replicas that are no longer wanted; whether that works is not waited for, as in Kafka."""
        replicas = self._replicas(tp, brokers)
        for target in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            await self._changes.move_replicas(replicas, target)

    def _replicas(self, tp: TopicPartition, brokers: Sequence[int]) -> list[Replica]:
        return [Replica(tp.topic, tp.partition, broker_id) for broker_id in brokers]

    def _online(self, tp: TopicPartition) -> Callable[[int], bool]:
        return lambda broker_id: self._context.is_online(broker_id, tp)

    async def _persist(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Writes one partition's assignment; the topic's others stay as the store has them."""
        while True:
            topic = await self._znodes.topic(tp.topic)
            if topic is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic of {tp} does not exist.")
            try:
                await self._znodes.write_topic(tp.topic, topic.topic_id, {**topic.assignments, tp.partition: assignment}, topic.version)
                return
            except TooLarge as error:
                raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, str(error)) from None
            except BadVersion:
                log.debug("The assignment of %s changed meanwhile, read again", tp.topic)

    async def _read_znode(self, watch: Watcher | None = None) -> dict[TopicPartition, tuple[int, ...]]:
        if await self._znodes.store.exists(REASSIGN_PARTITIONS, watch) is None:
            return {}
        read = await self._znodes.store.get(REASSIGN_PARTITIONS)
        try:
            return {} if read is None else decode_reassignment(read[0])
        except StoreError as error:
            log.error("Reassignment refused: %s", error)
            await self._znodes.store.delete_all([REASSIGN_PARTITIONS])
            return {}

    async def _drop_from_znode(self, done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> None:
        """Takes entries out of the znode, and the znode away with the last; its watch stays."""
        stat = await self._znodes.store.exists(REASSIGN_PARTITIONS)
        if stat is None:
            return
        wanted = await self._read_znode()
        left = {tp: target for tp, target in wanted.items() if not done(tp, target)}
        if left == wanted and wanted:
            return
        change = SetData(REASSIGN_PARTITIONS, encode_reassignment(left)) if left else Delete(REASSIGN_PARTITIONS)
        try:
            await self._znodes.store.write([change])
        except NoNode:
            log.info("%s was removed meanwhile", REASSIGN_PARTITIONS)
