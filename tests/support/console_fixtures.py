"""Fixtures of the console's and the workers' tests: a real Redis, a real database, signed-in people, a pretended Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from console.gateway.kafka_cluster import KafkaCluster
from console.live.merging.state import ClusterState
from console.models import ApiToken, Cluster
from console.snapshot import write
from console.snapshot.connect import sync_client
from tests.support.console_world import BROKERS, PEOPLE, FakeKafka, cluster_state
from tests.support.redis import redis_server


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def redis(redis_url: str, settings: Any) -> Iterator[Any]:
    """An empty Redis that the console uses."""
    settings.REDIS_URL = redis_url
    settings.CHANNEL_LAYERS = {"default": {**settings.CHANNEL_LAYERS["default"], "CONFIG": {"hosts": [redis_url]}}}
    sync_client.cache_clear()
    client = sync_client()
    client.flushdb()
    yield client
    client.close()
    sync_client.cache_clear()


@pytest.fixture
def local(db: None) -> Cluster:
    return Cluster.objects.create(pk="local", name="local", bootstrap_servers="127.0.0.1:1", zookeeper="127.0.0.1:2", is_local=True)


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    fake = FakeKafka()
    for name in [n for n in vars(FakeKafka) if not n.startswith("_") and hasattr(KafkaCluster, n)]:
        monkeypatch.setattr(KafkaCluster, name, _forward(fake, name))
    monkeypatch.setattr("console.snapshot.read.SETTLE_S", 0.0)
    return fake


def _forward(fake: FakeKafka, name: str) -> Any:
    return lambda _self, *args, **kwargs: getattr(fake, name)(*args, **kwargs)


@pytest.fixture
def people(local: Cluster) -> dict[str, Client]:
    """A signed-in browser for each role."""
    found = {}
    for name in PEOPLE:
        user = User.objects.create(username=name)
        user.groups.add(Group.objects.get_or_create(name=name)[0])
        found[name] = Client()
        found[name].force_login(user)
    return found


@pytest.fixture
def tokens(local: Cluster) -> dict[str, dict[str, str]]:
    """REST headers for each role."""
    return {role: {"Authorization": f"Bearer {ApiToken.issue(role, role, 'test')[1]}"} for role in PEOPLE}


@pytest.fixture
def shown(redis: Any) -> ClusterState:
    """The pretended cluster, written to the snapshot as `live` would. Its brokers are not silent before a test has changed it and looked
    again, however slow the machine is."""
    now = time.time_ns() // 1_000_000
    state = cluster_state(now)
    for broker in BROKERS:
        state.feeds.heard(broker, now + AHEAD_MS)
    state.take(now)
    publish(redis, state, now)
    return state


AHEAD_MS = 600_000
"""However slow the machine is, a test's snapshot is read before its owner would be taken for silent."""


def publish(client: Any, state: ClusterState, now_ms: int, ahead_ms: int = AHEAD_MS, cluster: str = "local") -> None:
    pipe = client.pipeline(transaction=True)
    write.put(pipe, cluster, state.everything(now_ms))
    write.beat(pipe, cluster, now_ms + ahead_ms, now_ms + ahead_ms)
    pipe.execute()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Jobs handed to the queue."""
    queue: list[tuple[int, str]] = []
    monkeypatch.setattr("console.actions.jobs.enqueue_job", lambda job_id, kind: queue.append((job_id, kind)))
    return queue
