"""Writing samples to a topic of the local cluster. Blocking: runs in a thread of `live`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import kafka.errors
from kafka import KafkaProducer

from console.gateway.errors import GatewayError, from_kafka
from console.gateway.kafka_cluster import KafkaCluster

SEND_TIMEOUT_S = 8.0
TOPIC_ALREADY_EXISTS = 36


class SampleTopic:
    def __init__(self, servers: str, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        self._servers, self._topic, self._partitions, self._config = servers, topic, partitions, config
        self._producer: KafkaProducer | None = None

    def write(self, records: Sequence[tuple[bytes, bytes]]) -> None:
        """All of them acknowledged, or `GatewayError` (some may be written: readers take the newest of a key and time)."""
        try:
            producer = self._open()
            sent = [producer.send(self._topic, key=key, value=value) for key, value in records]
            producer.flush(timeout=SEND_TIMEOUT_S)
            for future in sent:
                future.get(timeout=SEND_TIMEOUT_S)
        except (kafka.errors.KafkaError, OSError, RuntimeError, AssertionError) as error:
            self.close()
            raise from_kafka(error, self._servers) from error

    def _open(self) -> KafkaProducer:
        if self._producer is None:
            self._create()
            self._producer = KafkaProducer(
                bootstrap_servers=self._servers.split(","),
                client_id="highwater-samples",
                acks="all",
                linger_ms=20,
                request_timeout_ms=5_000,
                delivery_timeout_ms=7_500,
                max_block_ms=4_000,
                compression_type="gzip",
            )
        return self._producer

    def _create(self) -> None:
        try:
            KafkaCluster(self._servers).create_topic(self._topic, self._partitions, -1, self._config)
        except GatewayError as error:
            if error.code != TOPIC_ALREADY_EXISTS:
                raise

    def close(self) -> None:
        """A producer with records that nobody takes cannot be closed: it is kept, and they expire by its delivery timeout."""
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                producer.close(timeout=1)
            except kafka.errors.KafkaTimeoutError:
                self._producer = producer
