"""One real cluster and Redis for all tests of the reading process; each test has a topic of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from console.models import Cluster
from console.rules.records.masking import Rule
from console.rules.records.progress import Found, Progress, Search
from console.rules.records.query import read_query
from console.searches import store
from tests.support import clients
from tests.support.cluster import TestCluster
from tests.support.console_fixtures import *  # noqa: F403
from tests.support.shared import running
from workers.reader import child

_numbers = itertools.count()
COUNT_MAX = 500
SETTINGS = {"message.max.bytes": "70000000", "log.cleaner.backoff.ms": "200"}


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    yield from running(TestCluster(tmp_path_factory.mktemp("read") / "data", SETTINGS))


@pytest.fixture
def registered(db: None, redis: Any, cluster: TestCluster) -> Cluster:
    return Cluster.objects.create(pk="local", name="local", bootstrap_servers=cluster.bootstrap_servers, zookeeper="", is_local=True)


class Topic:
    """A topic, and searches of it as the reading process runs them."""

    def __init__(self, cluster: TestCluster, name: str) -> None:
        self.cluster, self.name = cluster, name

    def write(self, *records: dict[str, Any], **settings: Any) -> None:
        """Each with value, key, headers, timestamp, partition."""
        options = {"bootstrap.servers": self.cluster.bootstrap_servers, "enable.idempotence": True, **settings}
        producer = Producer({"message.max.bytes": 80_000_000, "compression.type": "gzip", **options})
        failed: list[Any] = []
        for record in records:
            producer.produce(self.name, on_delivery=lambda error, _: failed.append(error) if error else None, **record)
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed

    def asked(self, rules: tuple[Rule, ...] = (), **query: Any) -> Search:
        wanted = read_query({name: str(value) for name, value in query.items()})
        found = Search(
            id=store.new_id(), cluster="local", topic=self.name, query=wanted, by="somebody", asked_ms=store.now_ms(), rules=rules
        )
        store.ask(found)
        return found

    def search(self, rules: tuple[Rule, ...] = (), **query: Any) -> tuple[Progress, list[Found]]:
        search = self.asked(rules, **query)
        return self.read(search)

    def read(self, search: Search) -> tuple[Progress, list[Found]]:
        child.read(search)
        return store.progress(search.id), store.found(search, 0, COUNT_MAX)


@pytest.fixture
def new_topic(registered: Cluster, cluster: TestCluster) -> Callable[..., Topic]:
    def make(partitions: int = 1, **config: str) -> Topic:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        name = f"read-{next(_numbers)}"
        kept = {"retention.ms": "-1"}  # tests write records of years ago, which the first look for old segments would delete
        given = {key.replace("_", "."): value for key, value in config.items()}
        clients.make(admin, NewTopic(name, partitions, 3, config=kept | given))
        return Topic(cluster, name)

    return make


@pytest.fixture
def topic(new_topic: Callable[..., Topic]) -> Topic:
    return new_topic()
