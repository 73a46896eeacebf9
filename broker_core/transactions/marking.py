"""The end of one transaction on its way to its partitions. Pure.

Every partition is told by a marker in its log; the transaction is complete once all have it. Which of them have it is not stored: after a
failover all are told again, which changes nothing where the marker is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker_core.model import TopicPartition
from broker_core.transactions.states import TransactionState
from broker_core.transactions.transaction import Transaction


class Marking:
    """`coordinator_epoch` gives the coordinator's present epoch, None once it is none; `done` is called once, when all have the marker."""

    def __init__(self, txn: Transaction, coordinator_epoch: Callable[[], int | None], done: Callable[[], None]) -> None:
        self.txn = txn
        self.producer_id = txn.producer_id
        self.producer_epoch = txn.epoch
        self.commit = txn.state is TransactionState.PREPARE_COMMIT
        self.left = dict.fromkeys(txn.partitions)
        self._coordinator_epoch = coordinator_epoch
        self._done: Callable[[], None] | None = done

    @property
    def coordinator_epoch(self) -> int | None:
        """None once nobody is to be told any more."""
        return None if self._done is None else self._coordinator_epoch()

    def marked(self, partitions: Iterable[TopicPartition]) -> None:
        """These have the marker, or are gone."""
        for tp in partitions:
            self.left.pop(tp, None)
        if not self.left and self._done is not None:
            done, self._done = self._done, None
            done()

    def give_up(self) -> None:
        """A partition has heard of a later coordinator or producer: this one has nothing more to say."""
        self._done = None
