"""The clients of the bench, each in a process of its own, so that a server's core is a server's: `python -m tests.bench.load …`.

Prints one JSON line: records, seconds from the first record to the last acknowledgement (or arrival), and the share of one
core that this process used meanwhile.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

RECORD_BYTES = 1024
CHUNK = 2000
PATIENCE_SECONDS = 60.0


def produce(options: argparse.Namespace) -> dict[str, Any]:
    """Sends `records` records as fast as the client can; its queue holds 100 MB."""
    failures: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": options.bootstrap,
            "acks": options.acks,
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": 131_072,
            "delivery.report.only.error": True,
            "error_cb": lambda error: failures.append(str(error)),
        }
    )
    chunk = [{"value": b"x" * RECORD_BYTES} for _ in range(CHUNK)]
    producer.produce_batch(options.topic, chunk[:1], partition=0)
    _finish(producer, failures)
    meter = Meter()
    for _ in range(options.records // CHUNK):
        _send(producer, options.topic, chunk)
    _finish(producer, failures)
    return meter.result(options.records)


def _send(producer: Producer, topic: str, chunk: list[dict[str, Any]]) -> None:
    """All records are alike, so those that the full queue refused are as many of any of them."""
    left = len(chunk)
    while left:
        left -= producer.produce_batch(topic, chunk[:left], partition=0)
        if left:
            producer.poll(0.001)


def _finish(producer: Producer, failures: list[str]) -> None:
    left = producer.flush(PATIENCE_SECONDS)
    if left:
        raise SystemExit(f"{left} records were not acknowledged within {PATIENCE_SECONDS:.0f} s: {failures[-1:]}")


def consume(options: argparse.Namespace) -> dict[str, Any]:
    """Reads `records` records of partition 0 from offset 0 on; the clock runs from the first arrival."""
    consumer = Consumer(
        {"bootstrap.servers": options.bootstrap, "group.id": "bench", "enable.auto.commit": False, "enable.auto.offset.store": False}
    )
    consumer.assign([TopicPartition(options.topic, 0, 0)])
    first = consumer.consume(1, PATIENCE_SECONDS)
    if not first:
        raise SystemExit("nothing arrived")
    meter, seen = Meter(), 0
    while seen < options.records - 1:
        arrived = len(consumer.consume(CHUNK, PATIENCE_SECONDS))
        if not arrived:
            raise SystemExit(f"{seen} of {options.records} records arrived")
        seen += arrived
    result = meter.result(seen)
    consumer.close()
    return result


class Meter:
    """Wall clock and processor time since it was made."""

    def __init__(self) -> None:
        self._cpu = _cpu_seconds()
        self._wall = time.monotonic()

    def result(self, records: int) -> dict[str, Any]:
        seconds = time.monotonic() - self._wall
        return {"records": records, "seconds": seconds, "cpu_share": (_cpu_seconds() - self._cpu) / seconds}


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("produce", "consume"))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--acks", default="1")
    options = parser.parse_args()
    json.dump({"produce": produce, "consume": consume}[options.kind](options), sys.stdout)


if __name__ == "__main__":
    main()
