"""Clients that write in transactions, by three libraries: each transaction writes its number to some partitions, and the group's offset.

A transaction that ends in an error is of unknown end, and its producer begins anew with its id: the cluster says what became of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka import TopicPartition as AiokafkaPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Partition
from kafka import KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.structs import OffsetAndMetadata

from tests.chaos.load import NUMBER, TAIL

WRITTEN = 3
"""Partitions of a transaction."""
ABORTED_EVERY = 4
PAUSE_SECONDS = 0.2
PATIENCE_SECONDS = 120.0
READ_SECONDS = 300.0
STUCK_SECONDS = 2 * PATIENCE_SECONDS
"""librdkafka 2.16 may stay in `send_offsets_to_transaction` for as long as no broker comes or goes, whatever time-out it is given
(confluentinc/librdkafka#5456, #5511)."""
SHOWN = 5


def group_of(topic: str) -> str:
    return f"group-of-{topic}"


class Session(Protocol):
    """One producer of a library; every method raises what the library raises."""

    def begin(self) -> None: ...
    def write(self, topic: str, value: bytes, offset: int) -> None:
        """To the partitions, and the offset to the group; returns once the records are acknowledged."""

    def end(self, *, commit: bool) -> bool:
        """Whether it was committed."""

    def close(self) -> None: ...


class Librdkafka:
    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 5, "log_level": 2}
        self._producer = Producer(settings)
        self._groups: dict[str, Any] = {}
        self._again(lambda: self._producer.init_transactions(PATIENCE_SECONDS))

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, topic: str, value: bytes, offset: int) -> None:
        for partition in range(WRITTEN):
            self._producer.produce(topic, value, partition=partition)
        group = self._groups[topic] = self._groups.get(topic) or _consumer_group(group_of(topic))
        self._again(lambda: self._producer.send_offsets_to_transaction([Partition(topic, 0, offset)], group, PATIENCE_SECONDS))
        if left := self._producer.flush(PATIENCE_SECONDS):
            raise TimeoutError(f"{left} records without a report")

    def end(self, *, commit: bool) -> bool:
        if commit:
            try:
                self._again(lambda: self._producer.commit_transaction(PATIENCE_SECONDS))
            except KafkaException as failure:
                if not failure.args[0].txn_requires_abort():
                    raise
            else:
                return True
        self._again(lambda: self._producer.abort_transaction(PATIENCE_SECONDS))
        return False

    def close(self) -> None:
        self._producer.purge()

    @staticmethod
    def _again(ask: Callable[[], object]) -> None:
        """As long as librdkafka says that it may be tried again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                ask()
            except KafkaException as failure:
                if not failure.args[0].retriable() or time.monotonic() > deadline:
                    raise
            else:
                return


def _consumer_group(group_id: str) -> Any:
    """What librdkafka wants to know of a group: that of a consumer that never joined it."""
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": group_id, "log_level": 0})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


class KafkaPython:
    """Some of its calls have no end of their own: a request that is lost in it is waited for for ever."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id, max_block_ms=PATIENCE_SECONDS * 1000)
        try:
            _within_patience(self._producer.init_transactions)
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, topic: str, value: bytes, offset: int) -> None:
        sent = [self._producer.send(topic, value, partition=partition) for partition in range(WRITTEN)]
        ends = {PythonPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        _within_patience(lambda: self._producer.send_offsets_to_transaction(ends, group_of(topic)))
        for one in sent:
            one.get(PATIENCE_SECONDS)

    def end(self, *, commit: bool) -> bool:
        _within_patience(self._producer.commit_transaction if commit else self._producer.abort_transaction)
        return commit

    def close(self) -> None:
        self._producer.close(timeout=1)


def _within_patience(call: Callable[[], object]) -> None:
    """Raises what the call raises, or TimeoutError; it may go on then, in a thread of its own."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except Exception as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, name="a call of kafka-python", daemon=True).start()
    ended.result(PATIENCE_SECONDS)


class Aiokafka:
    """On a loop of its own, which lives while one of its methods runs."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._producer = self._run(self._started(bootstrap, transactional_id))

    async def _started(self, bootstrap: str, transactional_id: str) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
        await producer.start()
        return producer

    def _run(self, work: Any) -> Any:
        async def bounded() -> Any:
            return await asyncio.wait_for(work, PATIENCE_SECONDS)

        return self._loop.run_until_complete(bounded())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def write(self, topic: str, value: bytes, offset: int) -> None:
        async def all_of_it() -> None:
            sent = [await self._producer.send(topic, value, partition=partition) for partition in range(WRITTEN)]
            await self._producer.send_offsets_to_transaction({AiokafkaPartition(topic, 0): offset}, group_of(topic))
            await asyncio.gather(*sent)

        self._run(all_of_it())

    def end(self, *, commit: bool) -> bool:
        self._run(self._producer.commit_transaction() if commit else self._producer.abort_transaction())
        return commit

    def close(self) -> None:
        try:
            self._run(self._producer.stop())
        finally:
            self._loop.close()


LIBRARIES: Mapping[str, Callable[[str, str], Session]] = {"librdkafka": Librdkafka, "kafka-python": KafkaPython, "aiokafka": Aiokafka}


class TransactionalWriter:
    """One library's transactions in a thread: by how they ended, their numbers. `producers` counts those that it took, `said` what
    the library raised."""

    def __init__(self, bootstrap: str, topic: str, library: str) -> None:
        self.topic, self.library = topic, library
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.unknown: set[int] = set()
        self.producers = 0
        self.said: Counter[str] = Counter()
        self._bootstrap = bootstrap
        self._number = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"transactions of {topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """A library that does not come back is left behind, with its last transaction's end unknown."""
        self._stop.set()
        self._thread.join(STUCK_SECONDS)
        if self._thread.is_alive():
            self.said["still in a call"] += 1
            self.unknown.add(self._number)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                session = LIBRARIES[self.library](self._bootstrap, f"id-of-{self.topic}")
            except Exception as error:  # whatever the library says: nobody answers it now
                self._note(error)
                self._stop.wait(1)
                continue
            self.producers += 1
            try:
                self._work(session)
            finally:
                try:
                    session.close()
                except Exception:  # it is given up in any case
                    continue

    def _work(self, session: Session) -> None:
        """Until a transaction's end is unknown."""
        while not self._stop.wait(PAUSE_SECONDS):
            self._number += 1
            number, is_commit = self._number, self._number % ABORTED_EVERY != 0
            asked = False
            try:
                session.begin()
                session.write(self.topic, NUMBER.pack(number) + TAIL, number)
                asked = is_commit
                committed = session.end(commit=is_commit)
            except Exception as error:  # libraries raise what they like; what was asked for decides
                self._note(error)
                (self.unknown if asked else self.aborted).add(number)
                return
            (self.committed if committed else self.aborted).add(number)

    def _note(self, error: Exception) -> None:
        code = error.args[0].name() if isinstance(error, KafkaException) else type(error).__name__
        self.said[code] += 1


class CommittedReader:
    """Follows a topic as a reader of committed records all the while: what it has read by partition and offset."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.read: dict[int, dict[int, int]] = {partition: {} for partition in range(WRITTEN)}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reader-of-{topic}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 2,
            }
        )
        self._consumer.assign([Partition(topic, partition, 0) for partition in self.read])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"reader of {topic}")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.5)
            if message is not None and message.error() is None:
                self.read[message.partition()][message.offset()] = NUMBER.unpack_from(message.value())[0]
        self._consumer.close()


def committed_in(bootstrap: str, topic: str) -> dict[int, dict[int, int]]:
    """What a new reader of committed records gets, to the ends of the partitions; `TimeoutError` where it does not come to an end."""
    found: dict[int, dict[int, int]] = {partition: {} for partition in range(WRITTEN)}
    settings = {"bootstrap.servers": bootstrap, "group.id": f"last-{topic}", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False, "log_level": 2})
    try:
        consumer.assign([Partition(topic, partition, 0) for partition in found])
        ended, deadline = set[int](), time.monotonic() + READ_SECONDS
        while len(ended) < len(found):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: readers of committed records do not come to the end of {sorted(found.keys() - ended)}")
            message = consumer.poll(1)
            error = None if message is None else message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            elif message is not None and error is None:
                found[message.partition()][message.offset()] = NUMBER.unpack_from(message.value())[0]
    finally:
        consumer.close()
    return found


def committed_offset(bootstrap: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group_of(topic), "log_level": 2})
    try:
        return int(consumer.committed([Partition(topic, 0)], PATIENCE_SECONDS)[0].offset)
    finally:
        consumer.close()


def transaction_violations(
    writer: TransactionalWriter, there: Mapping[int, Mapping[int, int]], read: Mapping[int, Mapping[int, int]], offset: int
) -> Iterator[str]:
    """`there` by partition and offset is what is committed in the end, `read` what a reader saw meanwhile, `offset` the group's."""
    counts = {partition: Counter(values.values()) for partition, values in there.items()}
    everywhere = set.intersection(*(set(count) for count in counts.values()))
    anywhere = set.union(*(set(count) for count in counts.values()))
    if not writer.committed:
        yield f"{writer.topic}: no transaction was committed: {dict(writer.said.most_common(SHOWN))}"
    for what, numbers in (
        ("committed transactions are lost", writer.committed - everywhere),
        ("aborted transactions are read", writer.aborted & anywhere),
        ("transactions are there in part", anywhere - everywhere),
        ("transactions are there that nobody committed", anywhere - writer.committed - writer.unknown - writer.aborted),
        ("records are there twice", {number for count in counts.values() for number, times in count.items() if times > 1}),
    ):
        if numbers:
            yield f"{writer.topic}: {len(numbers)} {what}: {sorted(numbers)[:SHOWN]}"
    for partition, values in there.items():
        if (order := list(values.values())) != sorted(order):
            yield f"{writer.topic}-{partition}: transactions are out of order"
        gone = {at: number for at, number in read[partition].items() if values.get(at) != number}
        if gone:
            yield f"{writer.topic}-{partition}: {len(gone)} records that were read are not there: {list(gone.items())[:SHOWN]}"
    if everywhere and offset != max(everywhere):
        yield f"{writer.topic}: the group's offset is {offset}, the last transaction {max(everywhere)}"
