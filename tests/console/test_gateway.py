"""The gateway to a cluster: what the client library raises becomes something that is waited for, or not."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import kafka.errors
import pytest

from console.gateway import admin_clients
from console.gateway.connection import Connection
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster

CONNECTION = Connection("127.0.0.1:1")


class Client:
    """A client that raises one thing and may be closed."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def alter_configs(self, *_args: Any, **_options: Any) -> None:
        raise self.error

    def close(self) -> None: ...


def kept(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    """The process has this client of the cluster, and no other."""
    monkeypatch.setattr(admin_clients, "_kept", OrderedDict())
    admin_clients._of(CONNECTION).client = client


@pytest.mark.parametrize(
    "error", [kafka.errors.UnknownBrokerIdError(3), kafka.errors.Cancelled(), kafka.errors.KafkaConnectionError("gone")]
)
def test_a_client_that_is_behind_is_replaced_and_the_question_may_be_asked_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is back is not in the client's metadata for up to half a minute; what another thread closed was cancelled."""
    kept(monkeypatch, Client(error))
    with pytest.raises(GatewayError) as told:
        KafkaCluster(CONNECTION).alter_broker_config(3, {"x": None})
    assert told.value.retriable
    assert "broker 3 is not known" in told.value.message or "answered in time" in told.value.message
    assert admin_clients._of(CONNECTION).client is None


def test_a_change_is_tried_although_a_page_has_just_found_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts a broker to elect it is not told of the moment before it ran; a page does not wait for a cluster that is away."""
    monkeypatch.setattr(admin_clients, "_kept", OrderedDict())
    admin_clients._of(CONNECTION).failed_at = time.monotonic()
    monkeypatch.setattr(admin_clients, "connect", lambda connection: Client(kafka.errors.InvalidTopicError()))
    with pytest.raises(GatewayError, match="answered in time"):
        KafkaCluster(CONNECTION).topic_configs("x")
    with pytest.raises(GatewayError, match="INVALID_TOPIC"):
        KafkaCluster(CONNECTION).alter_topic_config("x", {"cleanup.policy": "compact"})


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
    kept(monkeypatch, Client(kafka.errors.KafkaConnectionError("hung up")))
    with pytest.raises(GatewayError, match=r"a text of 32.768 bytes is too long: 32.767 are the most") as told:
        ask(KafkaCluster(CONNECTION))
    assert (told.value.code, told.value.retriable) == (42, False)


class Silent(Client):
    """One that gets nothing done, and says only something that is no reason to replace it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


def test_a_client_that_answers_nothing_for_a_minute_is_replaced_whatever_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(admin_clients, "time", SimpleNamespace(monotonic=lambda: now[0]))
    first = Silent(kafka.errors.KafkaError("something"))
    kept(monkeypatch, first)
    monkeypatch.setattr(admin_clients, "connect", lambda connection: Client(kafka.errors.InvalidTopicError()))
    for _ in range(6):
        with pytest.raises(GatewayError):
            KafkaCluster(CONNECTION).alter_broker_config(3, {"x": None})
        now[0] += 10
    assert admin_clients._of(CONNECTION).client is first
    assert [row["silent_s"] for row in admin_clients.watched()] == [60.0]
    with pytest.raises(GatewayError) as told:
        KafkaCluster(CONNECTION).alter_broker_config(3, {"x": None})
    assert first.closed.wait(30)
    assert told.value.code == 17, "a refusal is an answer"
    assert [row["silent_s"] for row in admin_clients.watched()] == [None]


def test_nobody_waits_for_another_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one client is being made, for seconds, another cluster's answers."""
    monkeypatch.setattr(admin_clients, "_kept", OrderedDict())
    begun, may_end = threading.Event(), threading.Event()

    def connect(connection: Connection) -> Client:
        if connection.bootstrap_servers == "slow:1":
            begun.set()
            assert may_end.wait(60)
        return Client(kafka.errors.KafkaError())

    monkeypatch.setattr(admin_clients, "connect", connect)
    slow = threading.Thread(target=admin_clients.client, args=[Connection("slow:1")])
    slow.start()
    assert begun.wait(60)
    assert admin_clients.client(CONNECTION)
    may_end.set()
    slow.join()


def test_one_client_a_connection_and_a_limited_number_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another password is another connection; those asked longest ago are closed."""
    monkeypatch.setattr(admin_clients, "_kept", OrderedDict())
    monkeypatch.setattr(admin_clients, "connect", lambda connection: Silent(kafka.errors.KafkaError()))
    monkeypatch.setattr(admin_clients, "CLIENTS_LIMIT", 2)
    one, other = Connection("k:1", sasl_password="a"), Connection("k:1", sasl_password="b")
    first = admin_clients.client(one)
    assert admin_clients.client(other) is not first
    assert admin_clients.client(Connection("k:1", sasl_password="a")) is first
    admin_clients.client(CONNECTION)
    admin_clients.client(other)
    assert first.closed.wait(30)
    assert len(admin_clients.watched()) == 2


def test_a_connection_tells_no_secret_of_itself() -> None:
    found = Connection("k:1", "SASL_SSL", "PLAIN", "ann", "pass-word", "ca-pem", "cert-pem", "key-pem")
    assert "ann" in repr(found)
    assert not [secret for secret in ("pass-word", "ca-pem", "cert-pem", "key-pem") if secret in f"{found} {found!r}"]
