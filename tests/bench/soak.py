"""Three brokers, three replicas, acks=all under load for minutes: nothing acknowledged is lost or stored twice, and memory stays.

Each record carries its number; at the end the batches of all three brokers' logs are read and compared with what was
acknowledged. The producer is idempotent, as a client that asks for exactly one copy has to be. `BENCH_SOAK_SECONDS` makes it
longer or shorter.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from broker_core.local.layout import BROKER_IDS
from broker_core.records.batch import iter_headers, read_records
from tests.bench import world
from tests.bench.figures import Figure
from tests.support.cluster import TestCluster, eventually

TOPIC = "soak"
PARTITIONS = 6
RECORD_BYTES = 1024
RECORDS_PER_SECOND = 3000
SECONDS, SECONDS_QUICK = 300.0, 20.0
FIRST_LOOK = 0.2
"""Memory is first looked at after this share of the time: one minute of five."""
GROWTH_AT_MOST = 1.1
TICK_SECONDS = 0.05
NUMBER = struct.Struct(">q")
SEGMENT_BYTES = 64 * 2**20
TAIL = b"x" * (RECORD_BYTES - NUMBER.size)


def soak(quick: bool) -> list[Figure]:
    seconds = float(os.environ.get("BENCH_SOAK_SECONDS", SECONDS_QUICK if quick else SECONDS))
    with world.folder() as data, world.three_brokers(data / "cluster") as cluster:
        world.create_topic(
            cluster.bootstrap_servers, TOPIC, partitions=PARTITIONS, replicas=len(BROKER_IDS), config={"segment.bytes": str(SEGMENT_BYTES)}
        )
        load = Load(cluster)
        first = load.run(seconds * FIRST_LOOK)
        last = load.run(seconds * (1 - FIRST_LOOK))
        load.finish()
        eventually(lambda: _ends_agree(cluster), 60, "equal logs on all brokers")
        copies = [_stored(cluster, broker_id) for broker_id in BROKER_IDS]
    return _figures(load, seconds, first, last, copies)


class Load:
    """A steady producer; `acknowledged` are the numbers of the records that were."""

    def __init__(self, cluster: TestCluster) -> None:
        self.acknowledged: set[int] = set()
        self.failures: list[str] = []
        self._cluster = cluster
        self._next = 0
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "enable.idempotence": True, **world.QUIET}
        )

    def run(self, seconds: float) -> list[int]:
        """Sends for so long; resident memory of each broker afterwards."""
        started, already = time.monotonic(), self._next
        while (passed := time.monotonic() - started) < seconds:
            due = already + int(passed * RECORDS_PER_SECOND)
            while self._next < due:
                self._send()
            self._producer.poll(TICK_SECONDS)
        return [world.rss_bytes(self._cluster.pid(broker_id)) for broker_id in BROKER_IDS]

    def finish(self) -> None:
        if self._producer.flush(60):
            raise RuntimeError("records were not acknowledged within a minute")

    def _send(self) -> None:
        number = self._next
        try:
            self._producer.produce(TOPIC, NUMBER.pack(number) + TAIL, partition=number % PARTITIONS, on_delivery=self._note(number))
        except BufferError:
            self._producer.poll(TICK_SECONDS)
            return
        self._next += 1

    def _note(self, number: int) -> Any:
        def delivered(error: Any, _: Any) -> None:
            if error is None:
                self.acknowledged.add(number)
            else:
                self.failures.append(str(error))

        return delivered


def _log_files(cluster: TestCluster, broker_id: int) -> list[Path]:
    return sorted((cluster.layout.broker_folder(broker_id) / "log").glob(f"{TOPIC}-*/*.log"))


def _ends_agree(cluster: TestCluster) -> bool:
    sizes = [Counter({path.parent.name: 0 for path in _log_files(cluster, broker_id)}) for broker_id in BROKER_IDS]
    for broker_id, counter in zip(BROKER_IDS, sizes, strict=True):
        for path in _log_files(cluster, broker_id):
            counter[path.parent.name] += path.stat().st_size
    return all(counter == sizes[0] for counter in sizes)


def _stored(cluster: TestCluster, broker_id: int) -> Counter[int]:
    """How often each record's number is in a broker's logs."""
    found: Counter[int] = Counter()
    for path in _log_files(cluster, broker_id):
        data = path.read_bytes()
        for position, header in iter_headers(data):
            if not header.is_control:
                found.update(NUMBER.unpack_from(record.value or b"")[0] for record in read_records(data, position, header))
    return found


def _figures(load: Load, seconds: float, first: list[int], last: list[int], copies: list[Counter[int]]) -> list[Figure]:
    lost = [sum(1 for number in load.acknowledged if not stored[number]) for stored in copies]
    twice = [sum(1 for count in stored.values() if count > 1) for stored in copies]
    looks = f"after {seconds * FIRST_LOOK:.0f} s and after {seconds:.0f} s, each of three brokers"
    growth = [end / begin for begin, end in zip(first, last, strict=True)]
    return [
        Figure("records acknowledged", "", [len(load.acknowledged)], note=f"{len(load.failures)} failed; {RECORDS_PER_SECOND}/s asked for"),
        Figure("acknowledged, but not in a broker's log", "records", lost, at_most=0, every=True, note="all three brokers' logs were read"),
        Figure("stored more than once in a broker's log", "records", twice, at_most=0, every=True),
        Figure("memory of a broker at first", "MB", [value / 1e6 for value in first]),
        Figure("memory of a broker at the end", "MB", [value / 1e6 for value in last]),
        Figure("memory at the end / at first", "ratio", growth, at_most=GROWTH_AT_MOST, every=True, note=looks),
    ]
