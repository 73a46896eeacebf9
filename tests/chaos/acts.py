"""Carrying the grave faults out, and mending them again."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from broker_core.errors import HighwaterError
from broker_core.local import control
from broker_core.local.layout import BROKER_IDS
from tests.chaos.plan import Episode
from tests.chaos.system import DISK_OWNER, ChaosSystem
from tests.chaos.witness import LOOK_SECONDS, Witness
from tests.support.cluster import eventually

BACK_SECONDS = 120.0
BIG_SECONDS = 600.0


class Acts:
    """`partitions` is what the topic of too many partitions grows to."""

    def __init__(self, system: ChaosSystem, witness: Witness, partitions: int) -> None:
        self._system, self._witness, self._partitions = system, witness, partitions
        self._grown = 0
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
            self._system.start_all()
            self._brokers_back()

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
            self._system.disk.settle()
            self._system.start_all()
            self._brokers_back()

    def _many_partitions(self, episode: Episode) -> None:
        """Grown from three and deleted again, as one wrong form does. Each has its own name: the last one's deletion goes on meanwhile."""
        admin = AdminClient({"bootstrap.servers": self._system.bootstrap_servers, "log_level": 2})
        self._grown += 1
        name = f"chaos-big-{self._grown}"
        count = self._partitions
        self._until(lambda: self._led(admin, name) == 3, lambda: admin.create_topics([NewTopic(name, 3, 3)])[name])
        self._until(lambda: self._led(admin, name) == count, lambda: admin.create_partitions([NewPartitions(name, count)])[name])
        self._until(lambda: self._led(admin, name) == 0, lambda: admin.delete_topics([name])[name])

    @staticmethod
    def _until(done: Callable[[], bool], ask: Callable[[], Future[None]]) -> None:
        """It goes on after the client's time-out, or was refused because no controller was in office: then it is asked again."""

        def asked_and_done() -> bool:
            if done():
                return True
            with contextlib.suppress(KafkaException, TimeoutError):
                ask().result(60)
            return done()

        eventually(asked_and_done, BIG_SECONDS, "too many partitions")

    @staticmethod
    def _led(admin: AdminClient, name: str) -> int:
        """-1 while nobody answers."""
        time.sleep(LOOK_SECONDS)
        try:
            found = admin.list_topics(timeout=30).topics.get(name)
        except KafkaException:
            return -1
        return sum(1 for partition in found.partitions.values() if partition.leader > 0) if found else 0

    def _brokers_back(self) -> None:
        def back() -> bool:
            self._system.start_all()
            return {b["state"] for b in control.status(self._system.data)["brokers"]} == {"running"}

        eventually(back, BACK_SECONDS, f"brokers {BROKER_IDS} run")
