"""The request client against a scripted peer: order, limits, and every way in which a connection ends."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator

import pytest

from broker_core.client.pool import ChannelPool
from broker_core.client.request import BrokerChannel
from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import encode_response
from broker_core.protocol.headers import parse_request_header, request_header, response_header
from tests.support.scripted_network import ScriptedConnection, ScriptedNode, settle


@pytest.fixture
async def node() -> Iterator[ScriptedNode]:
    scripted = ScriptedNode()
    yield scripted
    for task in scripted.tasks:
        task.cancel()
    await asyncio.gather(*scripted.tasks, return_exceptions=True)


def heartbeat(channel: BrokerChannel) -> asyncio.Task:
    return asyncio.ensure_future(channel.request(ApiKey.HEARTBEAT, 4, {"group_id": "g"}, 1000))


def answer(connection: ScriptedConnection, index: int, error: ErrorCode = ErrorCode.NONE) -> None:
    header = parse_request_header(connection.sent[index])
    body = encode_response(ApiKey.HEARTBEAT, 4, {"error_code": error})
    connection.give(response_header(ApiKey.HEARTBEAT, 4, header.correlation_id) + body)


async def test_requests_are_pipelined_and_answered_in_order(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    requests = [heartbeat(channel) for _ in range(3)]
    await settle()
    (connection,) = node.network.connections
    assert node.network.addresses == [("h", 9092)]
    assert [parse_request_header(frame)[:4] for frame in connection.sent] == [(ApiKey.HEARTBEAT, 4, n, "me") for n in range(3)]
    for index, error in enumerate((ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.ILLEGAL_GENERATION)):
        answer(connection, index, error)
    answers = await asyncio.gather(*requests)
    assert [each.error_code for each in answers] == [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.ILLEGAL_GENERATION]
    assert not channel.closed


async def test_no_more_than_the_limit_are_on_their_way(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me", max_in_flight=2)
    requests = [heartbeat(channel) for _ in range(5)]
    await settle()
    (connection,) = node.network.connections
    for sent in range(2, 6):
        assert len(connection.sent) == min(sent, 5)
        answer(connection, sent - 2)
        await settle()
    answer(connection, 4)
    assert len(await asyncio.gather(*requests)) == 5


async def test_a_refused_connection_fails_all_who_wait_for_it(node: ScriptedNode) -> None:
    node.network.refuse = ConnectionError("nobody listens at h:9092")
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    for result in await asyncio.gather(heartbeat(channel), heartbeat(channel), return_exceptions=True):
        assert isinstance(result, ConnectionError)
        assert "channel to h:9092: nobody listens" in str(result)
    assert channel.closed


async def test_a_broken_connection_fails_all_on_their_way(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me", max_in_flight=2)
    requests = [heartbeat(channel) for _ in range(3)]
    await settle()
    node.network.connections[0].break_off()
    for result in await asyncio.gather(*requests, return_exceptions=True):
        assert isinstance(result, ConnectionError)
    with pytest.raises(ConnectionError, match="the peer closed"):
        await heartbeat(channel)
    assert all(task.done() and task.exception() is None for task in node.tasks)


async def test_a_late_answer_closes_the_channel(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    first, second = heartbeat(channel), heartbeat(channel)
    await settle()
    node.clock.expire()
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert {type(result) for result in results} <= {TimeoutError, ConnectionError}
    assert isinstance(results[0], TimeoutError)
    assert channel.closed
    assert node.network.connections[0].closed


async def test_answers_in_time_share_a_timer(node: ScriptedNode) -> None:
    """A fetcher asks some thousand times a second, and each answer has half a minute."""
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    for number in range(3):
        request = heartbeat(channel)
        await settle()
        answer(node.network.connections[0], number)
        await request
        node.clock.now += 400
    assert [timer.due_ms for timer in node.clock.timers] == [1000]
    last = heartbeat(channel)
    await settle()
    node.clock.expire()
    await settle()
    assert not last.done()
    assert [timer.due_ms for timer in node.clock.timers] == [2200]
    node.clock.expire()
    with pytest.raises(TimeoutError, match="did not answer within 1000 ms"):
        await last


async def test_the_earliest_deadline_counts(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    patient = heartbeat(channel)
    await settle()
    hasty = asyncio.ensure_future(channel.request(ApiKey.HEARTBEAT, 4, {"group_id": "g"}, 300))
    await settle()
    assert [(timer.due_ms, timer.cancelled) for timer in node.clock.timers] == [(1000, True), (300, False)]
    node.clock.expire()
    with pytest.raises(TimeoutError, match="300 ms"):
        await hasty
    with pytest.raises(ConnectionError, match="no answer within 300 ms"):
        await patient


async def test_nobody_is_late_whose_request_was_given_up(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    given_up = heartbeat(channel)
    await settle()
    given_up.cancel()
    await settle()
    node.clock.expire()
    assert not channel.closed
    assert not node.clock.timers


async def test_a_closed_channel_has_no_timer(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    channel.close()
    with pytest.raises(ConnectionError):
        await request
    assert all(timer.cancelled for timer in node.clock.timers)


async def test_time_runs_while_connecting(node: ScriptedNode) -> None:
    node.network.gate.clear()
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    node.clock.expire()
    with pytest.raises(TimeoutError, match="took no request"):
        await request
    channel.close()
    node.network.gate.set()
    await settle()
    assert node.network.connections[0].closed


async def test_an_answer_out_of_turn_closes_the_channel(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    node.network.connections[0].give(struct.pack(">i", 7) + b"\0\0")
    with pytest.raises(ConnectionError, match="answer 7 came where 0 was due"):
        await request


@pytest.mark.parametrize("frame", [b"", b"\0\0"], ids=["empty", "short"])
async def test_a_frame_that_is_no_answer(node: ScriptedNode, frame: bytes) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    node.network.connections[0].give(frame)
    with pytest.raises(ConnectionError):
        await request


async def test_an_answer_that_nobody_asked_for(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    answer(node.network.connections[0], 0)
    answer(node.network.connections[0], 0)
    await request
    await settle()
    assert channel.closed


async def test_unreadable_answers_are_violations(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    node.network.connections[0].give(struct.pack(">i", 0) + b"\0" + b"trailing garbage")
    with pytest.raises(ProtocolViolation):
        await request
    assert channel.closed


async def test_a_cancelled_request_leaves_the_others_in_order(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    first, second = heartbeat(channel), heartbeat(channel)
    await settle()
    first.cancel()
    await settle()
    answer(node.network.connections[0], 0)
    answer(node.network.connections[0], 1, ErrorCode.REBALANCE_IN_PROGRESS)
    assert (await second).error_code is ErrorCode.REBALANCE_IN_PROGRESS


async def test_raw_requests_give_the_frame(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = asyncio.ensure_future(channel.request_raw(lambda number: request_header(32_000, 0, number, "me") + b"body", 1000))
    await settle()
    assert node.network.connections[0].sent[0].endswith(b"body")
    node.network.connections[0].give(b"\0\0\0\0raw")
    assert bytes(await request) == b"\0\0\0\0raw"


async def test_api_versions(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = asyncio.ensure_future(channel.api_versions())
    await settle()
    rows = [{"api_key": 1, "min_version": 4, "max_version": 17}, {"api_key": 18, "max_version": 4}]
    node.network.connections[0].give(b"\0\0\0\0" + encode_response(ApiKey.API_VERSIONS, 0, {"api_keys": rows}))
    assert await request == {1: (4, 17), 18: (0, 4)}


async def test_the_end_of_the_node_fails_what_waits(node: ScriptedNode) -> None:
    channel = BrokerChannel(node.as_node(), "h", 9092, "me")
    request = heartbeat(channel)
    await settle()
    node.tasks[0].cancel()
    with pytest.raises(ConnectionError, match="shutting down"):
        await request


async def test_the_pool_keeps_channels_by_purpose_and_replaces_closed_ones(node: ScriptedNode) -> None:
    pool = ChannelPool(node.as_node(), "me")
    fetch = pool.channel("h", 9092, "fetch")
    assert pool.channel("h", 9092, "fetch") is fetch
    control = pool.channel("h", 9092, "control")
    assert len({fetch, control, pool.channel("h", 9093, "fetch")}) == 3
    fetch.close()
    assert pool.channel("h", 9092, "fetch") is not fetch
    pool.close("h", 9092, "control")
    pool.close("h", 9092, "control")
    assert control.closed
    again = pool.channel("h", 9092, "fetch")
    pool.close_all()
    assert again.closed
