"""Two groups: `billing` keeps up with orders; `clicks-loader` rests, falls behind and catches up, again and again."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException

from console.rules.watch import Watch

log = logging.getLogger(__name__)
RETRY_SECONDS = 2.0
REST_POLL_SECONDS = 0.5
READ_AT_ONCE = 500
DEADLINE_SECONDS = 60.0
"""The demo's topics are never still for so long."""


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


def watch_of(reader: Reader) -> Watch:
    return Watch(f"demo-{reader.member}", f"{reader.member} that reads the demo's {reader.topic}", DEADLINE_SECONDS)


def consume(bootstrap_servers: str, reader: Reader, stop: threading.Event, watch: Watch) -> None:
    """Reads and commits until `stop` is set; a client that failed or gets nothing done is closed and made anew."""
    while not stop.is_set():
        consumer = open_consumer(bootstrap_servers, reader)
        try:
            session(consumer, reader, stop, watch)
        except KafkaException as error:
            log.warning("consumer %s starts again: %s", reader.member, error)
            watch.failed(str(error))
            stop.wait(RETRY_SECONDS)
        finally:
            consumer.close()


def open_consumer(bootstrap_servers: str, reader: Reader) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": reader.group,
            "client.id": reader.member,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1_000,
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 3_000,
            "log_level": 0,
        }
    )
    consumer.subscribe([reader.topic])
    return consumer


def session(consumer: Consumer, reader: Reader, stop: threading.Event, watch: Watch) -> None:
    """One client's life, until `stop` or until it stands still."""
    while not stop.is_set():
        if not _work(consumer, reader, stop, watch):
            return
        _rest(consumer, reader, stop, watch)


def _work(consumer: Consumer, reader: Reader, stop: threading.Event, watch: Watch) -> bool:
    """False where it stands still."""
    until = time.monotonic() + reader.work_s
    while not stop.is_set() and time.monotonic() < until:
        watch.asked(time.monotonic())
        messages = consumer.consume(READ_AT_ONCE, timeout=REST_POLL_SECONDS)
        errors = [error for message in messages if (error := message.error()) is not None]
        if errors:
            watch.failed(errors[-1].str())
        now = time.monotonic()
        watch.done(now, len(messages) - len(errors), waiting=True)
        if watch.stands_still(now):
            log.warning("%s", watch.sentence(now))
            watch.replaced(now)
            return False
    return True


def _rest(consumer: Consumer, reader: Reader, stop: threading.Event, watch: Watch) -> None:
    """Polls with everything paused: the member stays in the group, its lag grows."""
    if not reader.rest_s:
        return
    watch.idle()
    until = time.monotonic() + reader.rest_s
    while not stop.is_set() and time.monotonic() < until:
        consumer.pause(consumer.assignment())
        consumer.poll(REST_POLL_SECONDS)
    consumer.resume(consumer.assignment())
