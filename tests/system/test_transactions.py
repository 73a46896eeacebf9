"""Transactions of real producers, as REST, the commands and the pages tell them; and their ends by hand."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from console.gateway import admin_clients
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.rules.transactions.told import Coordinators
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.open_transactions import begun, leave_hanging, verify
from tests.support.rest import LOCAL, Rest, Visitor
from tests.system.conftest import MakeTopic
from tests.system.test_commands import Commands

HOUR_MS = 3_600_000


@pytest.fixture
def unverified(system: ConsoleSystem) -> Iterator[None]:
    verify(system.bootstrap_servers, partitions=False)
    yield
    verify(system.bootstrap_servers, partitions=True)


def rows_of(rest: Rest, query: str) -> list[dict[str, Any]]:
    """The whole list, two rows a page."""
    rows, cursor = [], ""
    while True:
        page = rest.get(f"{LOCAL}/transactions?{query}&limit=2&cursor={cursor}")
        rows += page["items"]
        cursor = page["next"]
        if cursor is None:
            return rows


def committed_values(system: ConsoleSystem, topic: str, count: int) -> list[bytes]:
    """The first values that a reader of committed transactions gets of partition 0."""
    own = {"group.id": uuid.uuid4().hex, "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": system.bootstrap_servers, **own})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []

    def read() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
        return len(found) == count

    eventually(read, 60, f"{count} committed records of {topic}")
    consumer.close()
    return found


def test_an_open_transaction_is_listed_described_and_ended(
    system: ConsoleSystem, rest: Rest, people: dict[str, Rest], make_topic: MakeTopic
) -> None:
    topic = make_topic("books", [[1, 2, 3], [2, 3, 1]])
    name = f"writer/{topic}"
    producer = begun(system.bootstrap_servers, name, topic, [b"open"] * 5, **{"transaction.timeout.ms": 600_000})
    producer.produce(topic, b"elsewhere", partition=1)
    assert producer.flush(60) == 0
    one = rest.get(f"{LOCAL}/transactions/{quote(name, safe='')}")
    assert (one["state"], one["timeout_ms"], one["partitions"], one["level"]) == ("Ongoing", 600_000, 2, "ok")
    assert one["ends_ms"] == one["started_ms"] + 600_000 and 0 <= one["age_ms"] < 300_000
    first, second = one["places"]
    assert (first["leader"], first["start_offset"], first["last_stable_offset"], first["high_watermark"]) == (1, 0, 0, 5)
    assert (first["held"], first["holds"], second["held"]) == (5, True, 1)
    (row,) = [row for row in rows_of(rest, "state=open") if row["transactional_id"] == name]
    assert (row["producer_id"], row["producer_epoch"], row["coordinator"]) == (
        one["producer_id"],
        one["producer_epoch"],
        one["coordinator"],
    )
    (seen,) = rest.get(f"{LOCAL}/topics/{topic}/partitions/0/producers")["producers"]
    assert (seen["producer_id"], seen["transaction"], seen["transactional_id"]) == (one["producer_id"], "in_progress", name)
    assert (seen["last_sequence"], seen["start_offset"], seen["coordinator_epoch"]) == (4, 0, None)
    page = Visitor(system.layout.console_port, system.password).get(f"/transactions/{quote(name, safe='')}")
    assert (page.status, "It has been in progress for" in page.body) == (200, True)

    path = f"{LOCAL}/transactions/{quote(name, safe='')}/termination"
    assert rest.ask("POST", path, {"confirm": True}).status == 403
    done = people["admin"].ask("POST", path, {"confirm": True}).body
    assert (done["done"], done["partitions"], done["producer_epoch"] > one["producer_epoch"]) == (True, 2, True)
    assert rest.get(f"{LOCAL}/transactions/{quote(name, safe='')}")["state"] == "Empty"
    eventually(lambda: rest.get(f"{LOCAL}/topics/{topic}/partitions/0/producers")["held"] == 0, 60, "nothing is held back")
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(60)
    assert fenced.value.args[0].fatal()


def test_a_hanging_transaction_is_found_and_aborted(
    system: ConsoleSystem, rest: Rest, people: dict[str, Rest], make_topic: MakeTopic, unverified: None
) -> None:
    topic = make_topic("hung", [[1, 2, 3]])
    producer = begun(system.bootstrap_servers, f"done-{topic}", topic, [b"first"])
    producer.commit_transaction(60)
    leave_hanging(system.bootstrap_servers, topic, 0, 987_654, round(time.time() * 1000) - HOUR_MS)
    leave_hanging(system.bootstrap_servers, topic, 0, 987_655, round(time.time() * 1000))
    producer.begin_transaction()
    producer.produce(topic, b"behind it", partition=0)
    producer.commit_transaction(60)

    found = rest.get(f"{LOCAL}/topics/{topic}/partitions/0/producers")
    assert [(one["producer_id"], one["transaction"]) for one in found["producers"][:2]] == [(987_654, "hanging"), (987_655, "orphaned")]
    assert (found["level"], found["max_timeout_ms"], found["held"] > 0) == ("bad", 900_000, True)
    start = found["producers"][0]["start_offset"]
    assert found["last_stable_offset"] == start
    told = rest.get(f"{LOCAL}/hanging-transactions?topic={topic}")
    assert [(one["producer_id"], one["start_offset"]) for one in told["items"]] == [(987_654, start)]
    assert (topic, 987_654) in [(one["topic"], one["producer_id"]) for one in rest.get(f"{LOCAL}/hanging-transactions?broker=1")["items"]]

    path = f"{LOCAL}/topics/{topic}/partitions/0/abort-transaction"
    assert rest.ask("POST", path, {"start_offset": start, "confirm": True}).status == 403
    for producer_id in (987_654, 987_655):
        rows = rest.get(f"{LOCAL}/topics/{topic}/partitions/0/producers")["producers"]
        (begins,) = [one["start_offset"] for one in rows if one["producer_id"] == producer_id]
        done = people["admin"].ask("POST", path, {"start_offset": begins, "confirm": True})
        assert (done.status, done.body["done"]) == (200, True), done
    after = rest.get(f"{LOCAL}/topics/{topic}/partitions/0/producers")
    assert (after["held"], {one["transaction"] for one in after["producers"]}) == (0, {"none"})
    assert committed_values(system, topic, 2) == [b"first", b"behind it"]
    assert rest.get(f"{LOCAL}/hanging-transactions?topic={topic}")["items"] == []
    audit = people["admin"].get("/api/v1/audit?limit=50")["items"]
    assert [row["outcome"] for row in audit if row["action"] == "abort transaction" and row["target"] == f"{topic}-0"].count("done") == 2


def test_the_commands_do_the_same(system: ConsoleSystem, make_topic: MakeTopic, unverified: None) -> None:
    highwater = Commands(system.data)
    topic = make_topic("by-command", [[1, 2, 3]])
    name = f"command {topic}"
    producer = begun(system.bootstrap_servers, name, topic, [b"open"] * 3)
    listed = highwater.json("transactions", "list", "--open", "--like", topic)
    assert [(row["transactional_id"], row["state"]) for row in listed] == [(name, "Ongoing")]
    assert name in highwater.said("transactions", "list", "--state", "Ongoing")
    said = highwater.said("transactions", "describe", name)
    assert "this one" in said and "Readers of committed transactions wait for it" in said
    leave_hanging(system.bootstrap_servers, topic, 0, 555_000, round(time.time() * 1000) - HOUR_MS)
    (one,) = highwater.json("transactions", "find-hanging", "--topic", topic)["items"]
    assert (one["producer_id"], one["transaction"], one["start_offset"]) == (555_000, "hanging", 3)
    said = highwater.said("transactions", "producers", f"{topic}:0")
    assert "555000" in said and "hanging" in said and name in said
    abort = ("transactions", "abort", f"{topic}:0", "--start-offset", "3")
    assert "nothing else will end it" in highwater.said(*abort, "--dry-run")
    unconfirmed = highwater.run(*abort)
    assert (unconfirmed.returncode, "give --yes" in unconfirmed.stderr) == (2, True)
    assert "aborted in" in highwater.said(*abort, "--yes")
    assert "No transaction hangs" in highwater.said("transactions", "find-hanging", "--topic", f"{topic}:0")
    assert highwater.run(*abort, "--yes").returncode == 1, "it has ended"
    assert json.loads(highwater.said("transactions", "terminate", name, "--yes", "--json"))["done"] is True
    assert highwater.json("transactions", "describe", name)["state"] == "Empty"
    assert highwater.run("transactions", "describe", "nobody").returncode == 1
    assert highwater.run("transactions", "find-hanging").returncode == 2
    del producer


def test_a_broker_says_what_it_does_not_coordinate(system: ConsoleSystem, make_topic: MakeTopic) -> None:
    """Asked for an id of each partition, as if each were led by the next broker."""
    topic = make_topic("elsewhere", [[1, 2, 3]])
    producer = begun(system.bootstrap_servers, topic, topic, [b"open"])
    connection = connection_of(Cluster(pk="asked", name="asked", bootstrap_servers=system.bootstrap_servers))
    kafka = KafkaCluster(connection)
    told = eventually(lambda: one if not kafka.lacking_coordinators(one := kafka.transaction_coordinators()) else None, 60, "all loaded")
    others = {number: ((leader or 0) % 3 + 1, epoch) for number, (leader, epoch) in told.partitions.items()}
    found = kafka.lacking_coordinators(Coordinators(others))
    assert sorted(number for numbers in found.values() for number in numbers) == sorted(told.partitions)
    assert {number: leader for leader, numbers in found.items() for number in numbers} == {n: leader for n, (leader, _) in others.items()}
    producer.abort_transaction(60)
    admin_clients.throw_away(connection)


def test_what_a_dead_coordinator_has_is_not_known_until_another_has_it(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("moved", [[1, 2, 3]])
    names = [f"{topic}-{number}" for number in range(6)]
    producers = [begun(system.bootstrap_servers, name, topic, [b"open"]) for name in names]

    def listed() -> dict[str, Any]:
        return {row["transactional_id"]: row["coordinator"] for row in rows_of(rest, f"q={topic}")}

    assert sorted(listed()) == names
    gone = max(set(listed().values()) - {rest.live()["controller_id"]}, default=3)
    system.kill(gone)

    def moved() -> bool:
        found = rest.ask("GET", f"{LOCAL}/transactions?q={topic}")
        if found.status != 200:
            return False
        rows = {row["transactional_id"] for row in found.body["items"]}
        assert rows == set(names) or found.body["unseen"], "what is missing is said to be unknown"
        return rows == set(names) and gone not in {row["coordinator"] for row in found.body["items"]}

    eventually(moved, 60, "other brokers coordinate them")
    for producer in producers:
        producer.abort_transaction(60)
