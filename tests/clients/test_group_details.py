"""What members of groups rely on: patterns, static members, cooperative rebalances, what a death makes them read twice."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import NewTopic as TopicToMake

from tests.support import clients
from tests.support.cluster import TestCluster, eventually

NewTopic = Callable[..., str]
ROOT = Path(__file__).resolve().parent.parent.parent
PARTITIONS = 6

pytestmark = pytest.mark.spec("G2")


class Member:
    """A consumer in a thread of its own, as each has one: what it was given and what was taken from it, in order."""

    def __init__(self, cluster: TestCluster, group: str, *topics: str, **settings: Any) -> None:
        self.given: list[frozenset[tuple[str, int]]] = []
        self.taken: list[frozenset[tuple[str, int]]] = []
        self.read: list[bytes] = []
        self._topics = list(topics)
        base = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**base, "session.timeout.ms": 10_000, "topic.metadata.refresh.interval.ms": 500, **settings})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.owned: frozenset[tuple[str, int]] = frozenset()
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe(self._topics, on_assign=self._assign, on_revoke=self._revoke)
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.read.append(message.value() or b"")
            self.owned = named(self._consumer.assignment())
        self._consumer.close()

    def _assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.given.append(named(partitions))

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.taken.append(named(partitions))

    def close(self) -> None:
        self._stop.set()
        self._thread.join(60)


def named(partitions: list[TopicPartition]) -> frozenset[tuple[str, int]]:
    return frozenset((one.topic, one.partition) for one in partitions)


@pytest.fixture
def member(cluster: TestCluster) -> Iterator[Callable[..., Member]]:
    """Starts members that are gone after the test."""
    started: list[Member] = []

    def start(group: str, *topics: str, **settings: Any) -> Member:
        started.append(Member(cluster, group, *topics, **settings))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_a_pattern_follows_topics_as_they_come_and_go(
    cluster: TestCluster, admin: AdminClient, new_topic: NewTopic, member: Callable[..., Member]
) -> None:
    first = new_topic(partitions=2)
    reader = member(f"g-{first}", f"^{first}.*")
    eventually(lambda: reader.owned == {(first, 0), (first, 1)}, what="the topic that is there")
    second = f"{first}-later"
    clients.make(admin, TopicToMake(second, 1, 3))
    eventually(lambda: reader.owned == {(first, 0), (first, 1), (second, 0)}, what="the topic that was made later")
    clients.produce(cluster, second, [b"of the later topic"])
    eventually(lambda: b"of the later topic" in reader.read, what="its record")
    admin.delete_topics([first])[first].result(30)
    eventually(lambda: reader.owned == {(second, 0)}, what="without the topic that was deleted")


def test_a_static_member_that_restarts_disturbs_nobody(new_topic: NewTopic, member: Callable[..., Member]) -> None:
    """KIP-345: the one that stays is neither asked to give up nor given anything, and the other has its partitions back."""
    topic = new_topic(partitions=PARTITIONS)
    settings = {"session.timeout.ms": 30_000}
    stays = member(f"g-{topic}", topic, **settings, **{"group.instance.id": "stays"})
    restarts = member(f"g-{topic}", topic, **settings, **{"group.instance.id": "restarts"})
    eventually(lambda: (len(stays.owned), len(restarts.owned)) == (3, 3), what="both have their part")
    owned, calls = restarts.owned, (len(stays.given), len(stays.taken))
    restarts.close()
    again = member(f"g-{topic}", topic, **settings, **{"group.instance.id": "restarts"})
    eventually(lambda: again.owned == owned, what="the same partitions")
    assert (len(stays.given), len(stays.taken)) == calls


def test_a_cooperative_rebalance_moves_only_what_has_to_move(
    cluster: TestCluster, new_topic: NewTopic, member: Callable[..., Member]
) -> None:
    """KIP-429: the first member keeps what it goes on with, and is asked for the rest alone; nothing is read twice."""
    topic = new_topic(partitions=PARTITIONS)
    settings = {"partition.assignment.strategy": "cooperative-sticky"}
    first = member(f"g-{topic}", topic, **settings)
    eventually(lambda: len(first.owned) == PARTITIONS, what="one member owns all")
    clients.produce(cluster, topic, [b"%d" % number for number in range(300)])
    eventually(lambda: len(first.read) == 300, what="all is read")
    second = member(f"g-{topic}", topic, **settings)
    eventually(lambda: (len(first.owned), len(second.owned)) == (3, 3), what="two share")
    assert frozenset().union(*first.taken) == second.owned, "only what the second one has was taken from the first"
    assert not first.owned & second.owned
    clients.produce(cluster, topic, [b"%d" % number for number in range(300, 600)])
    eventually(lambda: len(first.read) + len(second.read) >= 600, what="both read on")
    assert sorted(map(int, [*first.read, *second.read])) == list(range(600))


@pytest.fixture
def reading_child(cluster: TestCluster) -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(mode: str, topic: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.reading_child", mode, cluster.bootstrap_servers, f"g-{topic}", topic]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


@pytest.mark.spec("G3")
@pytest.mark.parametrize("mode", ["auto", "async", "sync"])
def test_a_reader_that_is_killed_is_read_on_from_its_last_commit(
    cluster: TestCluster,
    admin: AdminClient,
    new_topic: NewTopic,
    member: Callable[..., Member],
    reading_child: Callable[[str, str], subprocess.Popen[str]],
    mode: str,
) -> None:
    """Nothing is left out. What was worked on and not committed comes twice: with `sync` at most one record, else what came since."""
    topic = new_topic(partitions=1)
    clients.produce(cluster, topic, [b"%d" % number for number in range(400)])
    child = reading_child(mode, topic)
    assert child.stdout is not None
    worked = [int(child.stdout.readline()) for _ in range(100)]
    eventually(lambda: committed(cluster, topic) > 0, what="a commit")
    child.kill()
    worked += [int(line) for line in child.stdout]
    assert worked == list(range(len(worked)))
    at = committed(cluster, topic)
    assert 0 < at <= len(worked)
    if mode == "sync":
        assert at >= len(worked) - 1
    clients.produce(cluster, topic, [b"400"])
    after = member(f"g-{topic}", topic, **{"enable.auto.commit": False})
    eventually(lambda: after.read[-1:] == [b"400"], what="the rest")
    assert [int(value) for value in after.read] == list(range(at, 401))


def committed(cluster: TestCluster, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": f"g-{topic}"})
    try:
        (found,) = consumer.committed([TopicPartition(topic, 0)], 30)
        return found.offset
    finally:
        consumer.close()


@pytest.mark.spec("G4", "G10")
def test_order_holds_while_leaders_are_killed(cluster: TestCluster, admin: AdminClient, new_topic: NewTopic) -> None:
    """Five requests on their way, retries and all: the log has each record once, in the order in which it was sent."""
    topic = new_topic(partitions=1, min_insync_replicas="2")
    settings = {"enable.idempotence": True, "linger.ms": 1, "batch.num.messages": 20, "delivery.timeout.ms": 120_000}
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
    failed: list[Any] = []
    acknowledged: list[Any] = []
    sent = 0

    def send_until(count: int) -> bool:
        """Sends on, until so many are acknowledged."""
        nonlocal sent
        for _ in range(50):
            producer.produce(topic, b"%d" % sent, on_delivery=lambda error, message: (failed if error else acknowledged).append(error))
            sent += 1
        producer.poll(0.02)
        return len(acknowledged) >= count

    for _ in range(3):
        goal = len(acknowledged) + 1500
        eventually(lambda goal=goal: send_until(goal), what="records are acknowledged")
        leader = admin.list_topics(topic, timeout=30).topics[topic].partitions[0].leader
        cluster.kill(leader)
        eventually(lambda goal=goal: send_until(goal + 1500), 90, what="records are acknowledged by the next leader")
        cluster.start(leader)
        cluster.heal()
        eventually(lambda: clients.whole(admin, topic, 3), what="in sync again")
    assert producer.flush(120) == 0
    assert not failed
    assert [int(message.value() or b"-1") for message in clients.read_all(cluster, topic, sent)] == list(range(sent))
