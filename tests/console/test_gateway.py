"""The gateway to a cluster: what the client library raises becomes something that is waited for, or not."""

from __future__ import annotations

from typing import Any

import kafka.errors
import pytest

from console.gateway import kafka_cluster
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
    monkeypatch.setattr(kafka_cluster, "_clients", {SERVERS: Client(error)})
    with pytest.raises(GatewayError) as told:
        KafkaCluster(SERVERS).alter_broker_config(3, {"x": None})
    assert told.value.retriable
    assert "broker 3 is not known" in told.value.message or "answered in time" in told.value.message
    assert kafka_cluster._clients == {}
