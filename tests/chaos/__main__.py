"""`python -m tests.chaos --seed 7 --minutes 20`: the whole system as processes, under grave faults and hostile clients, while numbered
records are written; exit status 1 when anything acknowledged is missing, doubled or different, when a process ended that nobody killed,
or when the page said what was not so.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import django
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from broker_core.errors import HighwaterError
from broker_core.local.layout import BROKER_IDS
from tests.chaos import checks, hostile
from tests.chaos.acts import Acts
from tests.chaos.load import PARTITIONS, Writer
from tests.chaos.plan import Episode, episodes
from tests.chaos.stillness import Stillness
from tests.chaos.system import ChaosSystem
from tests.chaos.transactional import (
    LIBRARIES,
    CommittedReader,
    TransactionalWriter,
    committed_in,
    committed_offset,
    transaction_violations,
)
from tests.chaos.witness import Witness
from tests.support.cluster import eventually
from tests.support.rest import Rest

WRITERS = {"chaos-idempotent-a": True, "chaos-idempotent-b": True, "chaos-acks-all": False}
TRANSACTIONAL = {f"chaos-by-{library}": library for library in LIBRARIES}
WHOLE_SECONDS = 240.0
AGREE_SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="Real processes under seeded faults; needs root for its disk."
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20.0, help="no new fault begins after so long")
    parser.add_argument("--partitions", type=int, default=5000, help="what one topic grows to by accident")
    parser.add_argument("--keep", action="store_true", help="leave the data folder behind")
    options = parser.parse_args()
    if os.geteuid():
        parser.error("run it as root: it mounts a small disk of its own")
    for number in (signal.SIGINT, signal.SIGTERM):  # in the background too: neither processes nor the mount may stay behind
        signal.signal(number, signal.default_int_handler)
    for name in ("aiokafka", "kafka", "kazoo"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of each send on the connections that brokers hang up on
    base = Path(tempfile.mkdtemp(prefix="highwater-chaos-"))
    os.environ.update({"HIGHWATER_DATA": str(base / "data"), "DJANGO_SETTINGS_MODULE": "console.settings"})
    system = ChaosSystem(base)
    try:
        django.setup()  # each REST answer is checked against its description
        violations = _run(system, options)
    finally:
        system.down()
        if not options.keep:
            shutil.rmtree(base, ignore_errors=True)
    for violation in violations:
        print(f"  VIOLATION {violation}")
    print(f"seed {options.seed}: {'clean' if not violations else f'{len(violations)} violations'}", flush=True)
    return 1 if violations else 0


def _run(system: ChaosSystem, options: argparse.Namespace) -> list[str]:
    system.up()
    admin = AdminClient({"bootstrap.servers": system.bootstrap_servers, "log_level": 2})
    topics = [NewTopic(name, PARTITIONS, 3) for name in (*WRITERS, *TRANSACTIONAL)]
    topics += [NewTopic(name, 3, 3, config=config) for name, config in hostile.TOPICS.items()]
    for made in admin.create_topics(topics).values():
        made.result(60)
    rest = system.rest()
    stillness = Stillness(admin, f"127.0.0.1:{system.layout.zookeeper_port}")
    witness = Witness(system, rest)
    writers = [Writer(system.bootstrap_servers, name, idempotent=idempotent) for name, idempotent in WRITERS.items()]
    transactional = [TransactionalWriter(system.bootstrap_servers, *each) for each in TRANSACTIONAL.items()]
    readers = {name: CommittedReader(system.bootstrap_servers, name) for name in TRANSACTIONAL}
    busy: list[Writer | TransactionalWriter | CommittedReader] = [*writers, *transactional, *readers.values()]
    violations: list[str] = []
    with witness.watching():
        for one in busy:
            one.start()
        try:
            violations += _befall(system, witness, stillness, options)
        finally:
            for one in busy:
                one.finish()
        violations += _final(system, admin, rest, writers, stillness)
        for each in transactional:
            violations += _of_transactions(system, admin, each, readers[each.topic])
    stillness.close()
    for writer in writers:
        failed = f"{len(writer.failed)} failed ({writer.failed[0]})" if writer.failed else "none failed"
        print(f"{writer.topic}: {len(writer.acknowledged)} acknowledged, {failed}, longest wait {writer.gap_seconds:.1f} s", flush=True)
    for each in transactional:
        ends = f"{len(each.committed)} committed, {len(each.aborted)} aborted, {len(each.unknown)} without an answer"
        print(f"{each.topic}: {ends}, {each.producers} producers; raised {dict(each.said.most_common(5))}", flush=True)
    print(f"the page answered {witness.answers} looks", flush=True)
    return violations + witness.lost + witness.lies


def _befall(system: ChaosSystem, witness: Witness, stillness: Stillness, options: argparse.Namespace) -> list[str]:
    """Episodes until the time is over; stops at the first that the cluster does not recover from."""
    acts = Acts(system, witness, options.partitions)
    began = time.monotonic()
    for episode in episodes(options.seed):
        if time.monotonic() - began > options.minutes * 60:
            return []
        started = time.monotonic()
        beside = _Beside(system, episode)
        beside.start()
        try:
            acts.befall(episode)
            eventually(stillness.holds, WHOLE_SECONDS, "every partition whole again")
        except (AssertionError, HighwaterError, KafkaException, OSError) as error:
            return [f"{episode}: {type(error).__name__}: {error}"]
        finally:
            beside.join()
        took = time.monotonic() - started
        print(f"{started - began:6.0f} s  {episode.fault} {episode.victim}: {took:.0f} s; {beside.outcome}", flush=True)
    return []


class _Beside(threading.Thread):
    """The hostile clients of an episode, one after the other."""

    def __init__(self, system: ChaosSystem, episode: Episode) -> None:
        super().__init__(name="hostile clients")
        self.outcome: dict[str, dict[int, str]] = {}
        self._ports = tuple(system.layout.port_of(broker_id) for broker_id in BROKER_IDS)
        self._kinds = episode.hostile

    def run(self) -> None:
        for kind in self._kinds:
            self.outcome[kind] = asyncio.run(hostile.attack(kind, self._ports))


def _final(system: ChaosSystem, admin: AdminClient, rest: Rest, writers: list[Writer], stillness: Stillness) -> list[str]:
    """The writers are done, nothing moves any more."""
    violations: list[str] = []
    try:
        eventually(stillness.holds, WHOLE_SECONDS, "every partition whole at the end")
    except AssertionError as error:
        return [str(error)]
    marks = _high_watermarks(admin, [writer.topic for writer in writers])
    for writer in writers:
        wanted = {partition: marks[writer.topic, partition] for partition in range(PARTITIONS)}
        logs = {broker_id: system.layout.broker_folder(broker_id) / "log" for broker_id in BROKER_IDS}
        copies = {broker_id: checks.stored(folder, writer.topic, wanted) for broker_id, folder in logs.items()}
        violations += checks.record_violations(writer.topic, writer.acknowledged, copies, idempotent=writer.idempotent)
        if writer.idempotent and writer.failed:
            violations.append(f"{writer.topic}: {len(writer.failed)} records of the idempotent producer failed: {writer.failed[0]}")
    found: list[str] = []

    def agree() -> bool:
        found[:] = _page(rest, admin, {*WRITERS, *hostile.TOPICS})
        return not found

    try:
        eventually(agree, AGREE_SECONDS, "the page says what the brokers say")
    except AssertionError:
        violations += found[:10]
    return violations


def _of_transactions(system: ChaosSystem, admin: AdminClient, writer: TransactionalWriter, reader: CommittedReader) -> list[str]:
    """A transaction that its producer has left is aborted once its time is up, and readers get to the end."""
    try:
        there = committed_in(system.bootstrap_servers, writer.topic)
    except TimeoutError as error:
        return [str(error)]
    marks = _high_watermarks(admin, [writer.topic])
    wanted = {partition: marks[writer.topic, partition] for partition in range(PARTITIONS)}
    logs = {broker_id: system.layout.broker_folder(broker_id) / "log" for broker_id in BROKER_IDS}
    copies = {broker_id: checks.stored(folder, writer.topic, wanted) for broker_id, folder in logs.items()}
    found = list(checks.record_violations(writer.topic, writer.committed, copies, idempotent=False))
    return found + list(transaction_violations(writer, there, reader.read, committed_offset(system.bootstrap_servers, writer.topic)))


def _page(rest: Rest, admin: AdminClient, topics: set[str]) -> list[str]:
    known = admin.list_topics(timeout=30)
    marks = _high_watermarks(admin, sorted(topics))
    told = {
        (name, number): checks.Place(p.leader, frozenset(p.isrs), marks[name, number])
        for name in topics
        for number, p in known.topics[name].partitions.items()
    }
    shown = {
        (name, row["partition"]): checks.Place(row["leader"], frozenset(row["isr"]), row["high_watermark"])
        for name in topics
        for row in rest.partitions(name)
    }
    listed = {row["topic"] for page in rest.pages("/api/v1/clusters/local/topics", 500) for row in page}
    differ = sorted(listed ^ set(known.topics))
    return checks.page_violations(shown, told) + [f"topic {name}: known to one of page and brokers only" for name in differ]


def _high_watermarks(admin: AdminClient, topics: list[str]) -> dict[tuple[str, int], int]:
    known = admin.list_topics(timeout=30).topics
    wanted = {Partition(name, number): OffsetSpec.latest() for name in topics for number in known[name].partitions}
    return {(tp.topic, tp.partition): future.result(30).offset for tp, future in admin.list_offsets(wanted).items()}


if __name__ == "__main__":
    sys.exit(main())
