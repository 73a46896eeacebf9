"""The gateway to a cluster: what the client library raises becomes something that is waited for, or not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import kafka.errors
import pytest

from console.gateway import admin_clients
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster

SERVERS = "127.0.0.1:1"


class Client:
    """A client that raises one thing and may be closed."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def alter_configs(self, *_args: Any, **_options: Any) -> None:
        raise self.error

    def close(self) -> None: ...


@pytest.mark.parametrize(
    "error", [kafka.errors.UnknownBrokerIdError(3), kafka.errors.Cancelled(), kafka.errors.KafkaConnectionError("gone")]
)
def test_a_client_that_is_behind_is_replaced_and_the_question_may_be_asked_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is back is not in the client's metadata for up to half a minute; what another thread closed was cancelled."""
    monkeypatch.setattr(admin_clients, "_clients", {SERVERS: Client(error)})
    with pytest.raises(GatewayError) as told:
        KafkaCluster(SERVERS).alter_broker_config(3, {"x": None})
    assert told.value.retriable
    assert "broker 3 is not known" in told.value.message or "answered in time" in told.value.message
    assert admin_clients._clients == {}


LONG = "é" * 16_384


@pytest.mark.parametrize(
    "ask",
    [
        lambda kafka: kafka.topics([LONG]),
        lambda kafka: kafka.create_topic("x", 1, 1, {"retention.ms": LONG}),
        lambda kafka: kafka.topic_configs(LONG),
        lambda kafka: kafka.alter_topic_config("x", {LONG: None}),
        lambda kafka: kafka.alter_topic_config("x", {"cleanup.policy": LONG}),
        lambda kafka: kafka.describe_group(LONG),
        lambda kafka: kafka.delete_group(LONG),
    ],
)
def test_a_text_that_a_broker_would_hang_up_on_is_refused_with_words(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster would seem to be away, to everybody whose question was on the same connection."""
    monkeypatch.setattr(admin_clients, "_clients", {SERVERS: Client(kafka.errors.KafkaConnectionError("hung up"))})
    with pytest.raises(GatewayError, match=r"a text of 32.768 bytes is too long: 32.767 are the most") as told:
        ask(KafkaCluster(SERVERS))
    assert (told.value.code, told.value.retriable) == (42, False)


class Silent(Client):
    """One that gets nothing done, and says only something that is no reason to replace it."""

    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_client_that_answers_nothing_for_a_minute_is_replaced_whatever_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(admin_clients, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(admin_clients, "_watches", {})
    first = Silent(kafka.errors.KafkaError("something"))
    monkeypatch.setattr(admin_clients, "_clients", {SERVERS: first})
    monkeypatch.setattr(admin_clients, "_connect", lambda servers: Client(kafka.errors.InvalidTopicError()))
    thrown = []
    monkeypatch.setattr(admin_clients, "throw_away", lambda servers: thrown.append(admin_clients._clients.pop(servers)))
    for _ in range(6):
        with pytest.raises(GatewayError):
            KafkaCluster(SERVERS).alter_broker_config(3, {"x": None})
        now[0] += 10
    assert thrown == []
    assert [row["silent_s"] for row in admin_clients.watched()] == [60.0]
    with pytest.raises(GatewayError) as told:
        KafkaCluster(SERVERS).alter_broker_config(3, {"x": None})
    assert thrown == [first]
    assert told.value.code == 17, "a refusal is an answer"
    assert [row["silent_s"] for row in admin_clients.watched()] == [None]
