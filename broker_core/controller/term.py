"""One broker's time in office: from the won election until it resigns, loses its session or is fenced.

Everything of a term hangs on its epoch and its session; nothing is carried over into the next one, which reads all from the
store (spec Z3). The order of the beginning matters: watches are set while reading, brokers learn who is alive before
any of them is told to follow or lead, replicas are brought online before leaders are chosen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from broker_core.config import ConfigHolder
from broker_core.controller.backlog import Backlog, slices
from broker_core.controller.brokers import Brokers
from broker_core.controller.channels.channel_manager import ControllerChannelManager, ControlSender
from broker_core.controller.channels.requests import ControlRequest
from broker_core.controller.context import ControllerContext, Replica
from broker_core.controller.deciders.membership import restarted_unseen
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.controller.deciders.suspicion import agreed_dead
from broker_core.controller.deciders.topic_deletion import ineligible_at_start
from broker_core.controller.events import (
    Answered,
    BacklogDue,
    BrokerChange,
    DeletionRequested,
    ElectionRequested,
    Event,
    IsrChange,
    LogDirChange,
    PartitionChange,
    PartitionReassignmentIsrChange,
    ReassignmentRequested,
    TopicChange,
)
from broker_core.controller.isr_alterations import IsrAlterations
from broker_core.controller.leader_elections import LeaderElections
from broker_core.controller.reassignments import Reassignments
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.store.elector import Won
from broker_core.controller.store.guarded_store import GuardedStore
from broker_core.controller.store.watches import Watches
from broker_core.controller.store.znodes import Znodes
from broker_core.controller.topic_deletion_manager import TopicDeletionManager
from broker_core.controller.topics import Topics
from broker_core.coordination.layout import ISR_CHANGES, LOG_DIR_EVENTS
from broker_core.coordination.store import StoreError
from broker_core.coordination.suspicions import Suspicion
from broker_core.coordination.znode_data import decode_isr_change, decode_log_dir_event
from broker_core.model import BrokerInfo, TopicPartition
from broker_core.replication.flaws import Flaws
from broker_core.seams import Node

log = logging.getLogger(__name__)


class Term:
    """The active controller's parts; only the controller's task calls the coroutines."""

    def __init__(
        self,
        node: Node,
        broker_id: int,
        config: ConfigHolder,
        won: Won,
        *,
        sender: ControlSender,
        post: Callable[[Event], None],
        give_up: Callable[[str], None],
        tell_early: Callable[[str], None],
        flaws: Flaws,
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._tell_early = tell_early
        self._dead: dict[int, int] = {}
        self.context = context = ControllerContext(won.epoch, won.version, inter_broker_listener=config.static.inter_broker_listener_name)
        self._remembered: dict[int, int] = {}
        self.watches = watches = Watches(post)
        self.channels = ControllerChannelManager(
            node.clock,
            node.spawn,
            sender,
            self._answered,
            lambda overflowing: give_up(f"too many requests wait for broker {overflowing}"),
        )
        self._post = post
        self.backlog = backlog = Backlog(node.clock, self.channels.has_room, lambda: post(BacklogDue()))
        self._znodes = znodes = Znodes(GuardedStore(node.store, node.clock, node.spawn, won.version))
        self.changes = changes = StateChanges(broker_id, context, znodes, config, self._tell, clock=node.clock)
        self._deletions = TopicDeletionManager(
            context,
            znodes,
            changes,
            backlog,
            enabled=lambda: config.current.delete_topic_enable,
            forget=lambda topic: watches.forget(PartitionChange(topic)),
        )
        self.reassignments = Reassignments(
            context, znodes, changes, self._deletions, lambda tp: watches.to(PartitionReassignmentIsrChange(tp))
        )
        self.elections = LeaderElections(context, znodes, changes)
        self.brokers = Brokers(context, changes, self._deletions, self.reassignments, self.channels)
        self.topics = Topics(
            context,
            znodes,
            changes,
            self._deletions,
            backlog,
            watches=watches,
            entropy=node.entropy,
            gives_ids=config.static.inter_broker_protocol.has_topic_ids,
        )
        self.isr_alterations = IsrAlterations(context, znodes, changes, flaws)

    async def begin(self) -> None:
        """Takes the office up: reads the cluster, tells the brokers, resumes what was under way."""
        context = self.context
        await self._drop_notifications(ISR_CHANGES, IsrChange())
        await self._drop_notifications(LOG_DIR_EVENTS, LogDirChange())
        context.brokers.update(await self._read_brokers())
        await self.topics.load()
        remembered = await self._znodes.remembered_brokers()
        restarted = [] if remembered is None else restarted_unseen(context.brokers, remembered, context.leadership.values())
        for broker_id in restarted:
            del context.brokers[broker_id]
        await self.topics.to_delete()
        context.ineligible_for_deletion.update(ineligible_at_start(context))
        for broker_id in context.all_ids():
            self.channels.open(context.brokers[broker_id])
        await self.changes.send_metadata(context.all_ids(), context.partitions())
        online, untold = await self._start_replicas(restarted)
        await self._start_partitions()
        await self.changes.tell_roles(online)  # what has just changed is told already: it does not wait behind what has not
        await self.topics.create(list(context.uncreated))
        resumed = await self.reassignments.from_znode(self.watches.to(ReassignmentRequested()))
        await self.reassignments.resume(lambda tp, _: tp not in resumed)
        await self._deletions.resume_deletions()
        self._deletions.end_roles(untold)
        await self.elections.from_znode(self.watches.to(ElectionRequested()))
        if restarted:
            log.info("Brokers restarted between two controllers: %s", restarted)
        await self.brokers_changed()
        log.info("Controller epoch %d: %d brokers, %d partitions", context.epoch, len(context.brokers), len(context.partitions()))

    def end(self) -> None:
        """Out of office: nothing is sent or watched any more."""
        self.backlog.end()
        self.watches.close()
        self.channels.close_all()

    async def brokers_changed(self) -> None:
        """Acts on registrations that came and went, and only then remembers them for the next controller."""
        await self.brokers.registered(await self._read_brokers())
        epochs = {broker_id: info.process_epoch for broker_id, info in self.context.brokers.items()}
        if epochs != self._remembered:
            await self._znodes.remember_brokers(epochs)
            self._remembered = epochs

    async def deletions_requested(self) -> None:
        await self.topics.to_delete()
        await self._deletions.resume_deletions()

    async def reassignments_requested(self) -> None:
        await self.reassignments.from_znode(self.watches.to(ReassignmentRequested()))

    async def elections_requested(self) -> None:
        await self.elections.from_znode(self.watches.to(ElectionRequested()))

    async def isr_changed(self) -> None:
        """Leaders changed ISRs by themselves: reads them and tells all brokers (LeaderAndIsr is not needed for that)."""
        names = await self._znodes.store.children(ISR_CHANGES, self.watches.to(IsrChange()))
        known = self.context.assignment
        partitions = [tp for tp in await self._znodes.take_notifications(ISR_CHANGES, names, decode_isr_change) if known(tp).replicas]
        self.context.leadership.update(await self._znodes.states(partitions))
        if partitions:
            await self.changes.send_metadata(self.context.all_ids(), partitions)
        for tp in partitions:
            await self.reassignments.check(tp)
        # When all is done that they ask for: what fails before is read again, and to be told twice does no harm.
        await self._znodes.store.delete_all([f"{ISR_CHANGES}/{name}" for name in names])

    async def log_dirs_changed(self) -> None:
        names = await self._znodes.store.children(LOG_DIR_EVENTS, self.watches.to(LogDirChange()))
        broker_ids: set[int] = set()
        for name in names:
            read = await self._znodes.store.get(f"{LOG_DIR_EVENTS}/{name}")
            try:
                broker_ids.update([decode_log_dir_event(read[0])] if read else [])
            except StoreError as error:
                log.error("%s", error)
        await self.brokers.log_dirs_failed(sorted(broker_ids))
        await self._znodes.store.delete_all([f"{LOG_DIR_EVENTS}/{name}" for name in names])

    async def look_again(self) -> None:
        """After a broken connection: every watch is set anew and everything it would have told is read."""
        await self.brokers_changed()
        await self.topics.listed()
        for topic in sorted(self.context.assignments):
            await self.topics.grown(topic)
        await self.deletions_requested()
        await self.isr_changed()
        await self.log_dirs_changed()
        await self.reassignments_requested()
        await self.elections_requested()
        for tp in sorted(self.context.being_reassigned):
            await self.reassignments.check(tp)

    def _answered(self, request: ControlRequest, response: Any) -> None:
        self._post(Answered(request, response))
        self.backlog.look()

    def _tell(self, requests: list[ControlRequest]) -> None:
        self.channels.send(requests)

    async def _read_brokers(self) -> dict[int, BrokerInfo]:
        """Registered brokers without those whose death is agreed on: they are treated as if their sessions had ended."""
        watch = self.watches.to(BrokerChange())
        registered = await self._znodes.brokers(watch, lambda _: watch)
        if not self._config.static.highwater_early_failover_enable:
            return registered
        told = await self._znodes.suspicions(watch)
        dead = agreed_dead(self._broker_id, registered, told)
        self._tell_deaths(dead, registered, told)
        return {broker_id: info for broker_id, info in registered.items() if broker_id not in dead}

    def _tell_deaths(self, dead: Mapping[int, Sequence[int]], registered: Mapping[int, BrokerInfo], told: Sequence[Suspicion]) -> None:
        """Each death and each return once; of a broker that shuts down nothing, its leaderships have moved."""
        before, self._dead = self._dead, {broker_id: registered[broker_id].epoch for broker_id in dead}
        for broker_id, epoch in self._dead.items():
            if before.get(broker_id) != epoch and broker_id not in self.context.shutting_down:
                log.warning("The process of broker %d is gone, as most brokers see; acted on before its session ends", broker_id)
                self._tell_early(f"broker {broker_id}'s port refuses brokers {_listed(dead[broker_id])}, so it counts as gone")
        for broker_id, epoch in before.items():
            if broker_id in dead or broker_id not in registered or registered[broker_id].epoch != epoch:
                continue
            if Suspicion(broker_id, epoch, self._broker_id) in told:
                log.warning("Broker %d is left to its session: too few brokers still say that its process is gone", broker_id)
                self._tell_early(f"too few brokers still say that broker {broker_id}'s port refuses, so its session decides")
            else:
                log.warning("Broker %d answers again and is taken back", broker_id)
                self._tell_early(f"broker {broker_id} answers again and is taken back as a follower")

    async def _drop_notifications(self, path: str, event: Event) -> None:
        """What was announced before this term is read from the states themselves."""
        names = await self._znodes.store.children(path, self.watches.to(event))
        await self._znodes.store.delete_all([f"{path}/{name}" for name in names])

    async def _start_replicas(self, restarted: Sequence[int]) -> tuple[list[Replica], list[Replica]]:
        """Returns those that are online, and apart from them those of topics being deleted, which are told of their roles when their turn
        comes. Of those that are not online the restarted leave the ISRs before those that are gone: the last to leave stays in, and these
        may still have what the former lost."""
        context = self.context
        deleted = context.topics_being_deleted()
        online: list[Replica] = []
        offline: list[Replica] = []
        untold: list[Replica] = []
        async for part in self.changes.in_turns(slices([tp for tp in context.partitions() if tp not in context.uncreated])):
            for replica in context.replicas_of(part):
                there = untold if replica.topic in deleted else online
                (there if context.is_online(replica.broker_id, replica.tp) else offline).append(replica)
        context.replica_states.update(dict.fromkeys(online, ReplicaState.ONLINE))
        context.replica_states.update(dict.fromkeys(untold, ReplicaState.OFFLINE))
        # A broker may die with the old controller: its replicas of topics to delete must not count as deletable.
        context.replica_states.update(dict.fromkeys(offline, ReplicaState.DELETION_INELIGIBLE))
        await self.changes.move_replicas([replica for replica in offline if replica.broker_id in restarted], ReplicaState.OFFLINE)
        await self.changes.move_replicas([replica for replica in offline if replica.broker_id not in restarted], ReplicaState.OFFLINE)
        return online, untold

    async def _start_partitions(self) -> None:
        context = self.context
        for tp in context.partitions():
            if tp in context.uncreated:
                continue
            context.partition_states[tp] = self._state_at_start(tp)
        await self.changes.bring_online()

    def _state_at_start(self, tp: TopicPartition) -> PartitionState:
        leadership = self.context.leadership.get(tp)
        if leadership is None:
            return PartitionState.NEW
        return PartitionState.ONLINE if self.context.is_online(leadership.state.leader, tp) else PartitionState.OFFLINE


def _listed(ids: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, ids[:-1])), str(ids[-1])]))


TERM_EVENTS: dict[type[Any], Callable[[Term], Any]] = {
    BacklogDue: lambda term: term.backlog.go_on(),
    BrokerChange: Term.brokers_changed,
    DeletionRequested: Term.deletions_requested,
    ElectionRequested: Term.elections_requested,
    IsrChange: Term.isr_changed,
    LogDirChange: Term.log_dirs_changed,
    ReassignmentRequested: Term.reassignments_requested,
    TopicChange: lambda term: term.topics.listed(),
}
"""Events that need nothing but the term; `loop` handles those that carry something."""
