"""The whole system as `make up` runs it, without demo traffic: a real cluster, Redis, console, live feed, worker and beat."""

from __future__ import annotations

import re

from confluent_kafka.admin import AdminClient

from broker_core.cli import system
from broker_core.local.layout import BROKER_IDS
from broker_core.local.process import LocalProcess
from console.live.sampling.samples import SAMPLES_TOPIC
from tests.support import clients
from tests.support.cluster import TestCluster, eventually


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
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        eventually(lambda: clients.whole(admin, SAMPLES_TOPIC, len(BROKER_IDS)), 120, f"a whole {SAMPLES_TOPIC}")

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
