"""Asks a transaction's coordinator, here or on another broker, whether partitions are a part of it, before it begins in them (KIP-890)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError, ProtocolViolation
from broker_core.metadata.cache import MetadataCache
from broker_core.model import NO_EPOCH, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.transactions.transaction import Producer

if TYPE_CHECKING:
    from broker_core.replication.manager import ReplicaManager
    from broker_core.replication.txn_verification import Guard

VERSION = 5

Outcomes = Mapping[TopicPartition, ErrorCode]


class Verifier:
    def __init__(
        self,
        config: ConfigHolder,
        metadata: MetadataCache,
        channels: ChannelPool,
        *,
        replicas: ReplicaManager,
        coordinator: TransactionCoordinator,
    ) -> None:
        self._replicas = replicas
        self._config = config
        self._metadata = metadata
        self._channels = channels
        self._coordinator = coordinator

    async def refused(self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]) -> Outcomes:
        """Those of the partitions in which the producer's transaction may not begin, and why, be it that the coordinator did not answer.

        The others may be written to at once: it is open there, or the append is told of the answer, or refuses what is not led here.
        """
        verification = self._replicas.verification
        guards = {tp: guard for tp in partitions if (guard := self._begun(tp, producer.producer_id)) is not None}
        if not guards:
            return {}
        outcomes = await self._verified(transactional_id, producer, list(guards))
        for tp, guard in guards.items():
            if outcomes[tp] is ErrorCode.NONE:
                verification.confirm(tp, producer.producer_id, guard)
            else:
                verification.drop(tp, producer.producer_id, guard)
        return {tp: code for tp, code in outcomes.items() if code is not ErrorCode.NONE}

    def _ended_by(self, tp: TopicPartition, producer_id: int) -> int:
        """The epoch of the coordinator whose marker was the producer's last one there. Of an earlier one nothing is believed: it may count
        the partition in a transaction that has ended since, and what it confirms would open one that nobody ends."""
        partition = self._replicas.partitions.get(tp)
        entry = None if partition is None or partition.log is None else partition.log.producer_state.entries.get(producer_id)
        return NO_EPOCH if entry is None else entry.coordinator_epoch

    def _begun(self, tp: TopicPartition, producer_id: int) -> Guard | None:
        try:
            return self._replicas.verification.begin(self._replicas.partitions.hosted(tp), producer_id)
        except KafkaError:
            return None

    async def _verified(self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]) -> Outcomes:
        try:
            partition = self._coordinator.topic.partition_for(transactional_id)
            state = self._metadata.partition(TopicPartition(self._coordinator.topic.name, partition))
            leader = None if state is None else self._metadata.broker(state.leader)
            if state is None or leader is None:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the transaction's coordinator is not known")
            if any(self._ended_by(tp, producer.producer_id) > state.leader_epoch for tp in partitions):
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "only a former coordinator of the transaction is known")
            if leader.broker_id == self._replicas.broker_id:
                return await self._coordinator.verify(transactional_id, producer, partitions)
            endpoint = leader.inter_broker(self._config.static.inter_broker_listener_name)
            channel = self._channels.channel(endpoint.host, endpoint.port, "verify")
            question = _question(transactional_id, producer, partitions)
            answer = await channel.request(ApiKey.ADD_PARTITIONS_TO_TXN, VERSION, question, self._config.current.request_timeout_ms)
            return _outcomes(answer, partitions)
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)
        except (ConnectionError, TimeoutError, ProtocolViolation, ValueError):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)


def _question(transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]) -> dict[str, Any]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    row = {
        "transactional_id": transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "verify_only": True,
        "topics": [{"name": topic, "partitions": numbers} for topic, numbers in topics.items()],
    }
    return {"transactions": [row]}


def _outcomes(answer: Any, partitions: Sequence[TopicPartition]) -> Outcomes:
    """What is not in the answer was not answered."""
    whole = ErrorCode(int(answer.error_code))
    found = {
        TopicPartition(topic.name, row.partition_index): ErrorCode(int(row.partition_error_code))
        for transaction in answer.results_by_transaction
        for topic in transaction.topic_results
        for row in topic.results_by_partition
    }
    missing = ErrorCode.NETWORK_EXCEPTION if whole is ErrorCode.NONE else whole
    return {tp: found.get(tp, missing) for tp in partitions}
