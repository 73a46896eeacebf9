"""One whole system for the outages that it survives; each test gets it whole, and it must be whole again within seconds."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.cli.tokens import make_token
from tests.support import clients
from tests.support.console_system import ConsoleSystem
from tests.support.web import Web

PROGRAMS = ("console", "live", "worker", "beat")
_numbers = itertools.count()


@pytest.fixture(scope="package")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleSystem]:
    made = ConsoleSystem(tmp_path_factory.mktemp("system") / "data")
    try:
        made.up()
        yield made
    finally:
        os.environ.update(made.environment)
        made.down()


@pytest.fixture
def cluster(shared_cluster: ConsoleSystem) -> Iterator[ConsoleSystem]:
    """Healed afterwards; console, live, worker and beat must be the processes they were."""
    os.environ.update(shared_cluster.environment)
    programs = {name: shared_cluster.program(name).pid() for name in PROGRAMS}
    yield shared_cluster
    shared_cluster.heal()
    assert programs == {name: shared_cluster.program(name).pid() for name in PROGRAMS}, "a program ended"


@pytest.fixture
def admin(cluster: ConsoleSystem) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


@pytest.fixture
def new_topic(request: pytest.FixtureRequest, admin: AdminClient) -> Callable[..., str]:
    """Makes a topic named after the test and waits until every partition has a leader and a full ISR."""

    def make(partitions: int = 3, replication_factor: int = 3, **config: str) -> str:
        name = f"{re.sub(r'[^a-z0-9]+', '-', request.node.name.lower())[:80]}-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        clients.make(admin, NewTopic(name, partitions, replication_factor, config=settings))
        return name

    return make


@pytest.fixture(scope="package")
def token(shared_cluster: ConsoleSystem) -> str:
    return make_token(shared_cluster.layout, "outages", "admin", None, save=False).token


@pytest.fixture
def api(cluster: ConsoleSystem, token: str) -> Web:
    """REST with an admin's token."""
    return Web(cluster.url, token)


def feed_is_live(api: Web) -> bool:
    """Whether the console hears of all that there is."""
    answer = api.get("/api/v1/clusters/local")
    return answer.status == 200 and (answer.json()["feed"] or {}).get("state") == "live" and answer.json()["brokers_online"] == 3


@pytest.fixture
def person(cluster: ConsoleSystem) -> Web:
    """A signed-in admin's pages."""
    web = Web(cluster.url)
    web.sign_in(cluster.password)
    return web
