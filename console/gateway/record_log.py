"""A topic's records, read by librdkafka: no group, no commits. Blocking and hungry for memory: for the reading process alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from console.gateway.connection import Connection
from console.gateway.errors import GatewayError, from_code, from_librdkafka
from console.gateway.librdkafka import options

ASK_S = 10.0
POLL_S = 0.02
BATCH_RECORDS = 2_000
QUEUED_KBYTES = 32 * 1024
FETCH_BYTES = 4 * 1024 * 1024
RECORD_BYTES_MAX = 256 * 1024 * 1024
"""A response with a larger one is not taken."""
EARLIEST, LATEST = -2, -1
END, LOST = KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET
FATAL = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.TOPIC_AUTHORIZATION_FAILED)


class RecordLog:
    """One topic of a cluster. All methods raise `GatewayError`."""

    def __init__(self, connection: Connection, topic: str, *, committed: bool = False) -> None:
        """With `committed` it ends where open transactions begin, and records of aborted ones are left out."""
        self._servers, self._topic = connection.bootstrap_servers, topic
        try:
            self._consumer = Consumer(
                {
                    **options(connection),
                    "group.id": "highwater-console-reads-without-a-group",
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "error",
                    "isolation.level": "read_committed" if committed else "read_uncommitted",
                    "allow.auto.create.topics": False,
                    "fetch.wait.max.ms": 100,
                    "fetch.queue.backoff.ms": 5,
                    "fetch.error.backoff.ms": 200,
                    "max.partition.fetch.bytes": FETCH_BYTES,
                    "fetch.max.bytes": 4 * FETCH_BYTES,
                    "receive.message.max.bytes": RECORD_BYTES_MAX,
                    "queued.max.messages.kbytes": QUEUED_KBYTES,
                    "queued.min.messages": 200_000,
                }
            )
        except (KafkaException, ValueError) as error:
            raise GatewayError("NOT_CONFIGURED", f"{self._servers} cannot be reached so: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None) -> None:
        self._consumer.close()

    def partitions(self) -> list[int]:
        """Their numbers."""
        try:
            found = self._consumer.list_topics(self._topic, timeout=ASK_S).topics[self._topic]
        except KafkaException as error:
            raise from_librdkafka(error.args[0], self._servers) from error
        if found.error is not None:
            raise from_code(found.error.code(), found.error.str())
        return sorted(found.partitions)

    def ends(self, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
        """`{partition: (first offset, end)}`; the end is the high watermark."""
        numbers = list(partitions)
        first, last = self.offsets(numbers, EARLIEST), self.offsets(numbers, LATEST)
        return {number: (first[number], last[number]) for number in numbers}

    def offsets(self, partitions: Iterable[int], timestamp_ms: int) -> dict[int, int]:
        """The first offset of that time or later, -1 where there is none; or `EARLIEST`, `LATEST`."""
        wanted = [TopicPartition(self._topic, number, timestamp_ms) for number in partitions]
        try:
            answers = self._consumer.offsets_for_times(wanted, timeout=ASK_S)
        except KafkaException as error:
            raise from_librdkafka(error.args[0], self._servers) from error
        for answer in answers:
            if answer.error is not None:
                raise from_librdkafka(answer.error, self._servers)
        return {answer.partition: answer.offset for answer in answers}

    def seek(self, positions: Mapping[int, int]) -> None:
        """From now on these partitions are read, from these offsets."""
        self._consumer.assign([TopicPartition(self._topic, number, offset) for number, offset in positions.items()])

    def leave(self, partition: int) -> None:
        """It is not read any more."""
        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])

    def move(self, partition: int, offset: int) -> None:
        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])
        self._consumer.incremental_assign([TopicPartition(self._topic, partition, offset)])

    def batches(self) -> Iterator[list[Message]]:
        """Without an end, some of them empty: records, and what is told of a partition (`END`: its offset is where the log ends now;
        `LOST`: it was deleted where it was to be read)."""
        while True:
            batch = self._consumer.consume(BATCH_RECORDS, POLL_S)
            for message in batch:
                error = message.error()
                if error is not None:
                    self._judge(error)
            yield batch

    def _judge(self, error: KafkaError) -> None:
        if error.code() in FATAL or error.fatal():
            raise from_librdkafka(error, self._servers)
