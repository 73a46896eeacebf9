"""Carries a leader's ISR changes to the store and the store's answer back to the leader (spec R4)."""

from __future__ import annotations

import logging

from broker_core.coordination.store import StoreError
from broker_core.model import NO_EPOCH
from broker_core.replication.delayed_operations import DelayedOperations
from broker_core.replication.isr.isr_store import IsrAnnouncer, Newcomer, Outcome, Refused, Written, write_isr
from broker_core.replication.isr.states import PendingChange, PendingExpandIsr
from broker_core.replication.leader_state import LeaderState
from broker_core.replication.partition import Partition
from broker_core.seams import Node

log = logging.getLogger(__name__)


class AlterIsrManager:
    """At most one write per partition is under way: the pending state of its ISR sees to that."""

    def __init__(self, node: Node, delayed: DelayedOperations) -> None:
        self._node = node
        self._delayed = delayed
        self._announcer = IsrAnnouncer(node)
        self.expansions = 0
        self.shrinks = 0
        self.refusals = 0

    def submit(self, partition: Partition, change: PendingChange) -> None:
        assert partition.leader is not None
        self._node.spawn(self._write(partition, partition.leader, change), name=f"ISR of {partition.tp}")

    def close(self) -> None:
        self._announcer.close()

    async def _write(self, partition: Partition, leader: LeaderState, change: PendingChange) -> None:
        try:
            outcome = await write_isr(
                self._node,
                partition.tp,
                leader.proposal(change),
                partition.controller_epoch,
                newcomer=_newcomer(leader, change),
                still_wanted=lambda: partition.leader is leader and leader.isr is change,
            )
        except StoreError:
            log.exception("the ISR could not be written", extra={"partition": str(partition.tp)})
            outcome = Refused()
        self._take(partition, leader, change, outcome)

    def _take(self, partition: Partition, leader: LeaderState, change: PendingChange, outcome: Outcome) -> None:
        """Applies the answer, if the leadership and the change are still those that asked (KAFKA-12686)."""
        if isinstance(outcome, Written):
            self._announcer.note(partition.tp)  # also where the change is overtaken here: the store has it, the controller has to know
            applied = leader.committed(change, outcome.isr, outcome.zk_version)
            self._count(change)
        elif isinstance(outcome, Refused):
            applied = leader.refused(change)
            self.refusals += 1
        else:
            applied = leader.withdrawn(change)
        _tell(partition, change, outcome)
        if not applied or partition.leader is not leader:
            return
        if leader.deposed:
            self._delayed.role_changed(partition.tp)
        else:
            self._delayed.moved(partition, partition.recheck_high_watermark())

    def _count(self, change: PendingChange) -> None:
        if isinstance(change, PendingExpandIsr):
            self.expansions += 1
        else:
            self.shrinks += 1


def _newcomer(leader: LeaderState, change: PendingChange) -> Newcomer | None:
    if not isinstance(change, PendingExpandIsr):
        return None
    follower = leader.followers.get(change.newcomer)
    return Newcomer(change.newcomer, follower.broker_epoch if follower is not None else NO_EPOCH)


def _tell(partition: Partition, change: PendingChange, outcome: Outcome) -> None:
    details = {"partition": str(partition.tp), "from": change.isr, "to": change.proposed, "epoch": partition.leader_epoch}
    if isinstance(outcome, Written):
        log.info("ISR changed", extra={**details, "zk_version": outcome.zk_version})
    elif isinstance(outcome, Refused):
        log.warning("ISR change refused: another leader or controller has written, serving nothing until LeaderAndIsr", extra=details)
    else:
        log.info("ISR change withdrawn", extra=details)
