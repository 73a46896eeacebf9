"""Elections that somebody asks for: ElectLeaders, `/admin/preferred_replica_election`, and the automatic balance."""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence

from broker_core.controller.context import ControllerContext
from broker_core.controller.deciders.balance import partitions_to_move
from broker_core.controller.deciders.election import Strategy
from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.reassignments import Outcome
from broker_core.controller.state_changes import ElectionResult, StateChanges
from broker_core.controller.store.znodes import Znodes
from broker_core.coordination.layout import PREFERRED_ELECTION
from broker_core.coordination.store import StoreError, Watcher
from broker_core.coordination.znode_data import decode_preferred_election
from broker_core.errors import ErrorCode
from broker_core.model import LeaderAndIsr, TopicPartition

log = logging.getLogger(__name__)


class ElectionType(enum.IntEnum):
    """As in the ElectLeaders request."""

    PREFERRED = 0
    UNCLEAN = 1


class LeaderElections:
    """One term's elections on request."""

    def __init__(self, context: ControllerContext, znodes: Znodes, changes: StateChanges) -> None:
        self._context = context
        self._znodes = znodes
        self._changes = changes

    async def elect(self, partitions: Sequence[TopicPartition] | None, kind: ElectionType) -> dict[TopicPartition, Outcome]:
        """An outcome for each partition asked for, or for all of the cluster."""
        wanted = list(dict.fromkeys(self._context.partitions() if partitions is None else partitions))
        outcomes = {tp: self._refusal(tp, kind) for tp in wanted}
        electable = [tp for tp, refusal in outcomes.items() if refusal is None]
        results = await self._run(electable, kind)
        return {tp: refusal or _outcome(results.get(tp), kind) for tp, refusal in outcomes.items()}

    async def from_znode(self, watch: Watcher) -> None:
        """Preferred elections of what the znode lists; it is deleted, whatever came of them."""
        if await self._znodes.store.exists(PREFERRED_ELECTION, watch) is None:
            return
        read = await self._znodes.store.get(PREFERRED_ELECTION)
        try:
            outcomes = await self.elect(decode_preferred_election(read[0]), ElectionType.PREFERRED) if read else {}
        except StoreError as error:
            log.error("Preferred election refused: %s", error)
        else:
            log.info("Preferred election through %s: %s", PREFERRED_ELECTION, {str(tp): code.name for tp, (code, _) in outcomes.items()})
        await self._znodes.store.delete_all([PREFERRED_ELECTION])

    async def balance(self, most_percent: int) -> None:
        """Gives leadership back to preferred replicas of brokers that lead too little."""
        partitions = partitions_to_move(self._context, most_percent)
        if partitions:
            log.info("Leadership of %s goes back to the preferred replicas", [str(tp) for tp in partitions])
            await self._run(partitions, ElectionType.PREFERRED)

    async def _run(self, partitions: Sequence[TopicPartition], kind: ElectionType) -> dict[TopicPartition, ElectionResult]:
        strategy = Strategy.PREFERRED if kind is ElectionType.PREFERRED else Strategy.OFFLINE
        return await self._changes.move_partitions(partitions, PartitionState.ONLINE, strategy, unclean=kind is ElectionType.UNCLEAN)

    def _refusal(self, tp: TopicPartition, kind: ElectionType) -> Outcome | None:
        replicas, leadership = self._context.assignment(tp).replicas, self._context.leadership.get(tp)
        if not replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
        if self._context.is_being_deleted(tp.topic):
            return ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted."
        if leadership is None:
            return _unavailable(kind), "The partition has never had a leader."
        leader = leadership.state.leader
        needed = leader != replicas[0] if kind is ElectionType.PREFERRED else not self._context.is_live(leader)
        return None if needed else (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def _outcome(result: ElectionResult | None, kind: ElectionType) -> Outcome:
    if isinstance(result, LeaderAndIsr):
        return ErrorCode.NONE, None
    return _unavailable(kind), "No replica can lead the partition now." if result is None else result.message


def _unavailable(kind: ElectionType) -> ErrorCode:
    if kind is ElectionType.PREFERRED:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
