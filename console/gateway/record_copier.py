"""Writing again what was read: key, value, headers and time stay as they are. Blocking and hungry for memory: for the copying process."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message, Producer

from console.gateway.connection import Connection
from console.gateway.errors import GatewayError, from_librdkafka
from console.gateway.librdkafka import options
from console.gateway.record_log import RECORD_BYTES_MAX

DELIVERY_S, SETTLE_S = 5, 6.0
FULL_POLL_S = 0.05
Header = tuple[str, bytes]


class Copier:
    """To one topic of a cluster, all in order as far as they go to one partition. All methods raise `GatewayError`."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._servers, self._topic, self._failed, self._acked, self._sent = connection.bootstrap_servers, topic, list[KafkaError](), 0, 0
        try:
            self._producer = Producer(
                {
                    **options(connection),
                    "enable.idempotence": True,
                    "partitioner": "murmur2_random",
                    "linger.ms": 5,
                    "message.max.bytes": RECORD_BYTES_MAX,
                    "delivery.timeout.ms": DELIVERY_S * 1000,
                    "request.timeout.ms": DELIVERY_S * 1000 - 1000,
                    "allow.auto.create.topics": False,
                }
            )
        except (KafkaException, ValueError) as error:
            raise GatewayError("NOT_CONFIGURED", f"{self._servers} cannot be reached so: {error}") from error

    def send(self, message: Message, *, partition: int | None, mark: Header | None) -> None:
        """Begins to write it; `partition` None: by its key."""
        kind, at_ms = message.timestamp()
        headers: list[Any] = [*(message.headers() or ()), *([mark] if mark else ())]
        where: dict[str, Any] = {} if partition is None else {"partition": partition}
        where |= {"timestamp": at_ms} if kind != TIMESTAMP_NOT_AVAILABLE and at_ms >= 0 else {}
        while True:
            try:
                self._producer.produce(self._topic, message.value(), message.key(), headers=headers, on_delivery=self._told, **where)
                break
            except BufferError:
                self._producer.poll(FULL_POLL_S)
            except KafkaException as error:
                raise from_librdkafka(error.args[0], self._servers) from error
        self._sent += 1
        self._producer.poll(0)
        self._raise()

    def settle(self) -> None:
        """Returns once all are acknowledged by all replicas in sync."""
        end_s = time.monotonic() + SETTLE_S
        while self._acked < self._sent and time.monotonic() < end_s:
            self._producer.flush(FULL_POLL_S)
            self._raise()
        if self._acked < self._sent:
            raise GatewayError("NOT_ACKNOWLEDGED", f"{self._topic} did not acknowledge all records in time", retriable=True)

    def _told(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._acked += 1
        else:
            self._failed.append(error)

    def _raise(self) -> None:
        if self._failed:
            raise from_librdkafka(self._failed[0], self._servers)
