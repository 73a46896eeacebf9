"""librdkafka as a client, in a process of its own: `python -m tests.kafka_bench.native_client TASK`, a task as JSON; prints its result as
JSON. Times of records are of the monotonic clock, which all processes of a machine share."""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
from confluent_kafka import OFFSET_END, Consumer, Message, Producer, TopicPartition

from tests.bench.load import Meter
from tests.bench.world import cpu_seconds
from tests.kafka_bench.loads import (
    LARGE_BATCH,
    SMALL_BATCH,
    ArrivalTask,
    ConsumeTask,
    Latency,
    PacedTask,
    ProduceTask,
    Task,
    Throughput,
    TransactTask,
)
from tests.kafka_bench.statistics import percentile

BATCH_RECORDS = 2000
CHUNK_BYTES = 1_000_000
QUEUE_KBYTES = {SMALL_BATCH: 8 * 1024, LARGE_BATCH: 32 * 1024}
IN_FLIGHT = 5
"""Requests on their way to a broker: Java's default. Without a limit librdkafka sends a request for each record that nothing waits for."""
PATIENCE_SECONDS = 60.0
STATISTICS_MS = 500
PACED_BYTES = 1024
PACED_WAITING = 5000
TIME = struct.Struct(">q")
TICK_SECONDS = 0.001
LAST_SECONDS = 0.3
"""Nothing more arrives after so long a silence once all was sent."""


class Requests:
    """How many requests of a kind the client has sent, as its statistics say."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.count = 0
        self.tellings = 0

    def __call__(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self.count = sum(broker["req"].get(self._kind, 0) for broker in brokers)
        self.tellings += 1

    def wait(self, poll: Callable[[float], object]) -> int:
        """The count once the statistics were told again."""
        before, deadline = self.tellings, time.monotonic() + 4 * STATISTICS_MS / 1000
        while self.tellings == before and time.monotonic() < deadline:
            poll(0.05)
        return self.count


def produce(task: ProduceTask) -> Throughput:
    requests, failures = Requests("Produce"), list[str]()
    producer = Producer(
        {
            "bootstrap.servers": task.bootstrap,
            "acks": task.load.acks,
            "batch.size": task.load.batch_bytes,
            "linger.ms": task.load.linger_ms,
            "sticky.partitioning.linger.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": QUEUE_KBYTES[task.load.batch_bytes],
            "max.in.flight.requests.per.connection": IN_FLIGHT,
            "delivery.report.only.error": True,
            "error_cb": lambda error: failures.append(str(error)),
            "statistics.interval.ms": STATISTICS_MS,
            "stats_cb": requests,
        }
    )
    size = min(BATCH_RECORDS, CHUNK_BYTES // task.load.record_bytes)
    chunk = [{"value": b"x" * task.load.record_bytes} for _ in range(size)]
    producer.produce_batch(task.topic, chunk[:1])
    _finish(producer, failures)
    meter, brokers, sent = Meter(), _brokers_cpu(task.broker_pids), 0
    deadline = time.monotonic() + task.seconds
    while time.monotonic() < deadline:
        taken = producer.produce_batch(task.topic, chunk)
        sent += taken
        producer.poll(0 if taken == size else 0.001)
    _finish(producer, failures)
    return _throughput(meter.result(sent), _brokers_cpu(task.broker_pids) - brokers, requests.wait(producer.poll))


def consume(task: ConsumeTask) -> Throughput:
    requests = Requests("Fetch")
    consumer = _consumer(task.bootstrap, {"statistics.interval.ms": STATISTICS_MS, "stats_cb": requests})
    consumer.assign([TopicPartition(task.topic, index, 0) for index in range(task.partitions)])
    seen = len(_some(consumer, 1))
    meter, brokers = Meter(), _brokers_cpu(task.broker_pids)
    while seen < task.records:
        seen += len(_some(consumer, min(BATCH_RECORDS, task.records - seen)))
    found, used = meter.result(seen), _brokers_cpu(task.broker_pids) - brokers
    sent = requests.wait(consumer.poll)
    consumer.close()
    return _throughput(found, used, sent)


def paced(task: PacedTask) -> Latency:
    """From the time a record was due to its acknowledgement: a client that fell behind does not hide it."""
    fixed = {"acks": "all", "linger.ms": 0, "batch.size": SMALL_BATCH, "max.in.flight.requests.per.connection": IN_FLIGHT}
    producer = Producer({"bootstrap.servers": task.bootstrap, "queue.buffering.max.messages": PACED_WAITING, **fixed})
    waits: list[float] = []
    began = time.monotonic_ns()
    counted_from = began + int(task.settle_seconds * 1e9)

    def acknowledged(error: object, message: Message) -> None:
        if error is not None:
            raise SystemExit(f"a record was not taken: {error}")
        due = TIME.unpack_from(message.value() or b"")[0]
        if due >= counted_from:
            waits.append((time.monotonic_ns() - due) / 1e6)

    brokers = _brokers_cpu(task.broker_pids)
    padding, number, end = b"x" * (PACED_BYTES - TIME.size), 0, began + int(task.seconds * 1e9)
    while (now := time.monotonic_ns()) < end:
        while (due := began + int(number / task.per_second * 1e9)) <= now and len(producer) < PACED_WAITING:
            producer.produce(task.topic, TIME.pack(due) + padding, on_delivery=acknowledged)
            number += 1
        producer.poll(TICK_SECONDS)
    _finish(producer, [])
    used, seconds = _brokers_cpu(task.broker_pids) - brokers, (time.monotonic_ns() - began) / 1e9
    return msgspec.structs.replace(_latency(waits), broker_cpu=used, sent=number, seconds=seconds)


def arrivals(task: ArrivalTask) -> Latency:
    consumer = _consumer(task.bootstrap, {})
    ends = [TopicPartition(task.topic, index, OFFSET_END) for index in range(task.partitions)]
    for partition in ends:
        partition.offset = consumer.get_watermark_offsets(partition, timeout=PATIENCE_SECONDS)[1]
    consumer.assign(ends)
    consumer.poll(1.0)
    over = threading.Event()
    threading.Thread(target=_set_at_end_of_input, args=(over,), daemon=True).start()
    print("ready", flush=True)
    arrived: list[tuple[int, float]] = []
    while (message := consumer.poll(LAST_SECONDS)) is not None or not over.is_set():
        if message is not None and message.error() is None:
            due = TIME.unpack_from(message.value() or b"")[0]
            arrived.append((due, (time.monotonic_ns() - due) / 1e6))
    consumer.close()
    counted_from = min((due for due, _ in arrived), default=0) + task.settle_seconds * 1e9
    return _latency([wait for due, wait in arrived if due >= counted_from])


def transact(task: TransactTask) -> Latency:
    """From the first record of a transaction to the answer to its end."""
    fixed = {"linger.ms": 5, "transactional.id": f"bench-{task.topic}"}
    producer = Producer({"bootstrap.servers": task.bootstrap, **fixed})
    producer.init_transactions(PATIENCE_SECONDS)
    value, waits = b"x" * PACED_BYTES, list[float]()
    began = time.monotonic()
    counted_from, end = began + task.settle_seconds, began + task.settle_seconds + task.seconds
    counted_began, brokers = began, 0.0
    while (start := time.monotonic()) < end:
        if not waits:
            counted_began, brokers = start, _brokers_cpu(task.broker_pids)
        producer.begin_transaction()
        for number in range(task.records):
            producer.produce(task.topic, value, partition=number % task.partitions)
        producer.commit_transaction(PATIENCE_SECONDS)
        if start >= counted_from:
            waits.append((time.monotonic() - start) * 1000)
    used, seconds = _brokers_cpu(task.broker_pids) - brokers, time.monotonic() - counted_began
    return msgspec.structs.replace(_latency(waits), broker_cpu=used, sent=len(waits), seconds=seconds)


def _set_at_end_of_input(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def _consumer(bootstrap: str, more: dict[str, Any]) -> Consumer:
    fixed = {"group.id": "bench", "enable.auto.commit": False, "enable.auto.offset.store": False}
    return Consumer({"bootstrap.servers": bootstrap, **fixed, **more})


def _some(consumer: Consumer, most: int) -> list[Message]:
    found = consumer.consume(most, PATIENCE_SECONDS)
    if not found:
        raise SystemExit(f"nothing arrived for {PATIENCE_SECONDS:.0f} s")
    return found


def _finish(producer: Producer, failures: list[str]) -> None:
    left = producer.flush(PATIENCE_SECONDS)
    if left:
        raise SystemExit(f"{left} records were not acknowledged within {PATIENCE_SECONDS:.0f} s: {failures[-1:]}")


def _brokers_cpu(pids: list[int]) -> float:
    return sum(map(cpu_seconds, pids))


def _throughput(found: dict[str, Any], broker_cpu: float, requests: int) -> Throughput:
    return Throughput(found["records"], found["seconds"], requests, found["cpu_share"] * found["seconds"], broker_cpu)


def _latency(waits: list[float]) -> Latency:
    if not waits:
        raise SystemExit("no record was counted")
    waits.sort()
    return Latency(len(waits), percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 0.999))


def run(task: Task) -> Throughput | Latency:
    match task:
        case ProduceTask():
            return produce(task)
        case ConsumeTask():
            return consume(task)
        case PacedTask():
            return paced(task)
        case ArrivalTask():
            return arrivals(task)
        case TransactTask():
            return transact(task)


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(run(msgspec.json.decode(sys.argv[1], type=Task))).decode() + "\n")
