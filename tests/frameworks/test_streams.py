"""Kafka Streams counts words with exactly_once_v2: every word is counted once, whoever is killed meanwhile."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker_core.local.process import wait_until
from tests.support import clients, framework_jars
from tests.support.cluster import TestCluster, eventually
from tests.support.java_program import JavaProgram, properties_file

INPUT, OUTPUT = "streams-lines", "streams-counts"
PROGRAM = Path(__file__).parent / "WordCount.java"
PARTITIONS = 3
WORDS = ("broker", "epoch", "fetch", "group", "isr", "leader", "log", "offset", "replica", "topic", "watermark")
LINES, WORDS_A_LINE = 300, 8
WAIT_S = 120

pytestmark = [pytest.mark.spec("G5"), pytest.mark.spec("C")]


class Counts:
    """What a reader of committed records is told of each word, in order."""

    def __init__(self, cluster: TestCluster) -> None:
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "counts", "enable.auto.commit": False}
        self._consumer = Consumer({**settings, "isolation.level": "read_committed"})
        self._consumer.assign([TopicPartition(OUTPUT, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
        self.told: defaultdict[str, list[int]] = defaultdict(list)

    def total(self) -> int:
        """How many updates were read so far; reads on for a moment."""
        for message in self._consumer.consume(2000, 0.2):
            assert message.error() is None, message.error()
            key, value = message.key(), message.value()
            assert key is not None and value is not None
            self.told[key.decode()].append(int.from_bytes(value, "big"))
        return sum(map(len, self.told.values()))

    def close(self) -> None:
        self._consumer.close()


class Writer:
    """Writes lines, and counts the words in them."""

    def __init__(self, cluster: TestCluster) -> None:
        self._cluster = cluster
        self._words = itertools.cycle(WORDS)
        self.counted: Counter[str] = Counter()

    def write(self) -> None:
        lines = [[*itertools.islice(self._words, WORDS_A_LINE - 1), WORDS[number % 3]] for number in range(LINES)]
        clients.produce(self._cluster, INPUT, [" ".join(line).encode() for line in lines])
        for line in lines:
            self.counted.update(line)


@pytest.fixture
def counts(cluster: TestCluster, admin: AdminClient) -> Iterator[Counts]:
    for topic in (INPUT, OUTPUT):
        clients.make(admin, NewTopic(topic, PARTITIONS, 3))
    made = Counts(cluster)
    yield made
    made.close()


@pytest.fixture
def word_count(cluster: TestCluster, tmp_path: Path) -> Iterator[JavaProgram]:
    settings = {
        "application.id": "word-count",
        "bootstrap.servers": cluster.bootstrap_servers,
        "processing.guarantee": "exactly_once_v2",
        "replication.factor": "3",
        "num.stream.threads": "2",
        "statestore.cache.max.bytes": "0",  # each word is an update of its own
        "auto.offset.reset": "earliest",
        "consumer.session.timeout.ms": "6000",
        "consumer.heartbeat.interval.ms": "1500",
        "state.dir": str(tmp_path / "state"),
    }
    path = properties_file(tmp_path / "streams.properties", settings)
    arguments = (str(PROGRAM), PROGRAM.stem, path, INPUT, OUTPUT)
    program = JavaProgram(tmp_path, "word-count", framework_jars.classpath(framework_jars.STREAMS), framework_jars.JAVA_SOURCE, *arguments)
    yield program
    program.kill()


def test_each_word_is_counted_once_whoever_is_killed(cluster: TestCluster, counts: Counts, word_count: JavaProgram) -> None:
    """Each update is one more than that before: none is missing, none came twice, none was undone, at any of the deaths."""
    writer = Writer(cluster)
    word_count.start()

    def some_more() -> None:
        """In the midst of what was written last."""
        before = counts.total()
        writer.write()
        eventually(lambda: counts.total() > before or word_count.ended(), WAIT_S, "new counts")
        assert not word_count.ended(), word_count.said()

    def all_counted() -> None:
        wanted = writer.counted.total()
        assert wait_until(lambda: counts.total() >= wanted, WAIT_S), f"{counts.total()} of {wanted}: {word_count.said()}"

    some_more()
    all_counted()
    for broker_id in (1, 2, 3):
        some_more()
        cluster.kill(broker_id)
        if broker_id == 2:
            word_count.kill()
            word_count.start()
        all_counted()
        cluster.start(broker_id)
        cluster.heal()
    some_more()
    word_count.kill()
    word_count.start()
    all_counted()
    assert {word: told[-1] for word, told in counts.told.items()} == writer.counted
    for word, told in counts.told.items():
        assert told == list(range(1, len(told) + 1)), f"the counts of {word} are not 1, 2, 3 …"
