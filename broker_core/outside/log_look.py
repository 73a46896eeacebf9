"""A look at a replica's log, asked of the broker that has it: one connection, one question, one answer."""

from __future__ import annotations

import msgspec

from broker_core.contract.log_look import LogLook, Look
from broker_core.protocol.headers import request_header
from broker_core.seams import Clock, Network
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.network import RealNetwork
from broker_core.telemetry.log_looks import LOG_LOOK_KEY, LOG_LOOK_VERSION, parse_answer

CLIENT_ID = "highwater-console"
CONNECT_TIMEOUT_MS = 3_000.0
ANSWER_TIMEOUT_MS = 10_000.0


async def look(host: str, port: int, asked: Look, *, network: Network | None = None, clock: Clock | None = None) -> LogLook:
    """`ConnectionError` or `TimeoutError` when the broker is lost, `KafkaError` when it refuses, `ProtocolViolation` when its answer is
    none. `network` and `clock` are the real ones but in tests."""
    connection = await (network or RealNetwork()).connect(host, port, timeout_ms=CONNECT_TIMEOUT_MS)
    try:
        connection.send(request_header(LOG_LOOK_KEY, LOG_LOOK_VERSION, 1, CLIENT_ID) + msgspec.json.encode(asked))
        return parse_answer(await (clock or RealClock()).wait_for(connection.receive(), ANSWER_TIMEOUT_MS))
    finally:
        connection.close()
