"""One producer a topic, in a thread of its own, at the rate its shape asks for."""

from __future__ import annotations

import logging
import random
import threading
import time

from kafka import KafkaProducer
from kafka.errors import KafkaError

from workers.demo.shapes import Shape

log = logging.getLogger(__name__)
TICK_SECONDS = 0.2
RETRY_SECONDS = 2.0


def produce(bootstrap_servers: str, shape: Shape, stop: threading.Event) -> None:
    """Sends until `stop` is set; a failed client is closed and made anew."""
    source = random.Random(shape.topic)
    number = 0
    while not stop.is_set():
        try:
            number = _session(bootstrap_servers, shape, stop, source, number)
        except KafkaError as error:
            log.warning("producer of %s starts again: %s", shape.topic, error)
            stop.wait(RETRY_SECONDS)


def _session(bootstrap_servers: str, shape: Shape, stop: threading.Event, source: random.Random, number: int) -> int:
    """One client's life; returns the number of the next record."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers, client_id=f"demo-{shape.topic}", acks="all", linger_ms=50, compression_type="gzip"
    )
    began, owed = time.monotonic(), 0.0
    try:
        while not stop.wait(TICK_SECONDS):
            owed += shape.rate_at(time.monotonic() - began) * TICK_SECONDS
            for _ in range(int(owed)):
                key, value = shape.make(source, number)
                producer.send(shape.topic, key=key, value=value)
                number += 1
            owed -= int(owed)
    finally:
        producer.close(timeout=5)
    return number
