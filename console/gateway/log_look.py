"""What a broker of the system's own cluster tells of a replica's log; other brokers have no such question. Blocking."""

from __future__ import annotations

import asyncio

from broker_core.contract.log_look import LogLook, Look
from broker_core.errors import KafkaError, ProtocolViolation
from broker_core.outside import log_look
from console.gateway.errors import ClusterUnreachable, from_code


def look(broker_id: int, host: str, port: int, asked: Look) -> LogLook:
    """`GatewayError` where the broker refuses or does not answer."""
    try:
        return asyncio.run(log_look.look(host, port, asked))
    except KafkaError as error:
        raise from_code(int(error.code), str(error)) from error
    except (OSError, TimeoutError, ProtocolViolation) as error:
        raise ClusterUnreachable(f"broker {broker_id} at {host}:{port} did not answer a look at its log") from error
