"""Carries a leader's ISR changes to the controller or the store, and the answer back to the leader (spec R4)."""

from __future__ import annotations

import logging
from typing import NamedTuple

from broker_core.coordination.store import StoreError
from broker_core.model import NO_EPOCH, LeaderAndIsr
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.isr.alter_partition_sender import AlterPartitionSender, Reply, Wish
from broker_core.replication.isr.alteration_answer import Step, step_after
from broker_core.replication.isr.isr_store import (
    IsrAnnouncer,
    Newcomer,
    Outcome,
    Refused,
    Withdrawn,
    Written,
    look_up,
    settle_isr,
    write_isr,
)
from broker_core.replication.isr.states import PendingChange, PendingExpandIsr
from broker_core.replication.leader_state import LeaderState
from broker_core.replication.partition import Partition
from broker_core.seams import Node

log = logging.getLogger(__name__)

RETRY_MS, RETRY_MOST_MS = 50.0, 500.0


class Asked(NamedTuple):
    """A change and the leadership in which it was begun."""

    partition: Partition
    leader: LeaderState
    change: PendingChange

    def is_still_wanted(self) -> bool:
        return self.partition.leader is self.leader and self.leader.isr is self.change


class AlterIsrManager:
    """At most one change per partition is under way: the pending state of its ISR sees to that.

    With a `sender` the controller is asked (`inter.broker.protocol.version` 2.7-IV2 and later), else the store is written.
    """

    def __init__(self, node: Node, delayed: DelayedOperations, sender: AlterPartitionSender | None = None) -> None:
        self._node = node
        self._delayed = delayed
        self._sender = sender
        self._announcer = IsrAnnouncer(node)
        self.expansions = 0
        self.shrinks = 0
        self.refusals = 0

    def submit(self, partition: Partition, change: PendingChange) -> None:
        assert partition.leader is not None
        asked = Asked(partition, partition.leader, change)
        self._node.spawn(self._carry_out(asked), name=f"ISR of {partition.tp}")

    def close(self) -> None:
        self._announcer.close()

    async def _carry_out(self, asked: Asked) -> None:
        try:
            outcome = await (self._write(asked) if self._sender is None else self._ask(self._sender, asked))
        except StoreError:
            log.exception("the ISR could not be written", extra={"partition": str(asked.partition.tp)})
            outcome = Refused()
        self.take(asked, outcome)

    async def _write(self, asked: Asked) -> Outcome:
        partition, proposal = asked.partition, asked.leader.proposal(asked.change)
        newcomer, still_wanted = _newcomer(asked), asked.is_still_wanted
        outcome = await write_isr(
            self._node, partition.tp, proposal, partition.controller_epoch, newcomer=newcomer, still_wanted=still_wanted
        )
        self._announce(asked, outcome)
        return outcome

    async def _ask(self, sender: AlterPartitionSender, asked: Asked) -> Outcome:
        """Tries until it is known for sure what became of the change, or nobody waits for that any more."""
        epochs = {broker_id: follower.broker_epoch for broker_id, follower in asked.leader.followers.items()}
        wish = Wish(asked.partition.tp, asked.partition.topic_id, asked.leader.proposal(asked.change), epochs)
        tries = 0
        while asked.is_still_wanted():
            tries += 1
            reply = await sender.ask(wish)
            outcome = await self._outcome(step_after(reply.code, tries=tries), reply, asked)
            if outcome is not None:
                return outcome
            await self._node.clock.sleep(min(RETRY_MS * 2.0 ** min(tries - 1, 10), RETRY_MOST_MS))
        return Withdrawn()

    async def _outcome(self, step: Step, reply: Reply, asked: Asked) -> Outcome | None:
        """None where the controller has to be asked again."""
        if step is Step.TAKE:
            return _told(reply.state, asked.leader)
        if step is Step.WITHDRAW:
            return Withdrawn()
        if step is Step.GIVE_UP:
            return Refused()
        outcome: Outcome | None = None
        if step is Step.SETTLE:
            settled = asked.leader.proposal_of(asked.change.isr)
            outcome = await settle_isr(self._node, asked.partition.tp, settled, still_wanted=asked.is_still_wanted)
        elif step is Step.LOOK_UP:
            found = await look_up(self._node, asked.partition.tp, asked.leader.proposal(asked.change))
            outcome = None if isinstance(found, Withdrawn) else found
        self._announce(asked, outcome)  # what the controller did not write it has to be told of
        return outcome

    def _announce(self, asked: Asked, outcome: Outcome | None) -> None:
        """Also where the change is overtaken here: the store has it, the controller has to know."""
        if isinstance(outcome, Written):
            self._announcer.note(asked.partition.tp)

    def take(self, asked: Asked, outcome: Outcome) -> None:
        """Applies the answer, if the leadership and the change are still those that asked (KAFKA-12686)."""
        partition, leader, change = asked
        if isinstance(outcome, Written):
            applied = leader.committed(change, outcome.isr, outcome.zk_version)
            self._count(change, outcome)
        elif isinstance(outcome, Refused):
            applied = leader.refused(change)
            self.refusals += 1
        else:
            applied = leader.withdrawn(change)
        _tell(asked, outcome)
        if not applied or partition.leader is not leader:
            return
        if leader.deposed:
            self._delayed.role_changed(partition.tp)
        else:
            self._delayed.isr_known(partition.tp)
            self._delayed.moved(partition, partition.recheck_high_watermark())

    def _count(self, change: PendingChange, outcome: Written) -> None:
        if not _is_made(change, outcome):
            return
        if isinstance(change, PendingExpandIsr):
            self.expansions += 1
        else:
            self.shrinks += 1


def _is_made(change: PendingChange, outcome: Written) -> bool:
    return outcome.isr != change.isr


def _told(state: LeaderAndIsr | None, leader: LeaderState) -> Written | None:
    """What the controller says is there, if it speaks of this leadership and of nothing older than is known here."""
    if (
        state is None
        or (state.leader, state.leader_epoch) != (leader.broker_id, leader.leader_epoch)
        or state.zk_version < leader.zk_version
    ):
        return None
    return Written(state.isr, state.zk_version)


def _newcomer(asked: Asked) -> Newcomer | None:
    if not isinstance(asked.change, PendingExpandIsr):
        return None
    follower = asked.leader.followers.get(asked.change.newcomer)
    return Newcomer(asked.change.newcomer, follower.broker_epoch if follower is not None else NO_EPOCH)


def _tell(asked: Asked, outcome: Outcome) -> None:
    partition, _, change = asked
    details = {"partition": str(partition.tp), "from": change.isr, "to": change.proposed, "epoch": partition.leader_epoch}
    if isinstance(outcome, Written) and _is_made(change, outcome):
        log.info("ISR changed", extra={**details, "zk_version": outcome.zk_version})
    elif isinstance(outcome, Refused):
        log.warning("ISR change refused: another leader or controller has written, serving nothing until LeaderAndIsr", extra=details)
    else:
        log.info("ISR change withdrawn", extra=details)
