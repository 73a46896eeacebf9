"""DescribeProducers v0: the producers that this broker's replica of a partition remembers, be it leader or follower (spec G4)."""

from __future__ import annotations

from typing import Any

from broker_core.admin.names import check_topic_name
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure, known_partition, partitions_of, topic_rows
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_topics
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.storage.producer_state import ProducerStateEntry


@handler(ApiKey.DESCRIBE_PRODUCERS, versions=range(0, 1), needs=on_topics(Operation.READ))
async def handle(request: Request) -> Answer:
    """One row per partition asked for, however often it is named."""
    rows = {tp: _partition(request, tp) for tp in partitions_of(request.body.topics)}
    return {"topics": topic_rows(rows)}


def _partition(request: Request, partition: TopicPartition) -> dict[str, Any]:
    try:
        check_topic_name(partition.topic)
        known_partition(request, partition)
        log = request.broker.replicas.partitions.hosted(partition).replica()
    except KafkaError as error:
        code, message = failure(error)
        return {"partition_index": partition.partition, "error_code": int(code), "error_message": message, "active_producers": []}
    producers = [_producer(entry) for entry in log.producer_state.entries.values()]
    return {"partition_index": partition.partition, "error_code": int(ErrorCode.NONE), "error_message": None, "active_producers": producers}


def _producer(entry: ProducerStateEntry) -> dict[str, Any]:
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.epoch,
        "last_sequence": entry.last_sequence,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": entry.txn_first_offset,
    }
