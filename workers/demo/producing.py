"""One producer a topic, in a thread of its own, at the rate its shape asks for."""

from __future__ import annotations

import logging
import random
import threading
import time
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from console.rules.watch import Watch
from workers.demo.shapes import Shape

log = logging.getLogger(__name__)
TICK_SECONDS = 0.2
RETRY_SECONDS = 2.0
CLOSE_SECONDS = 5.0
DEADLINE_SECONDS = 60.0
QUEUED_LIMIT = 20_000
"""Records that wait for the cluster; what is made while so many do is dropped: a demo does not pile up."""


def watch_of(shape: Shape) -> Watch:
    return Watch(f"demo-{shape.topic}", f"that writes the demo's {shape.topic}", DEADLINE_SECONDS)


def produce(bootstrap_servers: str, shape: Shape, stop: threading.Event, watch: Watch) -> None:
    """Sends until `stop` is set; a client that failed or gets nothing done is closed and made anew."""
    source = random.Random(shape.topic)
    number = 0
    while not stop.is_set():
        producer = open_producer(bootstrap_servers, shape)
        try:
            number = session(producer, shape, stop, source, number, watch)
        except KafkaException as error:
            log.warning("producer of %s starts again: %s", shape.topic, error)
            watch.failed(str(error))
            stop.wait(RETRY_SECONDS)
        finally:
            _close(producer, gently=stop.is_set())


def open_producer(bootstrap_servers: str, shape: Shape) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": f"demo-{shape.topic}",
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 50,
            "compression.type": "gzip",
            "delivery.timeout.ms": 30_000,
            "queue.buffering.max.messages": QUEUED_LIMIT,
            "log_level": 0,
        }
    )


def session(producer: Producer, shape: Shape, stop: threading.Event, source: random.Random, number: int, watch: Watch) -> int:  # noqa: PLR0917
    """One client's life, until `stop` or until it stands still; returns the number of the next record."""
    began, owed = time.monotonic(), 0.0
    told = partial(_told, producer, watch)
    while not stop.wait(TICK_SECONDS):
        owed += shape.rate_at(time.monotonic() - began) * TICK_SECONDS
        for _ in range(int(owed)):
            key, value = shape.make(source, number)
            _send(producer, shape.topic, key, value, told)
            watch.asked(time.monotonic())
            number += 1
        owed -= int(owed)
        producer.poll(0)
        if watch.stands_still(time.monotonic()):
            log.warning("%s", watch.sentence(time.monotonic()))
            watch.replaced(time.monotonic())
            break
    return number


def _send(producer: Producer, topic: str, key: bytes | None, value: bytes, told: partial[None]) -> None:
    try:
        producer.produce(topic, value, key, on_delivery=told)
    except BufferError:
        producer.poll(0)


def _told(producer: Producer, watch: Watch, error: KafkaError | None, _message: Message) -> None:
    if error is None:
        watch.done(time.monotonic(), 1, waiting=len(producer) > 1)
    else:
        watch.failed(error.str())


def _close(producer: Producer, *, gently: bool) -> None:
    if gently:
        producer.flush(CLOSE_SECONDS)
    producer.purge()
    producer.flush(1.0)
