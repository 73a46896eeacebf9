"""Transactions that are left open: by a real producer, and as a late request leaves them where nobody asks the coordinator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.protocol.producer import ProduceRequest

from broker_core.records.batch import build_batch
from broker_core.records.record import Record
from console.gateway import admin_clients
from console.gateway.connection import Connection
from console.gateway.kafka_cluster import KafkaCluster
from tests.support.cluster import eventually

VERIFICATION = "transaction.partition.verification.enable"
ACKS_ALL = -1
NEWEST_VERSION = 9
"""Of Produce: in later ones a transaction begins by the record itself (KIP-890, part 2)."""


def begun(servers: str, transactional_id: str, topic: str, values: Sequence[bytes], partition: int = 0, **settings: Any) -> Producer:
    """A producer in a transaction, with these values in one partition."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0
    return producer


def leave_hanging(servers: str, topic: str, partition: int, producer_id: int, at_ms: int) -> None:
    """One record of a transaction of which no coordinator knows, with that time. The brokers must not verify partitions (KIP-890)."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    records = build_batch([Record(0, at_ms, None, b"late")], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    data = ProduceRequest.TopicProduceData
    rows = [data(name=topic, partition_data=[data.PartitionProduceData(index=partition, records=records)])]
    try:

        def is_written() -> bool:
            (found,) = admin.describe_topics([topic])
            leader = next(row["leader_id"] for row in found["partitions"] if row["partition_index"] == partition)
            request = ProduceRequest(
                transactional_id="late", acks=ACKS_ALL, timeout_ms=10_000, topic_data=rows, min_version=3, max_version=NEWEST_VERSION
            )
            answer = admin._manager.run(admin._manager.send, request, leader)
            return all(row.error_code == 0 for one in answer.responses for row in one.partition_responses)

        eventually(is_written, 60, f"{topic}-{partition} takes a record of no transaction")
    finally:
        admin.close()


def verify(servers: str, *, partitions: bool) -> None:
    """Has all brokers ask coordinators before a transaction begins in a partition, or not."""
    connection = Connection(servers)
    try:
        KafkaCluster(connection).alter_broker_defaults({VERIFICATION: str(partitions).lower()})
    finally:
        admin_clients.throw_away(connection)
