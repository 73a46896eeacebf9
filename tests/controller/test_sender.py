"""How control requests are encoded: thousands of partitions in slices, the bytes as ever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.controller import backlog
from broker_core.controller.channels.requests import LEADER_AND_ISR_KEY, UPDATE_METADATA_KEY, ControlRequest
from broker_core.controller.channels.sender import ChannelSender
from broker_core.model import BrokerInfo, Endpoint
from broker_core.protocol.codec import encode_request
from broker_core.storage import slices
from tests.support.scripted_network import ManualClock, ScriptedNode

pytestmark = pytest.mark.spec("Z5")

BROKER = BrokerInfo(2, (Endpoint("PLAINTEXT", "127.0.0.1", 9092),), None, 42)
PARTITIONS = 7


class Busy(ManualClock):
    """Any work takes longer than a slice may; `turns` counts how often others were served."""

    turns = 0

    def monotonic_ms(self) -> float:
        self.now += slices.SLICE_MS
        return self.now

    async def sleep(self, delay_ms: float) -> None:
        self.turns += 1
        await asyncio.sleep(0)


class Channels:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def channel(self, host: str, port: int, purpose: str) -> Channels:
        return self

    async def request(self, api_key: int, version: int, payload: Mapping[str, Any], timeout_ms: float) -> None:
        self.sent.append(encode_request(api_key, version, payload))


def metadata() -> ControlRequest:
    states = [
        {
            "partition_index": index,
            "controller_epoch": 1,
            "leader": 2,
            "leader_epoch": index,
            "isr": (1, 2),
            "zk_version": 3,
            "replicas": (1, 2),
            "offline_replicas": (),
        }
        for index in range(PARTITIONS)
    ]
    payload = {
        "controller_id": 1,
        "is_k_raft_controller": False,
        "controller_epoch": 1,
        "broker_epoch": 42,
        "type_": 0,
        "topic_states": [{"topic_name": name, "topic_id": None, "partition_states": states} for name in ("a", "b")],
        "live_brokers": [],
    }
    return ControlRequest(2, 42, 1, UPDATE_METADATA_KEY, 8, {}, payload)


async def test_metadata_of_many_partitions_is_encoded_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "PARTITIONS_PER_SLICE", 2)
    node, channels, request = ScriptedNode(), Channels(), metadata()
    node.clock = Busy()
    sender = ChannelSender(node.as_node(), channels, ConfigHolder(BrokerConfig.load({"log.dirs": "/data"})))  # type: ignore[arg-type]
    await sender.send(BROKER, request)
    assert channels.sent == [encode_request(request.api_key, request.version, request.payload)]
    assert node.clock.turns == 2 * 4, "a breath after each two of seven, of two topics"


async def test_small_requests_are_encoded_at_once() -> None:
    node, channels = ScriptedNode(), Channels()
    node.clock = Busy()
    payload = {**metadata().payload, "topic_states": [], "live_leaders": []}
    request = ControlRequest(2, 42, 1, LEADER_AND_ISR_KEY, 7, {}, payload)
    sender = ChannelSender(node.as_node(), channels, ConfigHolder(BrokerConfig.load({"log.dirs": "/data"})))  # type: ignore[arg-type]
    await sender.send(BROKER, request)
    assert (len(channels.sent), node.clock.turns) == (1, 0)
