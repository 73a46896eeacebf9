"""Whether a transaction may begin in a partition: only where its coordinator counts the partition in (KIP-890).

A producer's batch may arrive after its transaction's marker. Taken then, it would begin a transaction that nobody ends, and hold every
reader of committed records up for ever. So before the first batch of a transaction the coordinator is asked; what is here lies between
its answer and the append. A marker that comes meanwhile takes the answer's worth away, as does a change of the leader.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import TopicPartition
from broker_core.records.header import BatchHeader
from broker_core.replication.partition import Partition
from broker_core.storage.producer_state import ProducerStateManager

GUARDS_MAX = 100_000
"""Questions whose write has not come; of more, the oldest are forgotten."""


class Guard(Struct, eq=False):
    """Questions to the coordinator about one producer id. It is confirmed by the answer that the partition is in the transaction;
    `asked` have no answer yet, and may be of another epoch, or of the transaction before."""

    leader_epoch: int
    confirmed: bool = False
    asked: int = 0


class TxnVerification:
    """Of one broker. `enabled` reads `transaction.partition.verification.enable`."""

    def __init__(self, enabled: Callable[[], bool]) -> None:
        self._enabled = enabled
        self._guards: dict[tuple[TopicPartition, int], Guard] = {}

    def begin(self, partition: Partition, producer_id: int) -> Guard | None:
        """The guard of the question that is now to be asked; None where none is needed: the transaction is open there already.

        One that is left of an earlier leadership, whose write was refused or never came, is worth nothing any more.
        """
        if not self._enabled() or partition.log is None or is_open(partition.log.producer_state, producer_id):
            return None
        guard = self._guards.get((partition.tp, producer_id))
        if guard is None or guard.leader_epoch != partition.leader_epoch:
            self._guards.pop((partition.tp, producer_id), None)
            guard = self._guards[partition.tp, producer_id] = Guard(partition.leader_epoch)
            while len(self._guards) > GUARDS_MAX:
                del self._guards[next(iter(self._guards))]
        guard.asked += 1
        return guard

    def drop(self, tp: TopicPartition, producer_id: int, guard: Guard) -> None:
        """The coordinator denied it; what others of the producer id asked for is not answered by that."""
        guard.asked -= 1
        if not guard.asked and not guard.confirmed and self._guards.get((tp, producer_id)) is guard:
            del self._guards[tp, producer_id]

    def confirm(self, tp: TopicPartition, producer_id: int, guard: Guard) -> None:
        """The coordinator's answer is worth nothing once a marker has come."""
        guard.asked -= 1
        guard.confirmed = self._guards.get((tp, producer_id)) is guard

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Just before an append. `KafkaError` NOT_ENOUGH_REPLICAS for a batch that would begin a transaction whose confirmation is worth
        nothing any more or has not come, NOT_LEADER_OR_FOLLOWER for one that was confirmed to an earlier leadership.

        A marker or another leadership has come since its producer asked, and it is not known here which: who comes again is told by
        the coordinator. INVALID_TXN_STATE, Kafka's code for all of these, is final, and ends a producer that did nothing wrong.
        One that a marker has fenced meanwhile is told so by the log.
        """
        if not header.is_transactional or header.is_control or not self._enabled() or partition.log is None:
            return
        known = partition.log.producer_state.entries.get(header.producer_id)
        if known is not None and (known.txn_first_offset >= 0 or header.producer_epoch < known.epoch):
            return
        guard = self._guards.get((partition.tp, header.producer_id))
        if guard is None or not guard.confirmed:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"producer {header.producer_id} has no transaction that {partition.tp} is known to be in"
            )
        if guard.leader_epoch != partition.leader_epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"another leader epoch of {partition.tp} has begun since it was confirmed")

    def began(self, tp: TopicPartition, header: BatchHeader) -> None:
        """The batch is in the log, which knows now that the transaction is open. After a refusal the answer is still good."""
        if header.is_transactional:
            self._guards.pop((tp, header.producer_id), None)

    def ended(self, tp: TopicPartition, producer_id: int) -> None:
        """A marker is in the partition's log."""
        self._guards.pop((tp, producer_id), None)


def is_open(producers: ProducerStateManager, producer_id: int) -> bool:
    entry = producers.entries.get(producer_id)
    return entry is not None and entry.txn_first_offset >= 0
