"""One whole system for all tests of this folder; each test makes topics of its own and leaves every process running."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.cli import tokens
from tests.support import clients
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.jvm import short_lived
from tests.support.rest import LOCAL, Rest
from tests.support.shared import running

QUICK = {"log.retention.check.interval.ms": "1000", "log.segment.delete.delay.ms": "1000"}
ROLES = ("viewer", "operator", "admin")


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleSystem]:
    with short_lived():
        yield from running(ConsoleSystem(tmp_path_factory.mktemp("whole") / "data", QUICK))


def make_token(system: ConsoleSystem, name: str, role: str) -> str:
    return tokens.make_token(system.layout, name, role, None, save=False).token


@pytest.fixture(scope="package")
def people(system: ConsoleSystem) -> dict[str, Rest]:
    """REST by role."""
    return {role: Rest(system.layout.console_port, make_token(system, f"test-{role}", role)) for role in ROLES}


@pytest.fixture(scope="package")
def rest(people: dict[str, Rest]) -> Rest:
    """An operator, once the feeds of all brokers are heard."""
    found = people["operator"]
    eventually(lambda: (found.live()["feed"] or {}).get("state") == "live", 60, "a live feed")
    return found


def bystander_of(rest: Rest) -> int:
    """A broker that is not the controller now, for faults that shall not move it."""
    return max({1, 2, 3} - {rest.live()["controller_id"]})


def heard(rest: Rest) -> dict[str, Any]:
    """The cluster in a moment at which every part of it is heard: on a slow machine a broker may be silent for 3 s."""
    found: list[dict[str, Any]] = []

    def is_heard() -> bool:
        found.append(rest.live())
        return found[-1]["feed"]["state"] == "live" and not found[-1]["unknown"] and not found[-1]["starting"]

    eventually(is_heard, 60, "all that is alive is heard")
    return found[-1]


@pytest.fixture
def bystander(rest: Rest) -> int:
    return bystander_of(rest)


MakeTopic = Callable[[str, list[list[int]]], str]


@pytest.fixture(scope="package")
def make_topic(system: ConsoleSystem, rest: Rest) -> MakeTopic:
    """A topic by the replicas of each partition, once it is whole and the console knows it.

    A client of its own for each: librdkafka's asks who it took for the controller, long after that has changed.
    """

    def make(name: str, replicas: list[list[int]]) -> str:
        admin = AdminClient({"bootstrap.servers": system.bootstrap_servers})
        topic = f"{name}-{uuid.uuid4().hex[:6]}"
        clients.make(admin, NewTopic(topic, len(replicas), replica_assignment=replicas))
        eventually(lambda: shown(rest, topic, replicas), what=f"{topic} in the console")
        return topic

    return make


def shown(rest: Rest, topic: str, replicas: list[list[int]]) -> bool:
    answer = rest.ask("GET", f"{LOCAL}/topics/{topic}/partitions?limit=500")
    return answer.status == 200 and [sorted(p["isr"]) for p in answer.body["items"]] == [sorted(r) for r in replicas]


@pytest.fixture(autouse=True)
def healed(system: ConsoleSystem) -> Iterator[None]:
    """Whatever a test has paused, stopped or killed runs again."""
    yield
    system.heal()
    for name in ("live", "worker", "beat"):
        if not system.program(name).alive():
            system.start_program(name)
