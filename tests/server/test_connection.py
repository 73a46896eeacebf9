"""One client's connection: versions, bad bytes, unexpected failures, and that others do not suffer."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import CloseConnection, ErrorCode, KafkaError, ProtocolViolation
from broker_core.handlers import api_versions
from broker_core.handlers.access import Action, Needs, Operation, nothing, on_group
from broker_core.handlers.registry import Answer, Later, Registry, Request, Scope, handler
from broker_core.handlers.services import BrokerServices
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_response
from broker_core.protocol.headers import encode_request_frame, parse_request_header, request_header
from broker_core.protocol.reader import message_reader
from broker_core.protocol.schema import Side
from broker_core.quotas.client_quotas import ClientQuotas
from broker_core.seams import Aside, ConnectionThrottled, Peer, at_once
from broker_core.server.adapters.clock import RealClock
from broker_core.server.connection import Connection
from broker_core.server.pipeline import MANY_NAMES_BYTES, Pipeline, respond
from broker_core.server.strangers import Strangers
from broker_core.telemetry.metrics import STAGES, BrokerMetrics

pytestmark = pytest.mark.spec("N1")

T = TypeVar("T")
WAITED: list[asyncio.Future[None]] = []
LATER: list[asyncio.Future[None]] = []
SLOW: list[Callable[[], None]] = []
"""What takes time, once each."""


class HandClock(RealClock):
    """Monotonic time that a test moves."""

    at_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.at_ms


@handler(ApiKey.HEARTBEAT, versions=range(0, 2), needs=on_group(Operation.READ))
async def heartbeat(request: Request) -> Answer:
    if request.body.group_id == "broken":
        raise RuntimeError("a bug")
    if request.body.group_id == "silent":
        return None
    if request.body.group_id == "waits":
        await WAITED.pop()
    if request.body.group_id.startswith("slow"):
        SLOW.pop()()
    if request.body.group_id.endswith("later"):
        return Later(LATER[0], lambda: lambda throttle_ms: [b"at last"])
    if request.body.group_id == "refused":
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return {"error_code": 25}


@handler(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=range(0, 1), needs=nothing, scope=Scope.CLUSTER)
async def listing(request: Request) -> Answer:
    return {"error_code": 0, "topics": []}


@handler(32_500, versions=range(0, 1), needs=nothing)
async def vendor(request: Request) -> Answer:
    return lambda throttle_ms: [bytes(request.body)[::-1]]


class DenyGroup:
    """Nobody but one host may have the group `secret`."""

    def denied(self, request: Request, needs: Needs) -> Action | None:
        others = request.connection.peer.host != "10.0.0.9"
        return next((action for action in needs(request) if others and action.name == "secret"), None)


@pytest.fixture
def metrics() -> BrokerMetrics:
    return BrokerMetrics()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def connection(metrics: BrokerMetrics, clock: HandClock) -> Connection:
    return Connection(pipeline_of(clock, metrics), "PLAINTEXT", Peer("10.0.0.1", 5))


def pipeline_of(clock: HandClock, metrics: BrokerMetrics, aside: Aside | None = None) -> Pipeline:
    registry = Registry([heartbeat, listing, vendor, api_versions.handle])
    controller = SimpleNamespace(is_active=False)
    node = SimpleNamespace(clock=clock, aside=aside or at_once)
    quotas = ClientQuotas(ConfigHolder(BrokerConfig()))
    services = SimpleNamespace(registry=registry, node=node, controller=controller, broker_id=4, metrics=metrics, quotas=quotas)
    return Pipeline(cast(BrokerServices, services), DenyGroup(), Strangers(clock))


def frame(version: int, group: str = "g", member: str = "m") -> memoryview:
    payload = {"group_id": group, "generation_id": 1, "member_id": member}
    return memoryview(encode_request_frame(ApiKey.HEARTBEAT, version, 9, "me", payload))


def joined(parts: Any) -> bytes:
    return b"".join(bytes(part) for part in parts)


async def test_answers_and_counts(connection: Connection, metrics: BrokerMetrics) -> None:
    answer = joined((await connection.handle(frame(1))).answer())
    assert answer[:4] == (9).to_bytes(4, "big")
    assert decode_response(ApiKey.HEARTBEAT, 1, answer, 4).error_code == 25
    assert (await connection.handle(frame(1, "silent"))).answer() is None
    api = metrics.apis["Heartbeat"]
    assert (api.requests, api.failures, api.in_flight, api.latency.count) == (2, 0, 0, 2)
    assert metrics.bytes_in == api.bytes_in == 2 * len(frame(1)) + len("silent") - 1
    assert metrics.bytes_out == len(answer)


async def test_the_stages_of_a_request_add_up(connection: Connection, metrics: BrokerMetrics, clock: HandClock) -> None:
    """Waiting for others is told apart from work on the loop; what came before and after the handling is the listener's to say."""
    WAITED.append(asyncio.get_running_loop().create_future())
    (future,) = WAITED
    handling = asyncio.ensure_future(connection.handle(frame(1, "waits")))
    await asyncio.sleep(0)
    clock.at_ms += 40.0
    future.set_result(None)
    await handling
    stages = metrics.apis["Heartbeat"].stages
    assert stages.total.count == 0, "not before the answer has left"
    handling.result().sent(2.0, 8.0)
    totals = {stage: getattr(stages, stage).total_ms for stage in STAGES}
    assert totals == {"request_queue": 2.0, "local": 0.0, "remote": 40.0, "response_send": 8.0, "total": 50.0}
    assert metrics.apis["Heartbeat"].latency.total_ms == 40.0


async def test_what_waits_for_others_is_in_flight_until_its_answer_is_asked_for(
    connection: Connection, metrics: BrokerMetrics, clock: HandClock
) -> None:
    LATER.append(asyncio.get_running_loop().create_future())
    (done,) = LATER
    exchange = await connection.handle(frame(1, "later"))
    api = metrics.apis["Heartbeat"]
    assert exchange.waits_for is done
    assert (api.requests, api.in_flight) == (0, 1)
    clock.at_ms += 30.0
    done.set_result(None)
    assert exchange.answer() == [b"at last"]
    exchange.sent(2.0, 1.0)
    assert (api.requests, api.in_flight, api.latency.total_ms, api.bytes_out) == (1, 0, 30.0, len(b"at last"))
    assert (api.stages.remote.total_ms, api.stages.total.total_ms) == (30.0, 33.0)
    LATER.clear()


async def test_what_names_much_is_decoded_beside_the_loop(metrics: BrokerMetrics, clock: HandClock) -> None:
    """Ten thousand partitions take 100 ms of CPU, in which others are served."""
    jobs: list[object] = []

    async def aside(job: Callable[[], T]) -> T:
        jobs.append(job)
        return job()

    connection = Connection(pipeline_of(clock, metrics, aside), "PLAINTEXT", Peer("10.0.0.1", 5))
    await connection.handle(frame(1))
    assert jobs == []
    large = frame(1, "g" * (MANY_NAMES_BYTES // 2), "m" * (MANY_NAMES_BYTES // 2))
    answer = joined((await connection.handle(large)).answer())
    assert decode_response(ApiKey.HEARTBEAT, 1, answer, 4).error_code == 25
    assert len(jobs) == 1
    with pytest.raises(ProtocolViolation, match="the frame at"):
        await connection.handle(large[:-3])
    assert len(jobs) == 2


def test_a_thread_has_a_reader_of_its_own() -> None:
    """A reader counts the elements of one message at a time."""
    assert message_reader(3, 12, Side.REQUEST, beside_the_loop=True) is not message_reader(3, 12, Side.REQUEST, beside_the_loop=False)


async def test_versions_not_served_end_the_connection(connection: Connection, metrics: BrokerMetrics) -> None:
    for unknown in (frame(4), memoryview(encode_request_frame(ApiKey.LIST_GROUPS, 0, 1, None, {}))):
        with pytest.raises(ProtocolViolation, match="not served"):
            await connection.handle(unknown)
    assert metrics.protocol_violations == 2


async def test_api_versions_of_the_future_is_answered_as_version_0(connection: Connection) -> None:
    """KIP-511: the client learns what it may speak."""
    future = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 5, -1) + b"\0whatever comes"
    answer = joined((await connection.handle(memoryview(future))).answer())
    body = decode_response(ApiKey.API_VERSIONS, 0, answer, 4)
    assert body.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in body.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40, struct.pack(">hhi", 12, 1, 1), bytes(frame(1))[:-3]])
async def test_bytes_that_are_no_request_end_only_this_connection(connection: Connection, metrics: BrokerMetrics, data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        await connection.handle(memoryview(data))
    assert (await connection.handle(frame(1))).answer() is not None
    assert metrics.protocol_violations == 1


async def test_a_failing_handler_ends_the_connection(connection: Connection, metrics: BrokerMetrics) -> None:
    with pytest.raises(CloseConnection, match="RuntimeError"):
        await connection.handle(frame(1, "broken"))
    assert (metrics.apis["Heartbeat"].failures, metrics.apis["Heartbeat"].in_flight) == (1, 0)
    assert metrics.protocol_violations == 0


async def test_connections_are_counted_while_they_are_open(connection: Connection, clock: HandClock, metrics: BrokerMetrics) -> None:
    other = Connection(pipeline_of(clock, metrics), "PLAINTEXT", Peer("10.0.0.2", 5))
    assert (metrics.connections, metrics.connections_total) == (2, 2)
    other.closed()
    assert (metrics.connections, metrics.connections_total) == (1, 2)
    assert connection._info.principal == "User:ANONYMOUS"


async def test_a_kafka_error_that_leaves_a_handler_is_told_in_its_answer(connection: Connection, metrics: BrokerMetrics) -> None:
    answer = joined((await connection.handle(frame(1, "refused"))).answer())
    assert decode_response(ApiKey.HEARTBEAT, 1, answer, 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert metrics.apis["Heartbeat"].failures == 0


async def test_what_is_denied_never_reaches_its_handler(connection: Connection, clock: HandClock, metrics: BrokerMetrics) -> None:
    """The authorizer sees who asks from where, and what for."""
    answer = joined((await connection.handle(frame(1, "secret"))).answer())
    assert decode_response(ApiKey.HEARTBEAT, 1, answer, 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    trusted = Connection(pipeline_of(clock, metrics), "PLAINTEXT", Peer("10.0.0.9", 5))
    assert decode_response(ApiKey.HEARTBEAT, 1, joined((await trusted.handle(frame(1, "secret"))).answer()), 4).error_code == 25


async def test_what_is_the_controllers_is_refused_by_others(connection: Connection) -> None:
    request = encode_request_frame(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 1, None, {"topics": None, "timeout": 1})
    answer = decode_response(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, joined((await connection.handle(memoryview(request))).answer()), 5)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NOT_CONTROLLER, "broker 4 is not the controller")


def test_an_answer_carries_the_throttle_time_it_is_given() -> None:
    header = parse_request_header(frame(1))
    assert decode_response(ApiKey.HEARTBEAT, 1, joined(respond(header, {"error_code": 25}, 70)), 4).throttle_time == 70
    assert respond(header, lambda throttle_ms: [b"%d" % throttle_ms], 70) == [b"70"]
    assert respond(header, None, 70) is None


async def test_vendor_keys_get_the_rest_of_the_frame(connection: Connection) -> None:
    request = struct.pack(">hhih", 32_500, 0, 1, -1) + b"abc"
    assert joined((await connection.handle(memoryview(request))).answer()) == b"cba"


async def test_keys_nobody_serves_are_counted_as_one(connection: Connection, metrics: BrokerMetrics) -> None:
    """Else a client could have hundreds of rows told to every watcher for ever."""
    for key in range(32_600, 32_620):
        with pytest.raises(ProtocolViolation, match=f"Vendor{key} version 0 is not served"):
            await connection.handle(memoryview(request_header(key, 0, 9, "me")))
    assert {name: api.failures for name, api in metrics.apis.items()} == {"Unknown": 20}


async def test_the_software_of_a_client_is_noted(connection: Connection) -> None:
    payload = {"client_software_name": "kafka-python", "client_software_version": "3.0"}
    await connection.handle(memoryview(encode_request_frame(ApiKey.API_VERSIONS, 3, 1, "me", payload)))
    assert connection._info.software_name == "kafka-python"
    wrong = {"client_software_name": "-bad-", "client_software_version": "1"}
    answer = joined((await connection.handle(memoryview(encode_request_frame(ApiKey.API_VERSIONS, 3, 1, "me", wrong)))).answer())
    assert decode_response(ApiKey.API_VERSIONS, 3, answer, 4).error_code == ErrorCode.INVALID_REQUEST


def quotas(connection: Connection) -> ClientQuotas:
    return connection._pipeline.services.quotas


async def test_a_request_that_takes_too_long_makes_its_client_wait(connection: Connection, clock: HandClock) -> None:
    """Its time on the loop counts, not that it waited for others; the answer says it, and the listener is told."""
    quotas(connection).changed("clients/me", {"request_percentage": "0.1"})
    assert (await connection.handle(frame(1))).throttled_ms == 0
    WAITED.append(asyncio.get_running_loop().create_future())
    (future,) = WAITED
    handling = asyncio.ensure_future(connection.handle(frame(1, "waits")))
    await asyncio.sleep(0)
    clock.at_ms += 500.0
    future.set_result(None)
    assert (await handling).throttled_ms == 0
    SLOW.append(lambda: setattr(clock, "at_ms", clock.at_ms + 500.0))
    exchange = await connection.handle(frame(1, "slow"))
    assert decode_response(ApiKey.HEARTBEAT, 1, joined(exchange.answer()), 4).throttle_time == exchange.throttled_ms == 1000
    assert (await connection.handle(frame(1, "refused"))).throttled_ms == 1000, "errors cost their time as well"


async def test_what_waits_for_others_tells_its_client_to_wait_once_it_is_there(connection: Connection, clock: HandClock) -> None:
    quotas(connection).changed("clients/me", {"request_percentage": "0.0001"})
    LATER.clear()
    LATER.append(asyncio.get_running_loop().create_future())
    SLOW.append(lambda: setattr(clock, "at_ms", clock.at_ms + 10.0))
    exchange = await connection.handle(frame(1, "slow later"))
    assert exchange.throttled_ms == 0
    LATER[0].set_result(None)
    exchange.answer()
    assert exchange.throttled_ms == 1000


async def test_vendor_keys_cost_nothing(connection: Connection, clock: HandClock) -> None:
    quotas(connection).changed("users/<default>", {"request_percentage": "0"})
    assert (await connection.handle(memoryview(request_header(32_500, 0, 1, "me") + b"abc"))).throttled_ms == 0
    SLOW.append(lambda: setattr(clock, "at_ms", clock.at_ms + 10.0))
    assert (await connection.handle(frame(1, "slow"))).throttled_ms == 1000


def test_produce_is_pipelined_where_nobody_may_have_to_wait(connection: Connection) -> None:
    produce = memoryview(struct.pack(">h", ApiKey.PRODUCE))
    assert connection.may_follow(produce)
    quotas(connection).changed("users/<default>", {"producer_byte_rate": "1000"})
    assert not connection.may_follow(produce)


async def test_a_connection_above_the_brokers_rate_is_served_in_its_turn(metrics: BrokerMetrics, clock: HandClock) -> None:
    """And one that its address may not open is not taken at all."""
    pipeline = pipeline_of(clock, metrics)
    pipeline.services.quotas.changed("ips/10.0.0.1", {"connection_creation_rate": "0"})
    with pytest.raises(ConnectionThrottled):
        Connection(pipeline, "PLAINTEXT", Peer("10.0.0.1", 5))
    assert metrics.connections == metrics.connections_total == 0
    slept: list[float] = []

    async def sleep(delay_ms: float) -> None:
        slept.append(delay_ms)

    clock.sleep = sleep  # type: ignore[method-assign]
    turns = iter([clock.at_ms + 250.0, clock.at_ms])
    pipeline.services.quotas.opened = lambda *_: next(turns)  # type: ignore[method-assign]
    late, prompt = (Connection(pipeline, "PLAINTEXT", Peer("10.0.0.2", 5)) for _ in range(2))
    for each in (late, prompt, late):
        assert (await each.handle(frame(1))).answer()
    assert slept == [250.0], "once"
