"""A thousand small partitions move from one broker to another through the console, under a throttle, beside a producer.

How much of the rate that they may use they do use, from the first copy to the last, and what the producer's slowest hundredth takes longer.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.cli.tokens import make_token
from tests.bench import world
from tests.bench.browser import whole_system
from tests.bench.figures import Figure
from tests.support.clients import make
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, OVER, Answer, ask

PARTITIONS, PARTITIONS_QUICK = 1_000, 60
RECORDS, RECORD_BYTES = 25, 8_000
RATE = 5 << 20
MOVED, BESIDE = "moved", "beside"
FROM, TO = [1, 2], [1, 3]
PAUSE_S = 0.005
BASELINE_S, BASELINE_QUICK_S = 30.0, 5.0
PATIENCE_S = 900.0
SHARE_LEAST, P99_MOST = 0.9, 1.2


def moves(quick: bool) -> list[Figure]:
    count = PARTITIONS_QUICK if quick else PARTITIONS
    with world.folder() as data, whole_system(data) as system:
        return _measured(system, count, BASELINE_QUICK_S if quick else BASELINE_S)


def _measured(system: ConsoleSystem, count: int, baseline_s: float) -> list[Figure]:
    asked = Asked(system)
    _filled(system, count)
    eventually(lambda: asked("GET", f"{LOCAL}/topics/{MOVED}").status == 200, what="the topic in the console")
    with Load(system) as load:
        time.sleep(baseline_s)
        before = load.taken()
        assignments = [{"topic": MOVED, "partition": p, "replicas": TO} for p in range(count)]
        job = asked("POST", "/api/v1/jobs", {"cluster": "local", "kind": "reassignment", "assignments": assignments, "throttle": RATE}).body
        eventually(lambda: asked.moves(job["id"]), what="the first move")
        began = time.monotonic()
        found = eventually(lambda: asked.over(job["id"]), PATIENCE_S, "the end of the moves")
        seconds = time.monotonic() - began
        during = load.taken()
    if found["state"] != "succeeded":
        raise RuntimeError(f"the moves ended as {found['state']}: {found['message']}")
    bytes_copied = count * RECORDS * RECORD_BYTES
    p99 = _p99(during) / _p99(before)
    return [
        Figure(f"{count:,} partitions move", "s", [seconds], note=f"{bytes_copied / 1e6:,.0f} MB at {RATE / 1e6:.3g} MB/s and broker"),
        Figure("share of the throttle's rate that is used", "ratio", [bytes_copied / RATE / seconds], at_least=SHARE_LEAST),
        Figure("produce p99 beside it by the one before", "ratio", [p99], at_most=P99_MOST, note=f"before: {_p99(before) * 1000:.3g} ms"),
    ]


def _filled(system: ConsoleSystem, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
    for name, partitions in ((MOVED, count), (BESIDE, 3)):
        make(admin, NewTopic(name, partitions, replica_assignment=[FROM] * partitions))
    producer = Producer({"bootstrap.servers": system.bootstrap_servers, "linger.ms": 50, "acks": "all"})
    for partition in range(count):
        for _ in range(RECORDS):
            producer.produce(MOVED, b"r" * RECORD_BYTES, partition=partition)
        producer.poll(0)
        if partition % 50 == 49:
            producer.flush(PATIENCE_S)
    if producer.flush(PATIENCE_S):
        raise RuntimeError("the topic could not be filled")


class Asked:
    """REST as an operator."""

    def __init__(self, system: ConsoleSystem) -> None:
        self._port = system.layout.console_port
        token = make_token(system.layout, "bench", "operator", None, save=False).token
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None) -> Answer:
        return ask(self._port, method, path, None if body is None else json.dumps(body).encode(), self._headers)

    def moves(self, job: int) -> bool:
        """The steps before it look at all partitions and set the throttle."""
        found = self("GET", f"/api/v1/jobs/{job}").body
        return "moving" in found["message"] or found["state"] in OVER

    def over(self, job: int) -> dict[str, Any] | None:
        found = self("GET", f"/api/v1/jobs/{job}").body
        return found if found["state"] in OVER else None


class Load:
    """A producer that writes two hundred records a second, each waited for by itself."""

    def __init__(self, system: ConsoleSystem) -> None:
        self._seconds: list[float] = []
        self._over = threading.Event()
        self._producer = Producer({"bootstrap.servers": system.bootstrap_servers, "acks": "all", "linger.ms": 0})
        self._thread = threading.Thread(target=self._write)

    def taken(self) -> list[float]:
        """Of the records since this was asked last, how long each took to be acknowledged."""
        found, self._seconds = self._seconds, []
        return found

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._over.wait(PAUSE_S):
            number += 1
            self._producer.produce(BESIDE, b"x" * 500, partition=number % 3, on_delivery=self._delivered(time.monotonic()))
            self._producer.poll(0)
        self._producer.flush(60)

    def _delivered(self, sent: float) -> Any:
        def told(error: object, _: object) -> None:
            if not error:
                self._seconds.append(time.monotonic() - sent)

        return told


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]
