"""Flaws of transactions, put in on purpose to prove that the simulator's checks would notice them (spec B17, G5).

Most are defects that Apache Kafka has had. Each is a function that takes a real one's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.offsets import GroupOffsets
from broker_core.model import TopicPartition
from broker_core.records.steps import Steps
from broker_core.replication.txn_verification import TxnVerification
from broker_core.storage.log import PartitionLog
from broker_core.storage.producer_state import CompletedTxn, ProducerStateManager
from broker_core.transactions import transaction
from broker_core.transactions.marker_sender import MarkerSender
from broker_core.transactions.marking import Marking
from broker_core.transactions.records import transaction_record
from broker_core.transactions.shard import TransactionShard
from broker_core.transactions.states import TransactionState
from broker_core.transactions.transaction import Target, Transaction


def _begin_unasked(self: TxnVerification, *_: Any) -> None:
    return None


def _forget_markers(self: TransactionShard) -> Steps[None]:
    for txn in list(self.transactions.values()):
        if txn.state is TransactionState.ONGOING:
            self.ongoing[txn.transactional_id] = txn
        yield


_send = MarkerSender.send


def _send_and_be_done(self: MarkerSender, marking: Marking) -> None:
    _send(self, marking)
    marking.marked(list(marking.left))


def _end_in_its_epoch(txn: Transaction, now_ms: int) -> Target | ErrorCode:
    if txn.pending is not None or txn.state is not TransactionState.ONGOING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return Target(
        TransactionState.PREPARE_ABORT,
        *(txn.producer_id, txn.epoch, txn.previous_epoch, txn.timeout_ms),
        *(tuple(txn.partitions), txn.started_ms, now_ms),
    )


def _complete_at_once(self: ProducerStateManager, completed: CompletedTxn) -> None:
    self.ongoing.pop(completed.first_offset, None)


_end_offsets = GroupOffsets.end_transaction


def _end_committed(self: GroupOffsets, producer_id: int, *, commit: bool) -> list[TopicPartition]:
    return _end_offsets(self, producer_id, commit=True)


async def _keep_producers(self: PartitionLog) -> None:
    self.producer_state.end_offset = self.log_end_offset


async def _append_unawaited(self: TransactionShard, txn: Transaction, target: Target) -> ErrorCode:
    try:
        self._writer.append([transaction_record(txn.transactional_id, target)])
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


FLAWS: Mapping[str, Callable[[], Iterable[Any]]] = {
    "late batch begins a transaction": lambda: (
        patch.object(TxnVerification, "begin", _begin_unasked),
        patch.object(TxnVerification, "check", _begin_unasked),
    ),
    "markers are forgotten by the next coordinator": lambda: (patch.object(TransactionShard, "loaded", _forget_markers),),
    "complete before its markers": lambda: (patch.object(MarkerSender, "send", _send_and_be_done),),
    "fenced in its own epoch": lambda: (patch.object(transaction, "fence", _end_in_its_epoch),),
    "stable before its marker is replicated": lambda: (patch.object(ProducerStateManager, "complete", _complete_at_once),),
    "aborted offsets count": lambda: (patch.object(GroupOffsets, "end_transaction", _end_committed),),
    "producers are kept when a log is cut": lambda: (patch.object(PartitionLog, "_rebuild_producers", _keep_producers),),
    "decided before it is stored": lambda: (patch.object(TransactionShard, "_append", _append_unawaited),),
}


@contextmanager
def flaw(name: str) -> Iterator[None]:
    """Is there meanwhile; none without a name."""
    with ExitStack() as stack:
        for each in FLAWS[name]() if name else ():
            stack.enter_context(each)
        yield
