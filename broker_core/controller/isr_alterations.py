"""Carries out what leaders ask of their ISRs by AlterPartition (spec R4; the decisions are `deciders/isr_alteration`'s)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from broker_core.controller.context import ControllerContext
from broker_core.controller.deciders.isr_alteration import Alteration, Judged, judge
from broker_core.controller.state_changes import StateChanges
from broker_core.controller.store.znodes import Znodes
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.replication.flaws import Flaws

log = logging.getLogger(__name__)


class IsrAlterations:
    """One term's. A reassignment that a newcomer completes goes on by the watch on the partition's state."""

    def __init__(self, context: ControllerContext, znodes: Znodes, changes: StateChanges, flaws: Flaws) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes
        self._flaws = flaws

    async def alter(self, broker_id: int, broker_epoch: int, wanted: Mapping[TopicPartition, Alteration]) -> dict[TopicPartition, Judged]:
        """What became of each. The store is written first; the context and all brokers' metadata follow."""
        info = self._context.brokers.get(broker_id)
        if info is None or info.epoch != broker_epoch:
            log.info("AlterPartition of broker %d in epoch %d refused: it is not registered so", broker_id, broker_epoch)
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} is not registered with epoch {broker_epoch}.")
        live_epochs = await self._live_epochs(wanted)
        judged = {tp: self._judge(tp, broker_id, each, live_epochs) for tp, each in wanted.items()}
        _tell_refused(broker_id, judged)
        to_write = {tp: each.state for tp, each in judged.items() if each.write and each.state is not None}
        if not to_write:
            return judged
        found = await self._changes.alter(to_write)
        return {tp: _outcome(each, found.get(tp)) if each.write else each for tp, each in judged.items()}

    def _judge(self, tp: TopicPartition, leader: int, wanted: Alteration, live_epochs: Mapping[int, int]) -> Judged:
        leadership = self._context.leadership.get(tp)
        if leadership is None:
            return Judged(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        replicas = self._context.assignment(tp).replicas
        late_ones = self._flaws.obey_late_alterations
        return judge(wanted, leadership.state, leader=leader, replicas=replicas, live_epochs=live_epochs, late_ones=late_ones)

    async def _live_epochs(self, wanted: Mapping[TopicPartition, Alteration]) -> dict[int, int]:
        """Of the live brokers. Those that would join are looked up: one may have restarted, and the event still wait here."""
        context = self._context
        live = {broker_id: context.brokers[broker_id].epoch for broker_id in context.live_ids()}
        joining = {member for tp, each in wanted.items() for member in self._joining(tp, each.isr)}
        for broker_id in sorted(joining & live.keys()):
            if await self._znodes.registered_epoch(broker_id) != live[broker_id]:
                del live[broker_id]
        return live

    def _joining(self, tp: TopicPartition, isr: Sequence[int]) -> list[int]:
        leadership = self._context.leadership.get(tp)
        return [] if leadership is None else [member for member in isr if member not in leadership.state.isr]


def _tell_refused(broker_id: int, judged: Mapping[TopicPartition, Judged]) -> None:
    """The first of them: a leader may ask for thousands."""
    refused = [(tp, each.error.name) for tp, each in judged.items() if each.error is not ErrorCode.NONE]
    if refused:
        log.info("Broker %d is refused %d ISR changes, first of %s: %s", broker_id, len(refused), *refused[0])


def _outcome(judged: Judged, found: LeaderAndIsr | None) -> Judged:
    """After the write. Where its own words are found it was made, though its reply was lost."""
    if found is None:
        return Judged(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert judged.state is not None
    is_made = replace(judged.state, zk_version=found.zk_version) == found
    return Judged(ErrorCode.NONE, found) if is_made else Judged(ErrorCode.INVALID_UPDATE_VERSION)
