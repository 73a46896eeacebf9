"""The transaction coordinator: serves the transactional ids of the `__transaction_state` partitions that this broker leads (spec G5).

Every request is first checked: is this broker the id's coordinator, has it been loaded? Then the transaction says what is to be stored
(`transaction.py`), and its shard stores it; where nothing is stored, and a producer would take the answer for final, the store is asked
whether this broker is still in office. Transactions that last too long are aborted, ids that nobody uses any more forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.coordinator_runtime.office import Office
from broker_core.coordinator_runtime.runtime import CoordinatorRuntime
from broker_core.coordinator_runtime.state_topic import StateTopic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.metadata.cache import MetadataCache
from broker_core.model import TRANSACTION_STATE, TopicPartition
from broker_core.seams import Node
from broker_core.transactions import transaction
from broker_core.transactions.marker_sender import MarkerSender
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.transactions.shard import TransactionShard
from broker_core.transactions.states import TransactionState
from broker_core.transactions.transaction import Producer, Target, Transaction

if TYPE_CHECKING:
    from broker_core.replication.manager import ReplicaManager

log = logging.getLogger(__name__)

MAX_ID_BYTES = (1 << 15) - 1
MAX_IDS = 200_000
"""Transactional ids of a coordinator: each is held in memory until it expires, on nothing but a client's word."""


class TransactionCoordinator:
    """One per broker. `start` before it is told of roles; after `close` everything is answered COORDINATOR_NOT_AVAILABLE."""

    def __init__(
        self,
        node: Node,
        config: ConfigHolder,
        replicas: ReplicaManager,
        metadata: MetadataCache,
        *,
        channels: ChannelPool,
        producer_ids: ProducerIds,
    ) -> None:
        self._node = node
        self._config = config
        self._producer_ids = producer_ids
        self._metadata = metadata
        self._broker_id = replicas.broker_id
        self._active = False
        self._is_watching = False
        self._watchers: list[Callable[[str], None]] = []
        self.topic = StateTopic(TRANSACTION_STATE, node.spawn, config, metadata)
        self.sender = MarkerSender(node, config, metadata, channels)
        make_shard = partial(TransactionShard, node, config, self.sender, self._tell)
        load_bytes = lambda: config.current.transaction_state_log_load_buffer_size  # noqa: E731
        self.runtime = CoordinatorRuntime(node, self.topic, replicas, make_shard, load_bytes)
        self._office = Office(node)

    def start(self) -> None:
        self._active = True

    def close(self) -> None:
        self._active = False
        self.runtime.close()

    def watch_changes(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Calls `watcher(transactional_id)` when one has changed or gone; returns how to stop that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _tell(self, txn: Transaction) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._node.spawn(self._abort_late_ones(), name="transaction-timeouts")
            self._node.spawn(self._expire_ids(), name="transactional-id-expiry")
        for watcher in tuple(self._watchers):
            watcher(txn.transactional_id)

    def _shard(self, transactional_id: str) -> TransactionShard:
        """Where the id's state is; `KafkaError` if this broker cannot answer for it now."""
        if not transactional_id or len(transactional_id.encode()) > MAX_ID_BYTES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{transactional_id[:80]!r} cannot be a transactional id")
        if not self._active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker is starting or stopping")
        return self.runtime.shard_for(transactional_id)

    def _existing(self, transactional_id: str, absent: ErrorCode) -> tuple[TransactionShard, Transaction]:
        shard = self._shard(transactional_id)
        txn = shard.transactions.get(transactional_id)
        if txn is None:
            raise KafkaError(absent, f"nothing is known of the transactional id {transactional_id[:80]!r}")
        return shard, txn

    async def _known(self, transactional_id: str) -> tuple[TransactionShard, Transaction]:
        try:
            return self._existing(transactional_id, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        except KafkaError as error:
            if error.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING:
                await self._must_be_in_office(transactional_id)
            raise

    async def _must_be_in_office(self, transactional_id: str) -> None:
        """Before an answer from memory alone. `KafkaError` NOT_COORDINATOR where the store knows another leader epoch, or does not say."""
        partition, epoch = self.runtime.tenure_for(transactional_id)
        if epoch is None or not await self._office.is_held(TopicPartition(self.topic.name, partition), epoch):
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"this broker may not be the coordinator of {transactional_id[:80]!r} any more")

    # -- a producer's requests ------------------------------------------------------------------------------------------

    async def initialize(self, transactional_id: str, timeout_ms: int, producer: Producer) -> Producer:
        """InitProducerId: what the producer is from now on; `producer` is what it says to have been. Raises `KafkaError`.

        CONCURRENT_TRANSACTIONS while the transaction that it had left is brought to its end.
        """
        if not 0 < timeout_ms <= self._config.current.transaction_max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, f"a transaction of {timeout_ms} ms is not allowed")
        shard = self._shard(transactional_id)
        txn = shard.transactions.get(transactional_id)
        new_id = None
        if txn is None or transaction.needs_new_id(txn, producer):
            new_id = await self._producer_ids.next_id()
            shard = self._shard(transactional_id)
            txn = shard.transactions.get(transactional_id)
        if txn is None:
            assert new_id is not None
            txn = self._create(shard, Transaction(transactional_id, new_id, timeout_ms, shard.now_ms))
        target = transaction.initialize(txn, producer, timeout_ms, new_id, shard.now_ms)
        if target is ErrorCode.CONCURRENT_TRANSACTIONS and txn.state is TransactionState.ONGOING and txn.pending is None:
            error = await self._abort(shard, txn, "a new producer has come")
            target = target if error is ErrorCode.NONE else error
        await self._store(shard, txn, target)
        return Producer(txn.producer_id, txn.epoch)

    def _create(self, shard: TransactionShard, txn: Transaction) -> Transaction:
        if sum(len(one.transactions) for one in self.runtime.shards.values()) >= MAX_IDS:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"this coordinator has {MAX_IDS} transactional ids already")
        shard.create(txn)
        return txn

    async def add_partitions(self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]) -> None:
        """The partitions are a part of the producer's transaction once this returns. Raises `KafkaError`."""
        shard, txn = await self._known(transactional_id)
        await self._store(shard, txn, transaction.add(txn, producer, partitions, shard.now_ms))

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Which of the partitions are a part of the producer's transaction (KIP-890). Raises `KafkaError`.

        What is confirmed here is not final: who asks believes none that was asked of an earlier coordinator than has ended one there.
        """
        _, txn = await self._known(transactional_id)
        found = {tp: transaction.verify(txn, producer, tp) for tp in partitions}
        if any(code is not ErrorCode.NONE and code is not ErrorCode.CONCURRENT_TRANSACTIONS for code in found.values()):
            await self._must_be_in_office(transactional_id)
        return found

    async def end(self, transactional_id: str, producer: Producer, *, commit: bool) -> None:
        """The end is decided once this returns; the markers follow. Raises `KafkaError`."""
        shard, txn = await self._known(transactional_id)
        await self._store(shard, txn, transaction.end(txn, producer, commit=commit, now_ms=shard.now_ms))

    async def _store(self, shard: TransactionShard, txn: Transaction, target: Target | ErrorCode) -> None:
        if isinstance(target, ErrorCode):
            error = target
            if error is not ErrorCode.CONCURRENT_TRANSACTIONS:
                await self._must_be_in_office(txn.transactional_id)
        else:
            error = await shard.store(txn, target)
        if error is not ErrorCode.NONE:
            told = {"state": txn.state.value, "pending": txn.pending and txn.pending.value, "producer": txn.producer_id, "epoch": txn.epoch}
            raise KafkaError(error, f"the transaction of {txn.transactional_id[:80]!r} is {told}")

    # -- what time brings -----------------------------------------------------------------------------------------------

    async def _abort(self, shard: TransactionShard, txn: Transaction, reason: str) -> ErrorCode:
        target = transaction.fence(txn, shard.now_ms)
        if isinstance(target, ErrorCode):
            return target
        error = await shard.store(txn, target)
        log.info(
            "transaction aborted",
            extra={"transactional_id": txn.transactional_id, "producer": txn.producer_id, "reason": reason, "error": error.name},
        )
        return error

    async def _abort_late_ones(self) -> None:
        while self._active:
            await self._node.clock.sleep(self._config.current.transaction_abort_timed_out_transaction_cleanup_interval_ms)
            for shard in tuple(self.runtime.shards.values()):
                for txn in tuple(shard.ongoing.values()):
                    txn.started_ms = min(
                        txn.started_ms, shard.now_ms
                    )  # the coordinator before had a clock that was ahead, or this one's was set back
                    if txn.ends_ms < shard.now_ms and txn.pending is None:
                        self._node.spawn(self._abort(shard, txn, f"it lasted longer than {txn.timeout_ms} ms"), name="late-transaction")

    async def _expire_ids(self) -> None:
        while self._active:
            await self._node.clock.sleep(self._config.current.transaction_remove_expired_transaction_cleanup_interval_ms)
            for shard in tuple(self.runtime.shards.values()):
                await shard.expire(self._config.current.transactional_id_expiration_ms)

    # -- administration -------------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> Transaction:
        """Raises `KafkaError`; TRANSACTIONAL_ID_NOT_FOUND if nothing is known of it."""
        _, txn = self._existing(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return txn

    def listed(self) -> tuple[ErrorCode, Iterable[Transaction]]:
        """All transactions here; while a partition loads the list is incomplete, and the code says so."""
        if not self._active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, ()
        loading = self.runtime.ownership.is_loading_any or self._is_behind()
        shards = tuple(self.runtime.shards.values())
        found = chain.from_iterable(shard.transactions.values() for shard in shards)
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NONE, found

    def _is_behind(self) -> bool:
        """Whether brokers hear already that a partition is led here whose transactions are not here yet."""
        led = (number for number, state in self._metadata.partitions(self.topic.name).items() if state.leader == self._broker_id)
        return any(number not in self.runtime.shards for number in led)
