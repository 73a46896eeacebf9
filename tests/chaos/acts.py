"""Carrying the grave faults out, and mending them again."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from broker_core.errors import HighwaterError
from broker_core.local import control
from broker_core.local.layout import BROKER_IDS
from tests.chaos.plan import Episode
from tests.chaos.system import DISK_OWNER, ChaosSystem
from tests.chaos.witness import Witness
from tests.support.cluster import eventually

BACK_SECONDS = 120.0
BIG = "chaos-big"
BIG_SECONDS = 600.0


class Acts:
    """`partitions` is what the topic of too many partitions grows to."""

    def __init__(self, system: ChaosSystem, witness: Witness, partitions: int) -> None:
        self._system, self._witness, self._partitions = system, witness, partitions
        self._by_fault: dict[str, Callable[[Episode], None]] = {
            "kill broker": self._kill_broker,
            "stop broker": self._stop_broker,
            "pause broker": self._pause,
            "pause zookeeper": self._pause_zookeeper,
            "kill program": self._kill_program,
            "full disk": lambda episode: self._disk(episode, system.disk.fill, system.disk.empty),
            "failing disk": lambda episode: self._disk(episode, system.disk.fail, system.disk.mend),
            "many partitions": self._many_partitions,
        }

    def befall(self, episode: Episode) -> None:
        """Does it, waits, undoes it; returns once the processes are there again."""
        self._by_fault[episode.fault](episode)

    def _kill_broker(self, episode: Episode) -> None:
        """Behind everybody's back: it is for `up` to start it again."""
        with self._witness.expects(episode.victim):
            before = self._system.named(episode.victim).pid()
            self._system.signal(episode.victim, signal.SIGKILL)
            eventually(lambda: self._system.named(episode.victim).pid() not in (None, before), BACK_SECONDS, f"{episode.victim} is back")
            self._brokers_back()

    def _stop_broker(self, episode: Episode) -> None:
        broker_id = int(episode.victim.partition("-")[2])
        with self._witness.expects(episode.victim):
            self._system.stop(broker_id)
            with self._witness.silent(episode.victim):
                time.sleep(episode.seconds)
            self._system.start(broker_id)

    def _pause(self, episode: Episode) -> None:
        self._system.signal(episode.victim, signal.SIGSTOP)
        try:
            with self._witness.silent(episode.victim):
                time.sleep(episode.seconds)
        finally:
            self._system.signal(episode.victim, signal.SIGCONT)

    def _pause_zookeeper(self, episode: Episode) -> None:
        self._system.signal("zookeeper", signal.SIGSTOP)
        try:
            time.sleep(episode.seconds)
        finally:
            self._system.signal("zookeeper", signal.SIGCONT)

    def _kill_program(self, episode: Episode) -> None:
        with self._witness.expects(episode.victim):
            before = self._system.named(episode.victim).pid()
            self._system.signal(episode.victim, signal.SIGKILL)
            eventually(lambda: self._system.named(episode.victim).pid() not in (None, before), BACK_SECONDS, f"{episode.victim} is back")

    def _disk(self, episode: Episode, begin: Callable[[], None], end: Callable[[], None]) -> None:
        """Its broker may end of it and may have to be started anew: the space that is back needs that one action."""
        owner = f"broker-{DISK_OWNER}"
        with self._witness.expects(owner):
            begin()
            try:
                time.sleep(episode.seconds)
            finally:
                end()
            with contextlib.suppress(HighwaterError):
                self._system.stop(DISK_OWNER)
            self._system.start_all()
            self._brokers_back()

    def _many_partitions(self, episode: Episode) -> None:
        """Grown from three and deleted again, as one wrong form does."""
        admin = AdminClient({"bootstrap.servers": self._system.bootstrap_servers, "log_level": 2})
        admin.list_topics(timeout=30)
        for begin, what in (
            (lambda: admin.create_topics([NewTopic(BIG, 3, 3)])[BIG].result(60), "made"),
            (lambda: admin.create_partitions([NewPartitions(BIG, self._partitions)])[BIG].result(60), "grown"),
        ):
            with contextlib.suppress(KafkaException):  # it goes on after the client's time-out
                begin()
            count = 3 if what == "made" else self._partitions
            eventually(lambda count=count: self._led(admin) == count, BIG_SECONDS, f"{BIG} {what}")
        with contextlib.suppress(KafkaException):
            admin.delete_topics([BIG])[BIG].result(60)
        eventually(lambda: BIG not in admin.list_topics(timeout=30).topics, BIG_SECONDS, f"{BIG} deleted")

    @staticmethod
    def _led(admin: AdminClient) -> int:
        found = admin.list_topics(timeout=30).topics.get(BIG)
        return sum(1 for partition in found.partitions.values() if partition.leader > 0) if found else 0

    def _brokers_back(self) -> None:
        def back() -> bool:
            self._system.start_all()
            return {b["state"] for b in control.status(self._system.data)["brokers"]} == {"running"}

        eventually(back, BACK_SECONDS, f"brokers {BROKER_IDS} run")
