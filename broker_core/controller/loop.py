"""The controller as each broker runs it: competes for the office, and while it holds it, one task does everything.

The task takes one event after the other from a bounded inbox, so nothing in a term needs a lock: an event's reads, decisions
and writes are over before the next begins. A failed fence or an expired session ends the term at once. Whatever else goes
wrong ends it too, with the office given up, because a term whose picture may be wrong must not go on; the next one, here
or elsewhere, reads everything afresh.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from broker_core.config import ConfigHolder
from broker_core.contract import feed
from broker_core.controller.channels.channel_manager import ControlSender
from broker_core.controller.deciders.balance import FIRST_CHECK_MS
from broker_core.controller.deciders.isr_alteration import Alteration, Judged
from broker_core.controller.deciders.reassignment import ReplicaAssignment
from broker_core.controller.events import (
    Answered,
    BalanceDue,
    Call,
    ControllerChange,
    Event,
    PartitionChange,
    PartitionReassignmentIsrChange,
    Reconnected,
    UncleanEnabled,
)
from broker_core.controller.inbox import Inbox
from broker_core.controller.leader_elections import ElectionType
from broker_core.controller.reassignments import Outcome
from broker_core.controller.snapshot import ControllerSnapshot, ahead, take_snapshot
from broker_core.controller.store.elector import Elector, Won
from broker_core.controller.store.guarded_store import ControllerMoved
from broker_core.controller.store.watches import Watches
from broker_core.controller.term import TERM_EVENTS, Term
from broker_core.coordination.store import Malformed, SessionExpired, SessionState
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.seams import Node, TimerHandle
from broker_core.tasks import end_task

T = TypeVar("T")

log = logging.getLogger(__name__)

RETRY_AFTER_FAILURE_MS = 1_000
NO_CONTROLLER = -1


class Controller:
    """One broker's part in the election of the controller, and the controller itself while it is elected.

    `sender` delivers control requests (`sender.ChannelSender` in a broker). After an expired session nothing is contested
    until `session_renewed` says that the broker has registered again.
    """

    def __init__(self, node: Node, broker_id: int, config: ConfigHolder, sender: ControlSender, *, flaws: Flaws = NO_FLAWS) -> None:
        self.tell_early: Callable[[str], None] = lambda text: None
        """Told of what is done before a session's end, in words."""
        self._node = node
        self._broker_id = broker_id
        self._config = config
        self._sender = sender
        self._flaws = flaws
        self._inbox = Inbox(node.clock)
        self._elector = Elector(node.store, node.clock, broker_id)
        self._seat_watches = Watches(self._post)
        self._term: Term | None = None
        self._controller_id = NO_CONTROLLER
        self._task: asyncio.Task[None] | None = None
        self._balance: TimerHandle | None = None
        self._retry: TimerHandle | None = None
        self._was_suspended = False
        self._obstacle = ""

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, as far as it knows."""
        return self._term is not None

    @property
    def epoch(self) -> int:
        """The epoch of the term in office here, or -1."""
        return -1 if self._term is None else self._term.context.epoch

    @property
    def controller_id(self) -> int:
        """The controller's id as last seen in the store, or -1."""
        return self._controller_id

    async def start(self) -> None:
        """Begins to compete; the broker has registered."""
        self._node.store.add_listener(self._session_changed)
        self._config.on_topic_change(self._topic_config_changed)
        self._post(ControllerChange())
        self._task = self._node.spawn(self._run(), name="controller")

    async def stop(self) -> None:
        """Ends without a word; the session's end frees the office."""
        self._end_term()
        self._seat_watches.close()
        if self._retry is not None:
            self._retry.cancel()
        await end_task(self._task)
        for event in self._inbox.drain():
            _leave_no_caller(event)

    async def resign(self) -> None:
        """Gives the office up, if this broker holds it; any broker may be elected next, this one too."""
        if self._term is not None:
            self._end_term()
            await self._elector.vacate()

    def session_renewed(self) -> None:
        """The broker has registered in a new session: it competes again."""
        self._post(ControllerChange())

    def enable_unclean_election(self, topic: str | None) -> None:
        """Unclean election was allowed for a topic or (None) for all: partitions without a leader are tried again."""
        self._post(UncleanEnabled(topic))

    async def elect_leaders(self, partitions: Sequence[TopicPartition] | None, kind: int) -> dict[TopicPartition, Outcome]:
        """`kind` 0 is preferred, 1 unclean; None stands for all partitions. Raises `KafkaError` as all calls do."""
        if kind not in (ElectionType.PREFERRED, ElectionType.UNCLEAN):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {kind}.")
        return await self._call(lambda term: term.elections.elect(partitions, ElectionType(kind)))

    async def alter_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, Outcome]:
        """Moves partitions to the replicas given; None cancels."""
        return await self._call(lambda term: term.reassignments.alter(wanted))

    def list_reassignments(self, partitions: Sequence[TopicPartition] | None) -> dict[TopicPartition, ReplicaAssignment]:
        """Partitions being moved, all or those among `partitions`."""
        if self._term is None:
            raise _not_controller()
        context = self._term.context
        wanted = sorted(context.being_reassigned) if partitions is None else partitions
        return {tp: context.assignment(tp) for tp in wanted if context.assignment(tp).is_being_reassigned}

    async def alter_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Mapping[TopicPartition, Alteration]
    ) -> dict[TopicPartition, Judged]:
        """What became of each ISR change that a leader asks for. Raises `KafkaError` as all calls do, STALE_BROKER_EPOCH to who is not
        registered so."""
        return await self._call(lambda term: term.isr_alterations.alter(broker_id, broker_epoch, wanted))

    def check_registered(self, broker_id: int, broker_epoch: int) -> None:
        """Raises `KafkaError` where the active controller does not know the broker by that epoch."""
        if self._term is None:
            raise _not_controller()
        info = self._term.context.brokers.get(broker_id)
        if info is None:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered.")
        if info.epoch != broker_epoch:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} asked with epoch {broker_epoch}, it has {info.epoch}.")

    def topic_name(self, topic_id: UUID) -> str | None:
        """The topic's name, where the controller is here and knows it."""
        return None if self._term is None else self._term.context.topic_names.get(topic_id)

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Partitions the broker still leads after others took over what they could."""
        return await self._call(lambda term: term.brokers.shut_down(broker_id, broker_epoch))

    def ahead(self) -> feed.Controller | None:
        """What is before the controller; None where it is not here."""
        return None if self._term is None else ahead(self._term, self._inbox)

    def snapshot(self) -> ControllerSnapshot:
        """For telemetry; counts are made anew, so not for every event."""
        return take_snapshot(self._term, self._controller_id, self._inbox)

    async def _call(self, work: Callable[[Term], Coroutine[Any, Any, T]]) -> T:
        if self._term is None:
            raise _not_controller()
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._post(Call(work, result))
        return await result

    def _post(self, event: Event) -> None:
        self._inbox.put(event)

    def _session_changed(self, state: SessionState) -> None:
        """Runs at once, also in the middle of an event: without a session nothing more may be sent."""
        if state is SessionState.EXPIRED:
            self._was_suspended = False
            self._controller_id = NO_CONTROLLER
            self._end_term()
        elif state is SessionState.SUSPENDED:
            self._was_suspended = True
        elif self._was_suspended:
            self._was_suspended = False
            self._post(Reconnected())

    def _topic_config_changed(self, topic: str) -> None:
        if self._term is not None and self._config.topic(topic).unclean_leader_election_enable:
            self.enable_unclean_election(topic)

    async def _run(self) -> None:
        while True:
            event = await self._inbox.get()
            try:
                await self._process(event)
            except (ControllerMoved, SessionExpired) as error:
                log.warning("The term is over: %s", error)
                self._end_term()
                self._post_unless_expired(error)
            except Malformed as error:
                self._tell_obstacle(str(error))
                await self._fail()
            except Exception:
                log.exception("The controller failed at %s and gives up its office", type(event).__name__)
                await self._fail()
            finally:
                _leave_no_caller(event)

    def _tell_obstacle(self, obstacle: str) -> None:
        """Once: it is met again at each try, until somebody has mended the znode."""
        if obstacle != self._obstacle:
            self._obstacle = obstacle
            log.error("The controller's office cannot be taken, which is tried again every second: %s", obstacle)

    async def _process(self, event: Event) -> None:
        if isinstance(event, ControllerChange):
            await self._office_changed()
        elif isinstance(event, Reconnected):
            await self._office_changed()
            if self._term is not None:
                await self._term.look_again()
        elif self._term is not None:
            await self._process_in_term(self._term, event)

    async def _process_in_term(self, term: Term, event: Event) -> None:
        if isinstance(event, Call):
            await _answer(event, term)
        elif isinstance(event, Answered):
            await term.brokers.answered(event.request, event.response)
        elif isinstance(event, PartitionChange):
            await term.topics.grown(event.topic)
        elif isinstance(event, PartitionReassignmentIsrChange):
            await term.reassignments.check(event.tp)
        elif isinstance(event, UncleanEnabled):
            await term.changes.bring_online(event.topic)
        elif isinstance(event, BalanceDue):
            await self._balance_leaders(term)
        else:
            await TERM_EVENTS[type(event)](term)

    async def _office_changed(self) -> None:
        """Whoever was the controller resigns before competing again (spec Z2)."""
        if self._node.store.session_id == 0:
            return
        watch = self._seat_watches.to(ControllerChange())
        seat = await self._elector.seat(watch)
        self._controller_id = NO_CONTROLLER if seat is None else seat.broker_id
        if self._term is not None:
            if seat is not None and seat.mine:
                return
            log.info("Broker %d is no longer the controller, now it is %d", self._broker_id, self._controller_id)
            self._end_term()
        if self._config.static.highwater_early_failover_enable and await self._elector.is_seen_dead(watch):
            log.warning("Most brokers see this one's port refuse: it does not become the controller until they see it answer")
            return
        outcome = await self._elector.compete(watch)
        if isinstance(outcome, Won):
            await self._begin_term(outcome)
        else:
            self._controller_id = outcome.broker_id

    async def _begin_term(self, won: Won) -> None:
        log.info("Broker %d is the controller of epoch %d", self._broker_id, won.epoch)
        self._obstacle = ""
        self._controller_id = self._broker_id
        self._term = Term(
            self._node,
            self._broker_id,
            self._config,
            won,
            sender=self._sender,
            post=self._post,
            give_up=self._give_up,
            tell_early=self.tell_early,
            flaws=self._flaws,
        )
        await self._term.begin()
        if self._config.current.auto_leader_rebalance_enable:
            self._schedule_balance(FIRST_CHECK_MS)

    async def _balance_leaders(self, term: Term) -> None:
        config = self._config.current
        try:
            await term.elections.balance(config.leader_imbalance_per_broker_percentage)
        finally:
            self._schedule_balance(config.leader_imbalance_check_interval_seconds * 1_000)

    def _schedule_balance(self, delay_ms: float) -> None:
        if self._term is not None:
            self._balance = self._node.clock.call_later(delay_ms, self._post, BalanceDue())

    def _end_term(self) -> None:
        if self._balance is not None:
            self._balance.cancel()
            self._balance = None
        term, self._term = self._term, None
        if term is not None:
            term.end()

    def _post_unless_expired(self, error: Exception) -> None:
        if not isinstance(error, SessionExpired):
            self._post(ControllerChange())

    def _give_up(self, reason: str) -> None:
        log.error("The controller gives up its office: %s", reason)
        self._end_term()
        self._node.spawn(self._fail(), name="controller gives up")

    async def _fail(self) -> None:
        """Lets somebody else try, and tries again itself after a while."""
        self._end_term()
        await self._elector.vacate()
        self._retry = self._node.clock.call_later(RETRY_AFTER_FAILURE_MS, self._post, ControllerChange())


async def _answer(call: Call, term: Term) -> None:
    try:
        result = await call.work(term)
    except KafkaError as error:
        if not call.result.done():
            call.result.set_exception(error)
        return
    if not call.result.done():
        call.result.set_result(result)


def _leave_no_caller(event: Event) -> None:
    """A call that was not answered found the term over."""
    if isinstance(event, Call) and not event.result.done():
        event.result.set_exception(_not_controller())


def _not_controller() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "This broker is not the controller.")
