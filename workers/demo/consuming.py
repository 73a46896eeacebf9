"""Two groups: `billing` keeps up with orders; `clicks-loader` rests, falls behind and catches up, again and again."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from kafka import KafkaConsumer
from kafka.errors import KafkaError

log = logging.getLogger(__name__)
RETRY_SECONDS = 2.0
REST_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Reader:
    """A member of a group; it reads for `work_s`, then keeps its place in the group but reads nothing for `rest_s`."""

    group: str
    topic: str
    member: str
    work_s: float
    rest_s: float = 0.0


READERS = (
    Reader("billing", "orders", "billing-1", work_s=3600.0),
    Reader("billing", "orders", "billing-2", work_s=3600.0),
    Reader("clicks-loader", "clicks", "clicks-loader-1", work_s=60.0, rest_s=90.0),
)


def consume(bootstrap_servers: str, reader: Reader, stop: threading.Event) -> None:
    """Reads and commits until `stop` is set; a failed client is closed and made anew."""
    while not stop.is_set():
        try:
            _session(bootstrap_servers, reader, stop)
        except KafkaError as error:
            log.warning("consumer %s starts again: %s", reader.member, error)
            stop.wait(RETRY_SECONDS)


def _session(bootstrap_servers: str, reader: Reader, stop: threading.Event) -> None:
    consumer = KafkaConsumer(
        reader.topic,
        bootstrap_servers=bootstrap_servers,
        group_id=reader.group,
        client_id=reader.member,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1000,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=3_000,
    )
    try:
        while not stop.is_set():
            _work(consumer, reader, stop)
            _rest(consumer, reader, stop)
    finally:
        consumer.close()


def _work(consumer: KafkaConsumer, reader: Reader, stop: threading.Event) -> None:
    until = time.monotonic() + reader.work_s
    while not stop.is_set() and time.monotonic() < until:
        consumer.poll(timeout_ms=500, max_records=500)


def _rest(consumer: KafkaConsumer, reader: Reader, stop: threading.Event) -> None:
    """Polls with everything paused: the member stays in the group, its lag grows."""
    if not reader.rest_s:
        return
    until = time.monotonic() + reader.rest_s
    while not stop.is_set() and time.monotonic() < until:
        consumer.pause(*consumer.assignment())
        consumer.poll(timeout_ms=int(REST_POLL_SECONDS * 1000))
    consumer.resume(*consumer.assignment())
