"""The clients whose records are counted: each writes numbered records all the while and notes what was acknowledged."""

from __future__ import annotations

import struct
import threading
import time
from typing import Any

from confluent_kafka import KafkaException, Producer

NUMBER = struct.Struct(">q")
TAIL = b"x" * 200
PARTITIONS = 6
PAUSE_SECONDS = 0.02
BURST = 30
FINISH_SECONDS = 300.0


class Writer:
    """One producer in a thread of its own. `acknowledged` are its records' numbers, `failed` what delivery reports said, `gap_seconds`
    the longest time without an acknowledgement while records waited for one."""

    def __init__(self, bootstrap: str, topic: str, *, idempotent: bool) -> None:
        self.topic, self.idempotent = topic, idempotent
        self.acknowledged: set[int] = set()
        self.failed: list[str] = []
        self.gap_seconds = 0.0
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": idempotent,
                # A record that gives up while its batch is under way makes librdkafka give up idempotence as a whole.
                "delivery.timeout.ms": 0,
                "linger.ms": 5,
                "log_level": 2,
            }
        )
        self._thread = threading.Thread(target=self._run, name=f"writer of {topic}")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Waits until each record is acknowledged or failed."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._write()
        except KafkaException as error:
            self.failed.append(f"the producer gave up: {error}")

    def _write(self) -> None:
        number = 0
        while not self._stop.wait(PAUSE_SECONDS):
            for _ in range(BURST):
                try:
                    self._producer.produce(
                        self.topic, NUMBER.pack(number) + TAIL, partition=number % PARTITIONS, on_delivery=self._note(number)
                    )
                except BufferError:
                    break
                number += 1
            self._producer.poll(0)
        if left := self._producer.flush(FINISH_SECONDS):
            self.failed.append(f"{left} records without a report")

    def _note(self, number: int) -> Any:
        def delivered(error: Any, _: Any) -> None:
            now = time.monotonic()
            self.gap_seconds = max(self.gap_seconds, now - self._last)
            self._last = now
            if error is None:
                self.acknowledged.add(number)
            else:
                self.failed.append(str(error))

        return delivered
