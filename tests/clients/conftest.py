"""One cluster for all client tests; each test gets it whole and topics of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support import clients
from tests.support.cluster import TestCluster
from tests.support.shared import healed, running

_numbers = itertools.count()


SETTINGS = {"zookeeper.session.timeout.ms": "10000", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
"""A kill is acted on at once, long before a session ends, on a slow machine too; only a pause waits for that."""


@pytest.fixture(scope="package")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    yield from running(TestCluster(tmp_path_factory.mktemp("cluster") / "data", SETTINGS))


@pytest.fixture
def cluster(shared_cluster: TestCluster) -> Iterator[TestCluster]:
    yield from healed(shared_cluster)


@pytest.fixture
def admin(cluster: TestCluster) -> AdminClient:
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
