"""Carries out state changes of partitions and replicas: read, decide (pure), write, tell the brokers.

A call on thousands of partitions works on a slice of them after the other, and lets other tasks run in between. All of a
slice's requests go out together at its end, after the store has been written. A state that changed between reading and
writing (the leader changes the ISR) is read and decided again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from broker_core.config import ConfigHolder, TopicConfig
from broker_core.controller.backlog import replica_slices, slices, topic_slices
from broker_core.controller.channels.requests import BrokerRequestBatch, ControlRequest
from broker_core.controller.context import ControllerContext, Leadership, Replica
from broker_core.controller.deciders import partition_states, replica_states
from broker_core.controller.deciders.election import Election, Strategy, elect, first_leader, has_live_in_sync_replica
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.replica_states import ReplicaState, without_replica
from broker_core.controller.store.znodes import Znodes
from broker_core.errors import ConfigError, ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.seams import Clock

T = TypeVar("T")

log = logging.getLogger(__name__)

ElectionResult = LeaderAndIsr | KafkaError
Decide = Callable[[LeaderAndIsr], LeaderAndIsr | None]


class StateChanges:
    """The two state machines of one term, over its context, store and channels."""

    def __init__(
        self,
        controller_id: int,
        context: ControllerContext,
        znodes: Znodes,
        config: ConfigHolder,
        send: Callable[[list[ControlRequest]], None],
        *,
        clock: Clock,
    ) -> None:
        self._controller_id = controller_id
        self._context = context
        self._znodes = znodes
        self._config = config
        self._protocol = config.static.inter_broker_protocol
        self._send = send
        self._clock = clock
        self.unclean_elections = 0

    def batch(self) -> BrokerRequestBatch:
        return BrokerRequestBatch(self._controller_id, self._context, self._protocol)

    def send(self, batch: BrokerRequestBatch) -> None:
        self._send(batch.build())

    async def send_metadata(self, brokers: Sequence[int], partitions: Sequence[TopicPartition]) -> None:
        """UpdateMetadata with the live brokers and those of these partitions that are told at all, topics as a whole; where there are none
        the brokers alone."""
        told = sorted((tp for tp in partitions if self._context.is_told(tp)), key=lambda tp: (self._context.rank(tp.topic), tp.partition))
        if not told:
            batch = self.batch()
            batch.update_metadata(brokers, ())
            self.send(batch)
        async for part in self.in_turns(topic_slices(told)):
            batch = self.batch()
            async for piece in self.in_turns(slices(part)):
                batch.update_metadata(brokers, piece)
            self.send(batch)

    async def move_partitions(
        self, partitions: Iterable[TopicPartition], target: PartitionState, strategy: Strategy = Strategy.OFFLINE, *, unclean: bool = False
    ) -> dict[TopicPartition, ElectionResult]:
        """Brings partitions into `target`; to ONLINE means an election, whose outcome is returned per partition."""
        results: dict[TopicPartition, ElectionResult] = {}
        async for part in self.in_turns(slices(list(partitions))):
            results.update(await self._move_partitions(part, target, strategy, unclean))
        return results

    async def _move_partitions(
        self, partitions: Sequence[TopicPartition], target: PartitionState, strategy: Strategy, unclean: bool
    ) -> dict[TopicPartition, ElectionResult]:
        context = self._context
        valid = [tp for tp in partitions if self._partition_may_become(tp, target)]
        if target is not PartitionState.ONLINE:
            context.partition_states.update(dict.fromkeys(valid, target))
            return {}
        batch = self.batch()
        new = [tp for tp in valid if context.partition_state(tp) is PartitionState.NEW]
        led = [tp for tp in valid if context.partition_state(tp) is not PartitionState.NEW]
        results = {**await self._initialise(new, batch), **await self._elect(led, strategy, unclean, batch)}
        for tp, result in results.items():
            if isinstance(result, LeaderAndIsr):
                context.partition_states[tp] = PartitionState.ONLINE
            else:
                log.warning("No leader for %s: %s", tp, result.message)
        self.send(batch)
        return results

    async def forget(self, partitions: Sequence[TopicPartition]) -> None:
        """Their topic is gone from the store."""
        async for part in self.in_turns(slices(partitions)):
            self._context.forget(part)

    async def take_up(self, partitions: Sequence[TopicPartition]) -> None:
        """New partitions and their replicas get a state: from now on they take part in everything."""
        for tp in partitions:
            self._context.uncreated.pop(tp, None)
        await self.move_partitions(partitions, PartitionState.NEW)
        await self.move_replicas(self._context.replicas_of(partitions), ReplicaState.NEW)

    async def create(self, partitions: Sequence[TopicPartition]) -> None:
        """New partitions get their first leaders. Metadata tells of them once all that is new of their topics is there."""
        self._context.withheld.update(dict.fromkeys(partitions))
        await self.take_up(partitions)
        await self.move_partitions(partitions, PartitionState.ONLINE)
        await self.move_replicas(self._context.replicas_of(partitions), ReplicaState.ONLINE)
        unfinished = {tp.topic for tp in self._context.uncreated}
        whole = [tp for tp in self._context.withheld if tp.topic not in unfinished]
        for tp in whole:
            del self._context.withheld[tp]
        if whole:
            await self.send_metadata(self._context.all_ids(), whole)

    async def bring_online(self, topic: str | None = None) -> dict[TopicPartition, ElectionResult]:
        """Tries to elect a leader for every new or offline partition (of one topic) that is not being deleted."""
        waiting = (PartitionState.NEW, PartitionState.OFFLINE)
        candidates = self._context.partitions() if topic is None else self._context.partitions_of(topic)
        wanted = [tp for tp in candidates if not self._context.is_being_deleted(tp.topic) and self._context.partition_state(tp) in waiting]
        return await self.move_partitions(wanted, PartitionState.ONLINE)

    async def move_replicas(self, replicas: Iterable[Replica], *targets: ReplicaState) -> None:
        """Brings replicas into each of the targets, one after the other, and tells the brokers concerned what all that comes to;
        impossible transitions are logged and left out."""
        async for part in self.in_turns(replica_slices(list(replicas))):
            batch = self.batch()
            for target in targets:
                await self._move_replicas(part, target, batch)
            self.send(batch)

    async def tell_roles(self, replicas: Iterable[Replica]) -> None:
        """Sends LeaderAndIsr as it stands, and no metadata: brokers have been told all of that."""
        async for part in self.in_turns(replica_slices(list(replicas))):
            batch = self.batch()
            for broker_id, tp, leadership in ((each.broker_id, each.tp, self._context.leadership.get(each.tp)) for each in part):
                if leadership is not None:
                    batch.roles([broker_id], tp, leadership, self._context.assignment(tp))
            self.send(batch)

    async def _move_replicas(self, replicas: Sequence[Replica], target: ReplicaState, batch: BrokerRequestBatch) -> None:
        valid = [replica for replica in replicas if self._replica_may_become(replica, target)]
        if target is ReplicaState.OFFLINE:
            await self._take_offline(valid, batch)
        for replica in valid:
            self._tell(replica, target, batch)
            self._apply(replica, target)

    async def in_turns(self, parts: Iterator[T]) -> AsyncIterator[T]:
        """The parts one by one; between two of them others have their turn."""
        for number, part in enumerate(parts):
            if number:
                await self._clock.sleep(0)
            yield part

    async def rewrite(self, tp: TopicPartition, decide: Decide) -> Leadership | None:
        """Writes the state that `decide` makes of the present one; None where it declines. Nobody is told yet."""
        while True:
            current = (await self._read([tp])).get(tp)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{tp} has no state in the store.")
            wanted = decide(current)
            if wanted is None:
                self._context.leadership[tp] = Leadership(current, self._context.epoch)
                return None
            written, _ = await self._write({tp: wanted})
            if tp in written:
                return self._context.leadership[tp]

    async def alter(self, states: dict[TopicPartition, LeaderAndIsr]) -> dict[TopicPartition, LeaderAndIsr]:
        """Writes states that leaders ask for, tells all brokers' metadata of them, and returns each as the store has it then: whoever
        finds another there than was wanted has lost the race. Those that are gone are left out."""
        written, conflicts = await self._write(states)
        found = await self._read(conflicts)
        for tp, state in found.items():
            self._context.leadership[tp] = Leadership(state, self._context.epoch)
        known = {**written, **found}
        if known:
            await self.send_metadata(self._context.all_ids(), sorted(known))
        return known

    async def _initialise(self, partitions: Sequence[TopicPartition], batch: BrokerRequestBatch) -> dict[TopicPartition, ElectionResult]:
        elections = {tp: first_leader(self._context, tp) for tp in partitions}
        wanted = {tp: election.state for tp, election in elections.items() if election is not None}
        created = await self._znodes.create_states(wanted, self._context.epoch)
        self._context.leaderless.update(dict.fromkeys(tp for tp in partitions if tp not in wanted))
        for tp, state in created.items():
            self._context.leaderless.pop(tp, None)
            self._context.leadership[tp] = Leadership(state, self._context.epoch)
            batch.leader_and_isr(state.isr, tp, self._context.leadership[tp], self._context.assignment(tp), is_new=True)
        return {tp: created.get(tp) or _no_leader(f"No assigned replica of {tp} is alive or its state exists.") for tp in partitions}

    async def _elect(
        self, partitions: Sequence[TopicPartition], strategy: Strategy, unclean: bool, batch: BrokerRequestBatch
    ) -> dict[TopicPartition, ElectionResult]:
        results: dict[TopicPartition, ElectionResult] = {}
        remaining = list(partitions)
        while remaining:
            elections: dict[TopicPartition, Election] = {}
            current = await self._read(remaining)
            allowed = await self._unclean_topics(current) if strategy is Strategy.OFFLINE and not unclean else frozenset()
            for tp in remaining:
                state = current.get(tp)
                election = None if state is None else self._elected(tp, state, strategy, unclean or tp.topic in allowed)
                if election is None:
                    results[tp] = _no_leader(f"Failed to elect leader for partition {tp} under strategy {strategy.told(unclean=unclean)}")
                else:
                    elections[tp] = election
            written, remaining = await self._write({tp: election.state for tp, election in elections.items()})
            for tp, state in written.items():
                results[tp] = state
                self.unclean_elections += elections[tp].unclean
                batch.leader_and_isr(elections[tp].recipients, tp, self._context.leadership[tp], self._context.assignment(tp))
        return results

    def _elected(self, tp: TopicPartition, state: LeaderAndIsr, strategy: Strategy, unclean: bool) -> Election | None:
        return elect(self._context, tp, state, strategy, unclean=unclean, marked=self._protocol.has_leader_recovery)

    async def _unclean_topics(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> frozenset[str]:
        """Of the topics with a partition that nobody in sync is alive for, those whose settings allow an unclean leader.

        The settings are the topic's own as the store has them now, or the broker's.
        """
        lost = {tp.topic for tp, state in states.items() if not has_live_in_sync_replica(self._context, tp, state)}
        overrides = await self._znodes.overrides_of(sorted(lost))
        return frozenset(topic for topic, own in overrides.items() if self._allows_unclean(topic, own))

    def _allows_unclean(self, topic: str, overrides: Mapping[str, str]) -> bool:
        try:
            return TopicConfig.from_overrides(self._config.current, dict(overrides)).unclean_leader_election_enable
        except ConfigError as error:
            log.error("The settings of topic %s are wrong, so no unclean election: %s", topic, error)
            return False

    async def _take_offline(self, replicas: Sequence[Replica], batch: BrokerRequestBatch) -> None:
        """Out of the ISR, the others told; broker by broker, so that of an ISR's members the last to go stays in it.

        A topic that is being deleted has no ISR to mind any more: its states go with it, and all brokers have been told.
        """
        deleted = self._context.topics_being_deleted()
        by_broker: dict[int, list[TopicPartition]] = {}
        for replica in replicas:
            if replica.topic not in deleted:
                by_broker.setdefault(replica.broker_id, []).append(replica.tp)
        for broker_id, partitions in sorted(by_broker.items()):
            led = [tp for tp in partitions if tp in self._context.leadership]
            for tp in await self._leave_isr(broker_id, led):
                assignment = self._context.assignment(tp)
                others = [other for other in assignment.replicas if other != broker_id]
                batch.leader_and_isr(others, tp, self._context.leadership[tp], assignment)
            batch.update_metadata(self._context.all_ids(), partitions)

    async def _leave_isr(self, broker_id: int, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """The partitions whose state this changed; the others did not have the broker in their ISR."""
        changed: list[TopicPartition] = []
        remaining = list(partitions)
        while remaining:
            wanted: dict[TopicPartition, LeaderAndIsr] = {}
            for tp, state in (await self._read(remaining)).items():
                smaller = without_replica(state, broker_id)
                if smaller is None:
                    self._context.leadership[tp] = Leadership(state, self._context.epoch)
                else:
                    wanted[tp] = smaller
            written, remaining = await self._write(wanted)
            changed.extend(written)
        return changed

    def _tell(self, replica: Replica, target: ReplicaState, batch: BrokerRequestBatch) -> None:
        tp, context = replica.tp, self._context
        if target in (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED):
            batch.stop_replica(replica.broker_id, tp, delete=target is ReplicaState.DELETION_STARTED)
            return
        announced = target is ReplicaState.NEW or (target is ReplicaState.ONLINE and context.replica_state(replica) is not ReplicaState.NEW)
        if announced and tp in context.leadership:
            is_new = target is ReplicaState.NEW
            batch.leader_and_isr([replica.broker_id], tp, context.leadership[tp], context.assignment(tp), is_new=is_new)

    def _apply(self, replica: Replica, target: ReplicaState) -> None:
        if target is not ReplicaState.NON_EXISTENT:
            self._context.set_replica_state(replica, target)
            return
        self._context.set_assignment(replica.tp, self._context.assignment(replica.tp).without(replica.broker_id))
        self._context.set_replica_state(replica, None)

    async def _read(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """Present states; those a later controller wrote are left out, the next guarded write ends this term."""
        found = await self._znodes.states(partitions)
        return {tp: leadership.state for tp, leadership in found.items() if leadership.controller_epoch <= self._context.epoch}

    async def _write(self, states: dict[TopicPartition, LeaderAndIsr]) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition]]:
        # The context follows the store, and requests follow the context: no broker is told of a leader that a successor could not read.
        written, conflicts = await self._znodes.write_states(states, self._context.epoch)
        for tp, state in written.items():
            self._context.leadership[tp] = Leadership(state, self._context.epoch)
        return written, conflicts

    def _partition_may_become(self, tp: TopicPartition, target: PartitionState) -> bool:
        current = self._context.partition_state(tp)
        possible = partition_states.may_become(current, target)
        if not possible:
            log.error("%s cannot go from %s to %s", tp, current.value, target.value)
        return possible

    def _replica_may_become(self, replica: Replica, target: ReplicaState) -> bool:
        current = self._context.replica_state(replica)
        possible = replica_states.may_become(current, target)
        if not possible:
            log.error("Replica %s of %s cannot go from %s to %s", replica.broker_id, replica.tp, current.value, target.value)
        return possible


def _no_leader(message: str) -> KafkaError:
    return KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message)
