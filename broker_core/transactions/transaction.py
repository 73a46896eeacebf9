"""A transactional id as a state machine: who may write by it, and how far its present transaction has come. Pure.

Each event is a function that looks at the transaction and says what has to be stored before the event has happened: a `Target`; or the
code that the asker is told instead, NONE where what is asked for is so already. While a target is on its way into the log the
transaction is `pending`, and whoever wants to change it is told CONCURRENT_TRANSACTIONS, and asks again.

    EMPTY ── partition added ──► ONGOING ── end, time-out, a new producer ──► PREPARE_COMMIT | PREPARE_ABORT
      ▲                             ▲                                                    │ markers in all partitions
      └── InitProducerId ───────────┴──────────── COMPLETE_COMMIT | COMPLETE_ABORT ◄─────┘

A producer is fenced by a higher epoch: the next InitProducerId gives one, and a transaction that has to be aborted without its producer
ends in one, so that what that producer still sends is refused by the partitions, too (KIP-98, KIP-360).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.transactions.states import ENDING, OVER, TRANSITIONS, TransactionState

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NOT_STARTED = -1
LAST_EPOCH = (1 << 15) - 2
"""The last one that a producer is given; the one above is left for fencing it."""


class Producer(NamedTuple):
    """What a producer believes itself to be."""

    producer_id: int
    epoch: int


NEW_PRODUCER = Producer(NO_PRODUCER_ID, NO_EPOCH)


class Target(Struct, frozen=True):
    """What a transaction will be once this is stored. Times are in ms since the epoch."""

    state: TransactionState
    producer_id: int
    epoch: int
    previous_epoch: int
    timeout_ms: int
    partitions: tuple[TopicPartition, ...]
    started_ms: int
    updated_ms: int


class Transaction(Struct, eq=False):
    """`previous_id` and `previous_epoch` are what the producer had before the last InitProducerId in which it said who it was.

    `fence_failed`: the epoch was raised to fence the producer, and that could not be stored. It is not raised again: nobody was given it.
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    updated_ms: int
    epoch: int = NO_EPOCH
    previous_id: int = NO_PRODUCER_ID
    previous_epoch: int = NO_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = {}
    started_ms: int = NOT_STARTED
    pending: TransactionState | None = None
    fence_failed: bool = False

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epoch left to give."""
        return self.epoch >= LAST_EPOCH

    @property
    def ends_ms(self) -> int:
        """When an ongoing transaction has lasted too long."""
        return self.started_ms + self.timeout_ms

    def begin(self, target: Target) -> None:
        """The target is on its way into the log. One that may not follow is our own bug."""
        assert self.state in TRANSITIONS[target.state], f"{self.transactional_id!r} cannot move from {self.state} to {target.state}"
        self.pending = target.state

    def failed(self) -> None:
        """It could not be stored, as far as is known; a record that is in the log all the same is followed by the next one."""
        self.pending = None

    def reach(self, target: Target) -> None:
        """The target is stored."""
        if target.producer_id != self.producer_id:
            self.previous_id = self.producer_id
        self.producer_id, self.epoch, self.previous_epoch = target.producer_id, target.epoch, target.previous_epoch
        self.state, self.timeout_ms = target.state, target.timeout_ms
        self.partitions = dict.fromkeys(target.partitions)
        self.started_ms, self.updated_ms = target.started_ms, target.updated_ms
        self.pending, self.fence_failed = None, False


def needs_new_id(txn: Transaction, producer: Producer) -> bool:
    """Whether InitProducerId has to give the producer a new id, as its epochs are used up."""
    return txn.state in OVER and txn.is_exhausted and producer.epoch in (NO_EPOCH, txn.epoch)


def initialize(txn: Transaction, producer: Producer, timeout_ms: int, new_id: int | None, now_ms: int) -> Target | ErrorCode:
    """InitProducerId: the next epoch, which fences whoever has the present one. `producer` is who asks, `NEW_PRODUCER` if it does not say.

    An ongoing transaction is to be aborted first: CONCURRENT_TRANSACTIONS, as `fence` is the caller's to ask for. `new_id` is an id that
    nobody has, needed where `needs_new_id`.
    """
    if producer != NEW_PRODUCER and txn.pending is None and not _is_of(txn, producer):
        return ErrorCode.PRODUCER_FENCED
    needs_id = needs_new_id(txn, producer)
    if txn.pending is not None or txn.state not in OVER or (needs_id and new_id is None):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if needs_id and new_id is not None:
        return _emptied(new_id, (0, NO_EPOCH if producer == NEW_PRODUCER else txn.epoch), timeout_ms, now_ms)
    epochs = _next_epochs(txn, producer)
    return ErrorCode.PRODUCER_FENCED if epochs is None else _emptied(txn.producer_id, epochs, timeout_ms, now_ms)


def _next_epochs(txn: Transaction, producer: Producer) -> tuple[int, int] | None:
    """The producer's epoch and the one before, as it may say the next time that it was; None for a fenced one."""
    if producer == NEW_PRODUCER:
        return txn.epoch + 1, NO_EPOCH
    if txn.epoch == NO_EPOCH or (producer.epoch == txn.epoch and not txn.is_exhausted):
        return txn.epoch + 1, txn.epoch
    if producer.epoch == txn.previous_epoch:  # it asks again, not having heard the answer
        return txn.epoch, txn.previous_epoch
    return None


def _is_of(txn: Transaction, producer: Producer) -> bool:
    """Whether that may be the present producer, or the one before if all that is new is the id it was to be given."""
    if txn.epoch == NO_EPOCH or producer.producer_id == txn.producer_id:
        return True
    return producer.producer_id == txn.previous_id and producer.epoch >= LAST_EPOCH


def _emptied(producer_id: int, epochs: tuple[int, int], timeout_ms: int, now_ms: int) -> Target:
    return Target(TransactionState.EMPTY, producer_id, *epochs, timeout_ms, (), NOT_STARTED, now_ms)


def fence(txn: Transaction, now_ms: int) -> Target | ErrorCode:
    """The end of an ongoing transaction without its producer, whose epoch is over at once: what it sends meanwhile is refused."""
    if txn.pending is not None or txn.state is not TransactionState.ONGOING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    txn.epoch, txn.previous_epoch = (txn.epoch if txn.fence_failed else txn.epoch + 1), NO_EPOCH
    txn.fence_failed = True
    return _moved(txn, TransactionState.PREPARE_ABORT, tuple(txn.partitions), now_ms)


def add(txn: Transaction, producer: Producer, partitions: Iterable[TopicPartition], now_ms: int) -> Target | ErrorCode:
    """AddPartitionsToTxn, AddOffsetsToTxn: the partitions are a part of the transaction, which begins with the first of them."""
    refused = _refused(txn, producer)
    if refused is not ErrorCode.NONE:
        return refused
    if txn.pending is not None or txn.state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if txn.state is not TransactionState.ONGOING:
        return Target(TransactionState.ONGOING, *_producer_of(txn), txn.timeout_ms, tuple(dict.fromkeys(partitions)), now_ms, now_ms)
    new = dict.fromkeys(tp for tp in partitions if tp not in txn.partitions)
    return _moved(txn, TransactionState.ONGOING, (*txn.partitions, *new), now_ms) if new else ErrorCode.NONE


def verify(txn: Transaction, producer: Producer, tp: TopicPartition) -> ErrorCode:
    """NONE if the partition is a part of the producer's transaction (KIP-890). What is pending does not count: its marker will tell."""
    refused = _refused(txn, producer)
    if refused is not ErrorCode.NONE:
        return refused
    if txn.state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE if tp in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE


def end(txn: Transaction, producer: Producer, *, commit: bool, now_ms: int) -> Target | ErrorCode:
    """EndTxn: how the transaction ends. NONE if it has ended so already; INVALID_TXN_STATE if otherwise, or if there is none."""
    refused = _refused(txn, producer)
    if refused is not ErrorCode.NONE:
        return refused
    if txn.pending is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    preparing = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    complete = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    if txn.state is TransactionState.ONGOING:
        return _moved(txn, preparing, tuple(txn.partitions), now_ms)
    if txn.state is preparing:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE if txn.state is complete else ErrorCode.INVALID_TXN_STATE


def complete(txn: Transaction, now_ms: int) -> Target:
    """All markers are written."""
    is_commit = txn.state is TransactionState.PREPARE_COMMIT
    return _moved(txn, TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT, (), now_ms)


def _refused(txn: Transaction, producer: Producer) -> ErrorCode:
    if producer.producer_id != txn.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if producer.epoch == txn.epoch else ErrorCode.PRODUCER_FENCED


def _moved(txn: Transaction, state: TransactionState, partitions: tuple[TopicPartition, ...], now_ms: int) -> Target:
    return Target(state, *_producer_of(txn), txn.timeout_ms, partitions, txn.started_ms, now_ms)


def _producer_of(txn: Transaction) -> tuple[int, int, int]:
    return txn.producer_id, txn.epoch, txn.previous_epoch
