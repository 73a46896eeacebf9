"""What the active controller does when brokers come, go, come back, shut down or answer (spec Z4, Z5)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from broker_core.controller.channels.channel_manager import ControllerChannelManager
from broker_core.controller.channels.requests import LEADER_AND_ISR_KEY, STOP_REPLICA_KEY, ControlRequest
from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.deciders.election import Strategy
from broker_core.controller.deciders.membership import compare
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.controller.reassignments import Reassignments
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.topic_deletion_manager import TopicDeletionManager
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import BrokerInfo, LeaderAndIsr, TopicPartition
from broker_core.protocol.codec import field

log = logging.getLogger(__name__)

UNKNOWN_BROKER_EPOCH = -1


class Brokers:
    """One term's dealings with brokers."""

    def __init__(
        self,
        context: ControllerContext,
        changes: StateChanges,
        deletions: TopicDeletionManager,
        reassignments: Reassignments,
        channels: ControllerChannelManager,
    ) -> None:
        self._context = context
        self._changes = changes
        self._deletions = deletions
        self._reassignments = reassignments
        self._channels = channels

    async def registered(self, brokers: dict[int, BrokerInfo]) -> None:
        """The registrations as they are now; a bounced broker failed and then started. A renewed one kept its roles and its records; what
        was sent to its last registration may be lost, so it is told everything again."""
        context = self._context
        change = compare(context.brokers, brokers)
        if not change:
            return
        log.info(
            "Brokers started: %s, bounced: %s, renewed: %s, failed: %s, moved: %s",
            *(change.started, change.bounced, change.renewed, change.failed, change.moved),
        )
        for broker_id in change.failed:
            self._channels.close(broker_id)
        for broker_id in (*change.started, *change.bounced, *change.renewed):
            self._channels.open(brokers[broker_id])
        if change.started:
            self._know(change.started, brokers)
            await self._started(change.started)
        if change.bounced:
            await self._failed(change.bounced)
            self._know(change.bounced, brokers)
            await self._started(change.bounced)
        if change.renewed:
            self._know(change.renewed, brokers)
            await self._halt_deletions(context.replicas_on(change.renewed))
            await self._started(change.renewed)
        if change.failed:
            await self._failed(change.failed)
        if change.moved:
            self._know(change.moved, brokers)
            await self._changes.send_metadata(context.all_ids(), ())

    async def log_dirs_failed(self, broker_ids: Sequence[int]) -> None:
        """Asks the brokers about all their replicas again; their answers tell which are offline."""
        await self._tell_served(self._context.replicas_on(broker_ids))

    async def shut_down(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Takes leadership and ISR membership away from a broker that wants to stop; what it still leads."""
        context = self._context
        if broker_id not in context.brokers:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"Broker id {broker_id} does not exist.")
        known = context.brokers[broker_id].epoch
        if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < known:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} asked with epoch {broker_epoch}, it has {known} now.")
        context.shutting_down.add(broker_id)
        partitions = [
            tp
            for tp in context.partitions_with_leadership()
            if len(context.assignment(tp).replicas) > 1 and broker_id in context.assignment(tp).replicas
        ]
        led = dict.fromkeys(tp for tp in partitions if context.leadership[tp].state.leader == broker_id)
        await self._changes.move_partitions(led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
        followed = [Replica(tp.topic, tp.partition, broker_id) for tp in partitions if tp not in led]
        await self._changes.move_replicas(followed, ReplicaState.OFFLINE)
        return context.still_led_by(broker_id)

    async def answered(self, request: ControlRequest, response: Any) -> None:
        """A broker's answer to this term's request of its present generation."""
        info = self._context.brokers.get(request.broker_id)
        if info is None or info.epoch != request.broker_epoch or request.controller_epoch != self._context.epoch:
            return
        error = int(response.error_code)
        if error != ErrorCode.NONE:
            log.warning("Broker %d answered request %d with %s", request.broker_id, request.api_key, ErrorCode(error).name)
        if request.api_key == LEADER_AND_ISR_KEY and error == ErrorCode.NONE:
            await self._replicas_answered(request.broker_id, response)
        elif request.api_key == STOP_REPLICA_KEY:
            await self._stop_answered(request, response, error)

    def _know(self, broker_ids: Sequence[int], brokers: Mapping[int, BrokerInfo]) -> None:
        self._context.brokers.update({broker_id: brokers[broker_id] for broker_id in broker_ids})

    async def _started(self, broker_ids: Sequence[int]) -> None:
        context = self._context
        others = [broker_id for broker_id in context.all_ids() if broker_id not in broker_ids]
        await self._changes.send_metadata(others, ())
        await self._changes.send_metadata(broker_ids, context.partitions())
        replicas = context.replicas_on(broker_ids)
        await self._tell_served(replicas)
        await self._changes.bring_online()
        await self._reassignments.resume(lambda _, assignment: any(broker_id in assignment.target for broker_id in broker_ids))
        await self._deletions.resume_deletions_of([replica.topic for replica in replicas])

    async def _tell_served(self, replicas: Sequence[Replica]) -> None:
        """Their roles, but for topics being deleted: those are told when their turn to be deleted comes."""
        deleted = self._context.topics_being_deleted()
        await self._changes.move_replicas([replica for replica in replicas if replica.topic not in deleted], ReplicaState.ONLINE)

    async def _failed(self, broker_ids: Sequence[int]) -> None:
        for broker_id in broker_ids:
            del self._context.brokers[broker_id]
            self._context.shutting_down.discard(broker_id)
            self._context.offline_dirs.pop(broker_id, None)
        await self._replicas_offline(self._context.replicas_on(broker_ids))

    async def _halt_deletions(self, replicas: Sequence[Replica]) -> None:
        await self._deletions.fail_replica_deletion([replica for replica in replicas if self._context.is_being_deleted(replica.topic)])

    async def _replicas_offline(self, replicas: Sequence[Replica]) -> None:
        """New leaders first, then out of the ISRs; deletions that wait for these replicas are halted."""
        context = self._context
        kept = [replica for replica in replicas if not context.is_being_deleted(replica.topic)]
        await self._changes.move_partitions(context.partitions_led_by_nobody(), PartitionState.OFFLINE)
        results = await self._changes.bring_online()
        await self._changes.move_replicas(kept, ReplicaState.OFFLINE)
        await self._halt_deletions(replicas)
        if not kept and not any(isinstance(result, LeaderAndIsr) for result in results.values()):
            await self._changes.send_metadata(context.all_ids(), ())

    async def _replicas_answered(self, broker_id: int, response: Any) -> None:
        """A replica whose folder failed is offline, one that answered well is not (any more)."""
        rows = self._answered_rows(response)
        known = self._context.offline_dirs.setdefault(broker_id, set())
        failed = [tp for tp, code in rows if code == ErrorCode.KAFKA_STORAGE_ERROR and tp not in known]
        healed = [tp for tp, code in rows if code == ErrorCode.NONE and tp in known]
        known.difference_update(healed)
        known.update(failed)
        if failed:
            log.warning("Broker %d cannot serve %s: their folder failed", broker_id, failed)
            await self._replicas_offline([Replica(tp.topic, tp.partition, broker_id) for tp in failed])
        if healed:
            log.warning("Broker %d serves %s again", broker_id, healed)
            await self._changes.bring_online()
            await self._changes.send_metadata(self._context.all_ids(), healed)

    def _answered_rows(self, response: Any) -> list[tuple[TopicPartition, int]]:
        """Partitions and their error codes; by topic ids since v5."""
        topics = field(response, "topics", None)
        if topics is None:
            return [(TopicPartition(row.topic_name, row.partition_index), int(row.error_code)) for row in response.partition_errors]
        named = [(name, topic) for topic in topics if (name := self._context.topic_names.get(topic.topic_id)) is not None]
        return [(TopicPartition(name, row.partition_index), int(row.error_code)) for name, topic in named for row in topic.partition_errors]

    async def _stop_answered(self, request: ControlRequest, response: Any, error: int) -> None:
        """Only deletions of topics are waited for."""
        asked = [tp for tp in request.deleted() if tp.topic in self._context.deletion_started]
        codes = {TopicPartition(row.topic_name, row.partition_index): int(row.error_code) for row in response.partition_errors}
        failed = [tp for tp in asked if error != ErrorCode.NONE or codes.get(tp, ErrorCode.NONE) != ErrorCode.NONE]
        await self._deletions.fail_replica_deletion([Replica(tp.topic, tp.partition, request.broker_id) for tp in failed])
        deleted = [Replica(tp.topic, tp.partition, request.broker_id) for tp in asked if tp not in failed]
        if deleted:
            await self._deletions.complete_replica_deletion(deleted)
