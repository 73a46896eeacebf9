"""Whoever can write to ZooKeeper can write nonsense: brokers and controller live on, and say what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.outages.conftest import feed_is_live
from tests.support.clients import produce, read_all
from tests.support.cluster import TestCluster, eventually
from tests.support.console_system import ConsoleSystem
from tests.support.web import Web

NewTopic = Callable[..., str]
BAD_VALUES = (b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"version": 99}', b'{"version": 1, "partitions": {"x": "y"}}')


@pytest.fixture
def zookeeper(cluster: TestCluster) -> Iterator[KazooClient]:
    client = KazooClient(cluster.layout.zookeeper_connect)
    client.start(20)
    yield client
    client.stop()
    client.close()


@pytest.fixture(autouse=True)
def the_page_goes_on(cluster: ConsoleSystem, api: Web) -> Iterator[None]:
    """The console reads the same znodes: its feed has to be live afterwards."""
    yield
    cluster.heal()
    eventually(lambda: feed_is_live(api), what="the feed is live, with three brokers")


def controller_id(zookeeper: KazooClient) -> int:
    """From ZooKeeper, -1 while there is none: librdkafka may abort the process when it describes a cluster whose brokers die."""
    try:
        return int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
    except NoNodeError:
        return -1


def leader(admin: AdminClient, topic: str) -> int:
    """Of partition 0, -1 while the broker asked knows of none: it may not have been told of the topic before the controller died."""
    partition = admin.list_topics(topic, timeout=10).topics[topic].partitions.get(0)
    return -1 if partition is None else int(partition.leader)


def logged(cluster: TestCluster, words: str) -> bool:
    return any(words in cluster.layout.log_file(f"broker-{broker_id}").read_text() for broker_id in (1, 2, 3))


@pytest.mark.parametrize("value", BAD_VALUES)
def test_a_topic_that_is_no_json(cluster: TestCluster, zookeeper: KazooClient, new_topic: NewTopic, value: bytes) -> None:
    name = f"bad-{BAD_VALUES.index(value)}"
    zookeeper.create(f"/brokers/topics/{name}", value)
    try:
        eventually(lambda: logged(cluster, name), 60, f"{name} is named in a log")
        topic = new_topic(partitions=1)
        produce(cluster, topic, [b"x"])
    finally:
        zookeeper.delete(f"/brokers/topics/{name}", recursive=True)
    assert cluster.running() == [1, 2, 3]


def test_every_other_znode(cluster: TestCluster, admin: AdminClient, zookeeper: KazooClient, new_topic: NewTopic) -> None:
    """Registrations, settings, change notifications and orders: each with every bad value, then the cluster does all its work."""
    topic = new_topic(partitions=3)
    settings = json.dumps({"version": 1, "config": {"min.insync.replicas": "²", "retention.ms": "x", "nonsense": "1"}}).encode()
    for value in (*BAD_VALUES, settings):
        zookeeper.create("/brokers/ids/9", value, ephemeral=True)
        zookeeper.ensure_path(f"/config/topics/{topic}")
        zookeeper.set(f"/config/topics/{topic}", value)
        zookeeper.create("/config/changes/config_change_", value, sequence=True)
        good = json.dumps({"version": 2, "entity_path": f"topics/{topic}"}).encode()
        zookeeper.create("/config/changes/config_change_", good, sequence=True)
        zookeeper.create("/isr_change_notification/isr_change_", value, sequence=True)
        zookeeper.create("/log_dir_event_notification/log_dir_event_", value, sequence=True)
        for order in ("reassign_partitions", "preferred_replica_election"):
            path = f"/admin/{order}"
            if zookeeper.exists(path) is None:
                zookeeper.create(path, value)
        zookeeper.create(f"/admin/delete_topics/never-there-{len(value)}", value)
        eventually(lambda: not zookeeper.get_children("/isr_change_notification"), 60, "the notification was taken")
        zookeeper.delete("/brokers/ids/9")
    for order in ("reassign_partitions", "preferred_replica_election"):
        eventually(lambda order=order: zookeeper.exists(f"/admin/{order}") is None, 60, f"/admin/{order} was taken away")
    assert cluster.running() == [1, 2, 3]
    later = new_topic(partitions=3)
    produce(cluster, later, [b"x"])
    assert len(read_all(cluster, later, 1, partitions=3)) == 1
    admin.delete_topics([later])[later].result(30)
    eventually(lambda: later not in admin.list_topics(timeout=10).topics, 60, "deletion works")


def test_names_that_no_broker_or_topic_has(cluster: TestCluster, zookeeper: KazooClient, new_topic: NewTopic) -> None:
    """Children of /brokers/ids and /brokers/topics that Kafka would never have written."""
    good = json.dumps({"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": {"0": [1]}}).encode()
    odd = [f"/brokers/topics/{name}" for name in ("a b", "ü", "<b>", "x" * 300, "a%2Fb")]
    for path in odd:
        zookeeper.create(path, good)
    zookeeper.create("/brokers/ids/nonsense", b"{}", ephemeral=True)
    zookeeper.create("/brokers/ids/-7", b"{}", ephemeral=True)
    produce(cluster, new_topic(partitions=1), [b"x"])
    for path in odd:
        zookeeper.delete(path, recursive=True)
    zookeeper.delete("/brokers/ids/nonsense")
    zookeeper.delete("/brokers/ids/-7")
    produce(cluster, new_topic(partitions=1), [b"x"])


def test_a_broken_office_of_the_controller(cluster: TestCluster, admin: AdminClient, zookeeper: KazooClient, new_topic: NewTopic) -> None:
    """While nobody can be elected brokers serve what they have; once the znodes are right again one is elected."""
    topic = new_topic(partitions=1)
    epoch = int(zookeeper.get("/controller_epoch")[0])
    zookeeper.set("/controller_epoch", b"nonsense")
    zookeeper.delete("/controller")
    zookeeper.create("/controller", b"{nonsense", ephemeral=True)
    produce(cluster, topic, [b"x"])
    zookeeper.delete("/controller")
    produce(cluster, topic, [b"y"])
    zookeeper.set("/controller_epoch", str(epoch + 5).encode())
    if zookeeper.exists("/controller") is not None:
        zookeeper.delete("/controller")
    eventually(lambda: zookeeper.exists("/controller"), 60, "a controller is elected")
    assert cluster.running() == [1, 2, 3]
    produce(cluster, new_topic(partitions=1), [b"z"])


def test_a_partition_state_that_is_no_json(cluster: TestCluster, admin: AdminClient, zookeeper: KazooClient, new_topic: NewTopic) -> None:
    """The next controller reads it: the office must not bounce between brokers for ever."""
    bad, good = new_topic(partitions=1), new_topic(partitions=1)
    zookeeper.set(f"/brokers/topics/{bad}/partitions/0/state", b"{nonsense")
    controller = controller_id(zookeeper)
    cluster.kill(controller)
    eventually(lambda: controller_id(zookeeper) not in (controller, -1), 60, "a new controller")
    eventually(lambda: leader(admin, good) not in (controller, -1), 60, "another leader")
    cluster.start(controller)
    produce(cluster, good, [b"x"])
    assert logged(cluster, bad)
    zookeeper.create(f"/admin/delete_topics/{bad}", b"")
    eventually(lambda: zookeeper.exists(f"/brokers/topics/{bad}") is None, 60, "even this one can be deleted")
