"""The whole system as `make up` runs it, without demo traffic: a real cluster, Redis, console, live feed, worker and beat."""

from __future__ import annotations

import re

from broker_core.cli import system
from broker_core.local.layout import BROKER_IDS
from broker_core.local.process import LocalProcess
from console.live.sampling.samples import SAMPLES_PARTITIONS, SAMPLES_TOPIC
from tests.support.cluster import TestCluster, eventually
from tests.support.metadata import metadata_of


class ConsoleSystem(TestCluster):
    """Everything on free ports below one folder; `url` and `password` lead to the pages."""

    password = ""

    @property
    def url(self) -> str:
        return self.layout.console_url.rstrip("/")

    def up(self) -> None:
        """Done once the topic that `live` makes by itself, 10 s after its start, is whole too: else it comes in the middle of a test, and
        brokers lead and host what that has not reckoned with."""
        self.password = _password(system.start_side(self.layout, _quiet))
        super().up()
        for program in system.programs(self.layout, demo=False):
            system.start_program(self.layout, program)
        system.wait_console(self.layout)
        eventually(self._samples_are_whole, 120, f"a whole {SAMPLES_TOPIC}")

    def _samples_are_whole(self) -> bool:
        answer = metadata_of(self.layout.port_of(BROKER_IDS[0]), [SAMPLES_TOPIC])
        found = answer.topics[0].partitions if answer else ()
        return len(found) == SAMPLES_PARTITIONS and all(sorted(p.isr_nodes) == sorted(BROKER_IDS) for p in found)

    def down(self) -> None:
        try:
            system.stop_all(self.layout, _quiet)
        finally:
            super().down()

    def program(self, name: str) -> LocalProcess:
        """One of console, live, worker and beat."""
        return system.process_of(self.layout, name)

    def kill_program(self, name: str) -> None:
        self.program(name).kill()

    def start_program(self, name: str) -> None:
        system.start_program(self.layout, next(p for p in system.programs(self.layout, demo=False) if p.name == name))


def _password(words: str) -> str:
    found = re.search(r"password: (\S+)", words)
    assert found, f"the set-up printed no password: {words!r}"
    return found[1]


def _quiet(words: str) -> None:
    """Nobody reads the progress of a test's set-up."""
