"""Control requests from somebody who is no broker are told of, seldom, and obeyed as in Kafka."""

from __future__ import annotations

import logging

import pytest

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node, Peer
from broker_core.server.adapters.clock import RealClock
from broker_core.server.strangers import QUIET_MS, Strangers
from broker_core.telemetry.feed_client import FeedClient
from tests.support.broker_cluster import PORT, BrokerCluster

PEER = Peer("10.0.0.9", 4711)


class HandClock(RealClock):
    at_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.at_ms


def test_one_notice_a_minute_with_the_number_of_requests() -> None:
    clock = HandClock()
    strangers = Strangers(clock)
    told: list[tuple[str, str]] = []

    def note(client_id: str | None) -> None:
        strangers.note(ApiKey.STOP_REPLICA, client_id, PEER, lambda kind, text: told.append((kind, text)))

    note("kcat")
    assert told == [("stranger", "STOP_REPLICA from 10.0.0.9:4711, client id kcat is no broker's; 1 since the last notice")]
    for client_id in ("kcat", None, "broker-x", "1st", "broker-"):
        note(client_id)
    assert len(told) == 1
    clock.at_ms += QUIET_MS
    note("kcat")
    assert "; 6 since" in told[1][1]


@pytest.mark.parametrize("client_id", ["broker-1", "1", "1001"])
def test_brokers_are_no_strangers(client_id: str) -> None:
    told: list[str] = []
    Strangers(RealClock()).note(ApiKey.LEADER_AND_ISR, client_id, PEER, lambda kind, text: told.append(text))
    assert told == []


def test_a_strangers_request_is_obeyed_and_an_event(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka without an authorizer does as it is told; a cluster's own brokers cause no event."""

    async def events(node: Node) -> list[str]:
        client = FeedClient("b1", PORT, network=node.network, clock=node.clock)
        async for batch in client.batches():
            await client.close()
            return [event.text for event in batch.events if event.kind == "stranger"]
        raise AssertionError

    with BrokerCluster() as cluster, caplog.at_level(logging.WARNING, "broker_core.server.strangers"):
        cluster.start_all()
        cluster.create("t")
        assert cluster.world.run("client", events) == []
        stop = {
            "controller_id": 1,
            "controller_epoch": 1,
            "broker_epoch": cluster.brokers[1].epoch,
            "topic_states": [],
            "is_kraft_controller": False,
        }
        assert cluster.ask(1, ApiKey.STOP_REPLICA, 3, stop).error_code == ErrorCode.NONE
        (text,) = cluster.world.run("client", events)
    assert text.startswith("STOP_REPLICA from ")
    assert [record.getMessage() for record in caplog.records] == ["control request from no broker"]
