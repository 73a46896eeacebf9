"""Writing samples to a topic of the local cluster. Blocking, but never longer than its limits: runs in a thread of `live`.

By librdkafka: kafka-python's idempotent producer (3.0.12) stands still for good, without an error, once a batch that was sent before
has expired (`reset_producer_id` leaves it READY without an id, and `init_producer_id` asks for one only when UNINITIALIZED).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from console.gateway.errors import from_librdkafka

WRITE_TIMEOUT_S = 6.0
CLOSE_TIMEOUT_S = 1.0
CREATE_TIMEOUT_S = 4.0
Record = tuple[bytes, bytes]


class SampleTopic:
    def __init__(self, servers: str, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        self._servers, self._topic, self._partitions, self._config = servers, topic, partitions, config
        self._producer: Producer | None = None

    def write(self, records: Sequence[Record]) -> list[Record]:
        """Those that were not acknowledged in time; `GatewayError` when none was (some may be written twice then: readers take the
        newest of a key and time)."""
        producer = self._open()
        left = set(range(len(records)))
        errors: list[KafkaError] = []
        for n, (key, value) in enumerate(records):
            try:
                producer.produce(self._topic, key=key, value=value, on_delivery=partial(_told, left, errors, n))
            except (BufferError, KafkaException) as error:
                errors += [error.args[0]] if isinstance(error, KafkaException) else []
                break
            producer.poll(0)
        producer.flush(WRITE_TIMEOUT_S)
        why = errors[0] if errors else None
        if left:
            self.close()
        if records and len(left) == len(records):
            raise from_librdkafka(why, self._servers)
        return [records[n] for n in sorted(left)]

    def _open(self) -> Producer:
        if self._producer is None:
            self._create()
            self._producer = Producer(
                {
                    "bootstrap.servers": self._servers,
                    "client.id": "highwater-samples",
                    "acks": "all",
                    "linger.ms": 20,
                    "socket.timeout.ms": 5_000,
                    "delivery.timeout.ms": 5_500,
                    "compression.type": "gzip",
                    "reconnect.backoff.max.ms": 1_000,
                    "log_level": 0,
                }
            )
        return self._producer

    def _create(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers, "client.id": "highwater-samples", "log_level": 0})
        wanted = NewTopic(self._topic, self._partitions, -1, config=dict(self._config))
        try:
            admin.create_topics([wanted], request_timeout=CREATE_TIMEOUT_S)[self._topic].result(CREATE_TIMEOUT_S + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise from_librdkafka(error.args[0], self._servers) from error
        except TimeoutError as error:
            raise from_librdkafka(None, self._servers) from error

    def close(self) -> None:
        """At once, whatever waits in it: a later try writes that, with a client that begins anew."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(CLOSE_TIMEOUT_S)


def _told(left: set[int], errors: list[KafkaError], n: int, error: KafkaError | None, _message: Message) -> None:
    if error is None:
        left.discard(n)
    else:
        errors.append(error)
