"""Writing records to a topic: each once, in the order given as far as they go to one partition. Blocking, for `WRITE_S` at most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from console.gateway.connection import Connection
from console.gateway.errors import GatewayError, from_librdkafka
from console.gateway.librdkafka import options
from console.rules.records.writing import BYTES_MAX, Raw

WRITE_S = 15.0


class Written(NamedTuple):
    """Where a record is, or why it is nowhere; of one whose acknowledgement did not come, `error` says that it may be there."""

    partition: int | None
    offset: int | None
    error: str


def write(connection: Connection, topic: str, records: Sequence[Raw]) -> list[Written]:
    """One answer a record; `GatewayError` where none was written. Keys map to partitions as with Kafka's own client."""
    servers = connection.bootstrap_servers
    try:
        producer = Producer(
            {
                **options(connection),
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "message.max.bytes": BYTES_MAX + 1_000_000,
                "delivery.timeout.ms": int(WRITE_S * 1000) - 3_000,
                "request.timeout.ms": 5_000,
                "allow.auto.create.topics": False,
            }
        )
    except (KafkaException, ValueError) as error:
        raise GatewayError("NOT_CONFIGURED", f"{servers} cannot be reached so: {error}") from error
    answers = [Written(None, None, "It was not acknowledged in time; it may have been written.")] * len(records)
    errors: list[KafkaError] = []
    for number, record in enumerate(records):
        _send(producer, topic, record, partial(_told, answers, errors, number))
    producer.flush(WRITE_S)
    if all(answer.offset is None for answer in answers):
        raise from_librdkafka(errors[0] if errors else None, servers)
    return answers


def _send(producer: Producer, topic: str, record: Raw, told: partial[None]) -> None:
    place = {} if record.partition is None else {"partition": record.partition}
    headers: list[tuple[str, bytes | None]] = record.headers
    try:
        producer.produce(topic, value=record.value, key=record.key, headers=headers, on_delivery=told, **place)  # type: ignore[arg-type]
        producer.poll(0)
    except KafkaException as error:
        told(error.args[0], None)


def _told(answers: list[Written], errors: list[KafkaError], number: int, error: KafkaError | None, message: Message | None) -> None:
    if error is not None:
        errors.append(error)
        answers[number] = Written(None, None, error.str())
    elif message is not None:
        answers[number] = Written(message.partition(), message.offset(), "")
