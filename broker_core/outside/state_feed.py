"""The state feed of one of our brokers, batch by batch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from broker_core.contract.feed import Answer
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.network import RealNetwork
from broker_core.telemetry.feed_client import FeedClient

LEAST_INTERVAL_MS = 50


async def batches(host: str, port: int) -> AsyncIterator[Answer]:
    """Batches as they come, at least one a second; `ConnectionError`, `TimeoutError` or `KafkaError` when the broker is lost."""
    client = FeedClient(
        host, port, network=RealNetwork(), clock=RealClock(), least_interval_ms=LEAST_INTERVAL_MS, client_id="highwater-live"
    )
    async with aclosing(client.batches()) as stream:
        async for batch in stream:
            yield batch
