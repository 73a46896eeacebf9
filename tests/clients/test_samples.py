"""The samples' way into their topic, through an outage of all brokers that is longer than a record waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_core.local.layout import BROKER_IDS
from console.gateway.errors import GatewayError
from console.gateway.sample_topic import SampleTopic
from tests.support.clients import read_all
from tests.support.cluster import TestCluster, eventually


@pytest.fixture
def samples(cluster: TestCluster) -> Iterator[SampleTopic]:
    found = SampleTopic(cluster.bootstrap_servers, "samples-of-an-outage", 3, {"min.insync.replicas": "2"})
    yield found
    found.close()


def write(samples: SampleTopic, first: int, count: int) -> bool:
    """All of them, however often it takes; False where the cluster takes none now."""
    left = [(b"k%d" % n, b"%d" % n) for n in range(first, first + count)]
    try:
        return not samples.write(left)
    except GatewayError:
        return False


def test_samples_go_on_after_an_outage_longer_than_they_wait(cluster: TestCluster, samples: SampleTopic) -> None:
    """kafka-python's producer stood still for good after it, without an error."""
    eventually(lambda: write(samples, 0, 50), 60, "samples are written")
    for broker_id in BROKER_IDS:
        cluster.pause(broker_id)
    try:
        assert not write(samples, 50, 50)
    finally:
        cluster.heal()
    eventually(lambda: write(samples, 50, 50), 60, "samples are written again")
    found = {int(message.value() or b"-1") for message in read_all(cluster, "samples-of-an-outage", 100, partitions=3)}
    assert found == set(range(100))
