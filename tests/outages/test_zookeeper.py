"""ZooKeeper stands still, dies and comes back: brokers live on what they know, and everything recovers alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient

from broker_core.local import brokers
from broker_core.local.process import ProcessError
from broker_core.local.services import start_zookeeper, zookeeper_process
from tests.outages.conftest import feed_is_live
from tests.support.clients import produce, read_all, whole
from tests.support.cluster import TestCluster, eventually
from tests.support.console_system import ConsoleSystem
from tests.support.web import Web

pytestmark = pytest.mark.spec("Z1", "Z2", "Z3")

NewTopic = Callable[..., str]
SESSION_TIMEOUTS_S = 9.0


@pytest.fixture(autouse=True)
def with_zookeeper(cluster: TestCluster) -> Iterator[None]:
    yield
    process = zookeeper_process(cluster.layout)
    if process.paused():
        process.send(signal.SIGCONT)
    start_zookeeper(cluster.layout)


@contextmanager
def load(cluster: TestCluster, topic: str) -> Iterator[list[int]]:
    """Numbers acknowledged so far by an idempotent producer that goes on in a thread."""
    acknowledged: list[int] = []
    failed: list[str] = []
    stop = threading.Event()

    def report(error: object, message: Message) -> None:
        if error:
            failed.append(str(error))
        else:
            acknowledged.append(int(message.value() or b"-1"))

    def work() -> None:
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True, "delivery.timeout.ms": 90000}
        producer = Producer(settings)
        number = 0
        while not stop.wait(0.01):
            producer.produce(topic, b"%d" % number, on_delivery=report)
            producer.poll(0)
            number += 1
        producer.flush(80)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        eventually(lambda: len(acknowledged) > 20, 60, "the load runs")
        yield acknowledged
    finally:
        stop.set()
        thread.join(90)
    assert not failed, failed[0]


def clock(seconds: float) -> Callable[[], bool]:
    """Holds once that much time has passed: an outage of a certain length is what is tested."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def zookeeper_is_missed(api: Web) -> bool:
    return "ZooKeeper does not answer" in api.get("/api/v1/clusters/local").json()["verdict"]["text"]


def test_a_pause_beyond_all_sessions(cluster: ConsoleSystem, admin: AdminClient, api: Web, new_topic: NewTopic) -> None:
    """Produce goes on while leaders are what they were; then brokers go on in their sessions or, found expired, register anew."""
    topic = new_topic(partitions=3, min_insync_replicas="2")
    pids = [cluster.pid(broker_id) for broker_id in (1, 2, 3)]
    paused = zookeeper_process(cluster.layout)
    with load(cluster, topic) as acknowledged:
        paused.send(signal.SIGSTOP)
        eventually(clock(SESSION_TIMEOUTS_S), 60, "the time of the sessions is over")
        before = len(acknowledged)
        eventually(lambda: len(acknowledged) > before + 50, 60, "the producer goes on without ZooKeeper")
        assert api.get("/api/v1/clusters/local").status == 200
        paused.send(signal.SIGCONT)
        eventually(lambda: whole(admin, topic, 3), 60, "all replicas are in sync")
        later = new_topic(partitions=1)
        produce(cluster, later, [b"x"])
    assert [cluster.pid(broker_id) for broker_id in (1, 2, 3)] == pids
    stored = [int(message.value() or b"-1") for message in read_all(cluster, topic, len(acknowledged), partitions=3)]
    assert sorted(stored) == sorted(acknowledged)
    eventually(lambda: feed_is_live(api), 60, "the page is whole again")


def test_killed_and_started_again(cluster: ConsoleSystem, admin: AdminClient, api: Web, new_topic: NewTopic) -> None:
    """A broker that is killed meanwhile cannot start, says why, and starts once ZooKeeper is back."""
    topic = new_topic(partitions=3, min_insync_replicas="2")
    with load(cluster, topic) as acknowledged:
        assert zookeeper_process(cluster.layout).kill()
        before = len(acknowledged)
        eventually(lambda: len(acknowledged) > before + 50, 60, "the producer goes on without ZooKeeper")
        eventually(lambda: zookeeper_is_missed(api), 60, "pages say that it is away")
        start_zookeeper(cluster.layout)
        eventually(lambda: whole(admin, new_topic(partitions=1), 3), 60, "topics can be made again")
    stored = [int(message.value() or b"-1") for message in read_all(cluster, topic, len(acknowledged), partitions=3)]
    assert sorted(stored) == sorted(acknowledged)
    eventually(lambda: feed_is_live(api), 60, "the page is whole again")
    eventually(lambda: not zookeeper_is_missed(api), 60, "pages say no more that it is away")


def test_a_broker_that_starts_without_zookeeper_says_so(cluster: TestCluster) -> None:
    properties = brokers.write_properties(cluster.layout, 3)
    kept = properties.read_text()
    cluster.stop(3)
    try:
        properties.write_text(kept + "zookeeper.connection.timeout.ms=1500\n")
        zookeeper_process(cluster.layout).send(signal.SIGSTOP)
        with pytest.raises(ProcessError, match="within 1500 ms") as caught:
            cluster.start(3)
        assert "Traceback" not in str(caught.value)
    finally:
        properties.write_text(kept)
        zookeeper_process(cluster.layout).send(signal.SIGCONT)
    cluster.start(3)


def test_a_broker_bears_a_store_that_stands_still_while_it_starts(cluster: TestCluster, admin: AdminClient) -> None:
    """Its first operations meet a paused ZooKeeper; it goes on where it was when ZooKeeper does."""
    cluster.stop(3)
    brokers.launch(cluster.layout, 3)
    process = zookeeper_process(cluster.layout)
    process.send(signal.SIGSTOP)
    log = cluster.layout.log_file("broker-3")
    size = log.stat().st_size
    eventually(clock(3.0), 10, "the start waits")
    process.send(signal.SIGCONT)
    brokers.wait_broker(cluster.layout, 3)
    assert "could not start" not in log.read_text()[size:]
    assert cluster.running() == [1, 2, 3]
