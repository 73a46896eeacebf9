"""The transactions of one partition of `__transaction_state`, and what carries out what is decided: appends, and the ends' markers.

A decision counts once it is stored. While that goes on others find the transaction pending; the wait for the replicas goes on without the
client that asked, so that the decision and what the log has do not part.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType

from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.partition_writer import COORDINATOR_ERRORS, PartitionWriter
from broker_core.errors import ErrorCode, KafkaError
from broker_core.records.steps import Steps
from broker_core.seams import Node
from broker_core.transactions.marker_sender import MarkerSender
from broker_core.transactions.marking import Marking
from broker_core.transactions.records import tombstone, transaction_record
from broker_core.transactions.replay import TransactionReplay
from broker_core.transactions.states import ENDING, OVER, TransactionState
from broker_core.transactions.transaction import Target, Transaction, complete

log = logging.getLogger(__name__)

RETRY_MS = 100.0
TOMBSTONES_MAX = 500
"""In one batch."""

TRANSACTION_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    dict(COORDINATOR_ERRORS)
    | {
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What producers are told when a decision could not be stored."""


class TransactionShard:
    """`ongoing` are those of `transactions` that may run out of time; `tell` is called with one that has changed or gone."""

    def __init__(
        self, node: Node, config: ConfigHolder, sender: MarkerSender, tell: Callable[[Transaction], None], writer: PartitionWriter
    ) -> None:
        self._node = node
        self._config = config
        self._sender = sender
        self._tell = tell
        self._writer = writer
        self.transactions: dict[str, Transaction] = {}
        self.ongoing: dict[str, Transaction] = {}

    @property
    def now_ms(self) -> int:
        return self._node.clock.now_ms()

    # -- as the runtime's shard -----------------------------------------------------------------------------------------

    def playback(self) -> TransactionReplay:
        return TransactionReplay()

    def build(self, playback: TransactionReplay) -> Steps[int]:
        self.transactions = playback.transactions
        yield
        return len(self.transactions)

    def loaded(self) -> Steps[None]:
        """Those whose end was decided are brought to it; none of them can have moved on meanwhile."""
        for txn in list(self.transactions.values()):
            if txn.state is TransactionState.ONGOING:
                self.ongoing[txn.transactional_id] = txn
            elif txn.state in ENDING and txn.pending is None:
                self._mark(txn)
            self._tell(txn)
            yield

    def unloaded(self) -> None:
        """What waits for an append is told by the append itself, whose epoch is over."""
        self.transactions, self.ongoing = {}, {}

    # -- transactions ---------------------------------------------------------------------------------------------------

    def create(self, txn: Transaction) -> None:
        self.transactions[txn.transactional_id] = txn

    async def store(self, txn: Transaction, target: Target) -> ErrorCode:
        """NONE once the target is stored and the transaction has reached it; an end that was decided goes on from there."""
        txn.begin(target)
        return await asyncio.shield(self._node.spawn(self._store(txn, target), name="transaction-store"))

    async def _store(self, txn: Transaction, target: Target) -> ErrorCode:
        error = await self._append(txn, target)
        if error is not ErrorCode.NONE:
            txn.failed()
            return TRANSACTION_ERRORS.get(error, error)
        self._reached(txn, target)
        if txn.state in ENDING:
            self._mark(txn)
        return ErrorCode.NONE

    async def _append(self, txn: Transaction, target: Target) -> ErrorCode:
        try:
            info = self._writer.append([transaction_record(txn.transactional_id, target)])
        except KafkaError as error:
            return error.code
        error_code = await self._writer.replicated(info, self._config.current.request_timeout_ms)
        if self.transactions.get(txn.transactional_id) is not txn:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # resigned meanwhile
        return error_code

    def _reached(self, txn: Transaction, target: Target) -> None:
        txn.reach(target)
        if txn.state is TransactionState.ONGOING:
            self.ongoing[txn.transactional_id] = txn
        else:
            self.ongoing.pop(txn.transactional_id, None)
        self._tell(txn)

    # -- ends -----------------------------------------------------------------------------------------------------------

    def _mark(self, txn: Transaction) -> None:
        """Pending from here on: nothing else may become of it."""
        target = complete(txn, self.now_ms)
        txn.begin(target)
        self._sender.send(Marking(txn, lambda: self._writer.epoch, lambda: self._marked(txn, target)))

    def _marked(self, txn: Transaction, target: Target) -> None:
        self._node.spawn(self._complete(txn, target), name="transaction-complete")

    async def _complete(self, txn: Transaction, target: Target) -> None:
        """Until it is stored, or another coordinator's to store."""
        while self.transactions.get(txn.transactional_id) is txn and self._writer.epoch is not None:
            error = await self._append(txn, target)
            if error is ErrorCode.NONE:
                self._reached(txn, target)
                return
            log.info(
                "the end of a transaction is not stored yet",
                extra={"transactional_id": txn.transactional_id, "error": error.name},
            )
            await self._node.clock.sleep(RETRY_MS)

    # -- expiry ---------------------------------------------------------------------------------------------------------

    async def expire(self, expiration_ms: int) -> int:
        """Forgets ids that nobody has used for so long; returns how many. Others run between two parts of them."""
        names = list(self.transactions)
        gone = 0
        for start in range(0, len(names), TOMBSTONES_MAX):
            part = [txn for name in names[start : start + TOMBSTONES_MAX] if (txn := self.transactions.get(name)) is not None]
            gone += await self._bury(part, self.now_ms - expiration_ms)
            await self._node.clock.sleep(0)
        return gone

    async def _bury(self, candidates: list[Transaction], before_ms: int) -> int:
        due = [txn for txn in candidates if _is_due(txn, before_ms) and self.transactions.get(txn.transactional_id) is txn]
        for txn in due:
            txn.pending = TransactionState.DEAD
        try:
            info = self._writer.append([tombstone(txn.transactional_id) for txn in due]) if due else None
            error = ErrorCode.NONE if info is None else await self._writer.replicated(info, self._config.current.request_timeout_ms)
        except KafkaError as failure:
            error = failure.code
        for txn in due:
            if error is not ErrorCode.NONE:
                txn.failed()
            elif self.transactions.get(txn.transactional_id) is txn:
                del self.transactions[txn.transactional_id]
                txn.state = TransactionState.DEAD
                self._tell(txn)
        if error is not ErrorCode.NONE:
            log.warning("transactional ids not expired", extra={"count": len(due), "error": error.name})
        return len(due) if error is ErrorCode.NONE else 0


def _is_due(txn: Transaction, before_ms: int) -> bool:
    return txn.state in OVER and txn.pending is None and txn.updated_ms <= before_ms
