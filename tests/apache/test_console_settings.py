"""The console's settings form asks Apache Kafka as it asks us: what is set, what would be in force otherwise, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.gateway import admin_clients
from console.gateway.connection import Connection
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.rules.settings.model import Owner, Setting
from tests.apache.comparison import Pair
from tests.support.cluster import eventually

NAME = "settings-form"
TOPIC, BROKER, BROKERS = Owner("topic", NAME), Owner("broker", "1"), Owner("brokers")


def told(side: KafkaCluster, owner: Owner, name: str) -> tuple[object, ...]:
    one: Setting | None = next((row for row in side.settings(owner) if row.name == name), None)
    assert one is not None, name
    return one.value, one.set_for, one.own, one.otherwise, one.otherwise_for, one.read_only, one.type, one.told


def is_there(side: KafkaCluster) -> bool:
    """A broker hears of a new topic a little later than its controller."""
    try:
        return told(side, TOPIC, "segment.bytes")[0] == "1048576"
    except GatewayError:
        return False


@pytest.fixture(scope="module")
def sides(pair: Pair) -> Iterator[list[KafkaCluster]]:
    connections = [Connection(f"127.0.0.1:{port}") for port in (pair.kafka, pair.ours)]
    made = [KafkaCluster(connection) for connection in connections]
    for side in made:
        side.create_topic(NAME, 1, 1, {"retention.ms": "3600000", "segment.bytes": "1048576"})
        eventually(lambda side=side: is_there(side), what="the topic with its settings")
    yield made
    for side in made:
        side.delete_topic(NAME)
    for connection in connections:
        admin_clients.throw_away(connection)


@pytest.mark.parametrize("name", ["retention.ms", "segment.bytes", "cleanup.policy", "min.insync.replicas"])
def test_a_topic_s_settings_are_told_alike(sides: list[KafkaCluster], name: str) -> None:
    kafka, ours = (told(side, TOPIC, name) for side in sides)
    assert kafka == ours


def test_without_its_own_retention_the_brokers_hours_hold(sides: list[KafkaCluster]) -> None:
    assert {told(side, TOPIC, "retention.ms")[3] for side in sides} == {"604800000"}


@pytest.mark.parametrize("owner", [BROKER, BROKERS])
def test_a_broker_s_settings_are_set_told_and_taken_back(sides: list[KafkaCluster], owner: Owner) -> None:
    for side in sides:
        side.alter_settings(owner, {"log.cleaner.backoff.ms": "15001"}, validate_only=True)
        assert told(side, owner, "log.cleaner.backoff.ms")[2] is None
        side.alter_settings(owner, {"log.cleaner.backoff.ms": "15001"})
    for side in sides:
        eventually(lambda side=side: told(side, owner, "log.cleaner.backoff.ms")[0] == "15001", what="the new value")
        found = told(side, owner, "log.cleaner.backoff.ms")
        assert found[:4] == ("15001", owner.set_for, "15001", "15000")
        side.alter_settings(owner, {"log.cleaner.backoff.ms": None})
        eventually(lambda side=side: told(side, owner, "log.cleaner.backoff.ms")[2] is None, what="that it is taken back")


def test_what_is_refused_is_refused_by_both(sides: list[KafkaCluster]) -> None:
    for side in sides:
        with pytest.raises(GatewayError, match=r"retention\.ms") as refused:
            side.alter_settings(TOPIC, {"retention.ms": "soon"}, validate_only=True)
        assert refused.value.code == 40
