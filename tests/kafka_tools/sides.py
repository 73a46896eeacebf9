"""The same calls of Kafka's tools on a cluster of Apache Kafka and on one of ours; what they print must be equal.

A script is a function of a `Side`. Each call is written down as its command, its exit status and its lines, without what must differ
between two clusters or two moments: addresses, folders, ids drawn at random, times.
"""

from __future__ import annotations

import base64
import difflib
import json
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from tests.apache import side as apache
from tests.apache.side import AN_HOUR_MS, TIME_MS
from tests.kafka_tools.jvm import Tools
from tests.support.broker_process import BrokerProcess
from tests.support.metadata import metadata_of

MAINS = {
    "acls": "kafka.admin.AclCommand",
    "broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "client-compatibility": "org.apache.kafka.tools.ClientCompatibilityTest",
    "client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "configs": "kafka.admin.ConfigCommand",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "console-producer": "kafka.tools.ConsoleProducer",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "dump-log": "kafka.tools.DumpLogSegments",
    "e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "transactional-message-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}
"""By the names of the scripts in Kafka's bin/, without kafka- and .sh."""
WITHOUT_SERVER = ("cluster", "dump-log", "producer-perf-test", "e2e-latency", "replica-verification", "transactional-message-copier")
"""Tools that are told their cluster otherwise than by --bootstrap-server."""
SECONDS = 60.0
A_MINUTE_MS = 60_000
BATCH = 10

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
SHORT_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
MOMENT = re.compile(r"\b1[6-9]\d{11}\b")
CLOCK = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,:]?\d*Z?")
FIGURE = re.compile(r"-?\b(\d[\d,.]*(E-?\d+)?|NaN)\b")
EXCEPTION = re.compile(r"(Exception:).*")
SPACES = re.compile(r"[ \t]{2,}|\t")


class Told(NamedTuple):
    """One call as it is compared."""

    command: str
    status: int
    lines: tuple[str, ...]


class Side:
    """One cluster, the JVM that asks it, and what was asked in the script that runs."""

    def __init__(self, brokers: Sequence[BrokerProcess], tools: Tools) -> None:
        self.brokers = {int(broker.settings["broker.id"]): broker for broker in brokers}
        self.tools = tools
        self.told: list[Told] = []
        self._folder = tempfile.TemporaryDirectory()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers.values() if not broker.ended())

    def close(self) -> None:
        self._folder.cleanup()
        self.tools.close()

    def file(self, name: str, content: Any) -> str:
        """The path of a file with this text, or this value as JSON."""
        path = Path(self._folder.name) / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def run(
        self,
        tool: str,
        *arguments: object,
        status: int = 0,
        stdin: str = "",
        figures: bool = True,
        ordered: bool = True,
        messages: bool = True,
        only: str = "",
        told: bool = True,
    ) -> str:
        """What the tool prints, once it has ended with this status. `figures=False`: numbers are no part of what is compared;
        `ordered=False`: nor is the order of lines; `messages=False`: nor is what an exception says; `only` lines with this pattern in
        them are; `told=False`: nothing is."""
        words = [str(argument) for argument in arguments]
        server = [] if tool in WITHOUT_SERVER else ["--bootstrap-server", self.bootstrap]
        ran = self.tools.run(MAINS[tool], [*server, *words], stdin)
        assert ran.status == status, f"{tool} {words} ended with {ran.status}, not {status}:\n{ran.text}"
        if told:
            lines = [self.plain(line, figures) for line in ran.text.splitlines() if re.search(only, line)]
            lines = [line for line in lines if line and not line.startswith(("at ", "... "))]  # without the stack of an exception
            lines = lines if messages else [EXCEPTION.sub(r"\1", line) for line in lines]
            command = self.plain(" ".join([tool, *words]))
            self.told.append(Told(command, ran.status, tuple(lines if ordered else sorted(lines))))
        return ran.text

    def note(self, what: str, line: str) -> None:
        """A line of something else, to be compared."""
        self.told.append(Told(what, 0, (self.plain(line),)))

    def plain(self, line: str, figures: bool = True) -> str:
        """Without what must differ. Tables are as wide as their widest value, so that spaces count as one."""
        for number, broker in self.brokers.items():
            line = line.replace(str(broker.log_dir), f"LOG-{number}").replace(f"127.0.0.1:{broker.port}", f"BROKER-{number}")
            line = re.sub(rf"\b{broker.port}\b", f"PORT-{number}", line)
        line = line.replace(self._folder.name, "FOLDER")
        line = UUID.sub("UUID", CLOCK.sub("CLOCK", MOMENT.sub(_moment, line)))
        line = SHORT_ID.sub(_short_id, line)
        line = line if figures else FIGURE.sub("N", line)
        return SPACES.sub(" ", line).strip()

    # What scripts do again and again.

    def topic(self, name: str, *replicas: str, **configs: str) -> None:
        """A topic by the brokers of each partition, as `1:2`, once every broker knows its leaders."""
        given = [word for key, value in configs.items() for word in ("--config", f"{key.replace('_', '.')}={value}")]
        self.run("topics", "--create", "--topic", name, "--replica-assignment", ",".join(replicas), *given)
        self.until(lambda: all(self._leads(broker.port, name, len(replicas)) for broker in self.alive()), f"{name} is led")

    def _leads(self, port: int, topic: str, partitions: int) -> bool:
        answer = metadata_of(port, [topic])
        found = answer.topics[0].partitions if answer else ()
        return len(found) == partitions and all(p.leader_id >= 0 and len(p.isr_nodes) == len(p.replica_nodes) for p in found)

    def alive(self) -> list[BrokerProcess]:
        return [broker for broker in self.brokers.values() if not broker.ended()]

    def fill(self, topic: str, count: int, partition: int = 0) -> None:
        """Records of a minute each from the beginning of yesterday on, ten in a batch: the same bytes on both sides."""
        for first in range(0, count, BATCH):
            times = [(number, TIME_MS + number * A_MINUTE_MS) for number in range(first, min(first + BATCH, count))]
            records = [Record(number - first, at_ms, b"key-%d" % (number % 7), b"value-%d" % number, ()) for number, at_ms in times]
            self.write(topic, build_batch(records), partition)

    def write(self, topic: str, batch: bytes, partition: int = 0, transactional_id: str | None = None) -> None:
        rows = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
        asked = {"transactional_id": transactional_id, "acks": -1, "timeout": 30_000, "topic_data": rows}
        asking = apache.Side(self.leader(topic, partition).port)
        try:
            answer = asking.raw(ApiKey.PRODUCE, 9, asked)
        finally:
            asking.close()
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer

    def leader(self, topic: str, partition: int = 0) -> BrokerProcess:
        answer = metadata_of(self.alive()[0].port, [topic])
        return self.brokers[{p.partition_index: p.leader_id for p in answer.topics[0].partitions}[partition]]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"not in time: {what}"
            time.sleep(0.05)


class Clusters(NamedTuple):
    kafka: Side
    ours: Side

    def compare(self, script: Callable[[Side], Any]) -> list[Told]:
        """Runs the script on both, and gives what was told of ours, which is what was told of Kafka."""
        with ThreadPoolExecutor(2) as threads:
            running = [threads.submit(_run, side, script) for side in self]
            kafka, ours = (one.result() for one in running)
        found = "\n".join(unequal(kafka, ours))
        assert not found, found
        return ours


def _run(side: Side, script: Callable[[Side], Any]) -> list[Told]:
    side.told.clear()
    script(side)
    return list(side.told)


def unequal(kafka: Sequence[Told], ours: Sequence[Told]) -> list[str]:
    """Lines that only one of them has, after the call that printed them."""
    found = []
    assert [one.command for one in kafka] == [one.command for one in ours]
    for one, other in zip(kafka, ours, strict=True):
        if one != other:
            rows = list(difflib.ndiff(one.lines, other.lines))
            found += [f"$ {one.command}", *(f"  {row}" for row in rows if row[:1] in "-+")]
    return found


def _moment(match: re.Match[str]) -> str:
    """Now is no part of a comparison, the times of records of yesterday are."""
    return "NOW" if abs(int(match[0]) - time.time() * 1000) < AN_HOUR_MS else match[0]


def _short_id(match: re.Match[str]) -> str:
    """Kafka writes the 16 bytes of an id in the alphabet of addresses."""
    word = match[0]
    try:
        whole = base64.urlsafe_b64encode(base64.urlsafe_b64decode(f"{word}==")).decode()[:22] == word
    except ValueError:
        return word
    return "ID" if whole and any(letter.isdigit() or letter.isupper() for letter in word) else word
