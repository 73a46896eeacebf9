"""Watches one broker's state feed: `async for batch in FeedClient(…).batches()`.

A batch is an answer of `contract.feed`; the pages of a full one come as one.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Collection
from typing import Any

import msgspec

from broker_core.contract.feed import Answer
from broker_core.errors import ErrorCode, KafkaError
from broker_core.protocol.headers import request_header
from broker_core.seams import Clock, FrameConnection, Network
from broker_core.telemetry.feed_wire import STATE_FEED_KEY, STATE_FEED_VERSION, FeedRequest, parse_response_frame

CONNECT_TIMEOUT_MS = 5000.0
HEARTBEAT_MS = 1000
GRACE_MS = 10_000.0
ROWS = ("partitions", "removed", "groups", "removed_groups", "events")
FULL_ROWS_MAX = 200_000


class FeedClient:
    """One connection; it is opened by `batches` and closed by `close` or when it breaks."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        network: Network,
        clock: Clock,
        topics: Collection[str] | None = None,
        least_interval_ms: int = 100,
        client_id: str = "highwater-feed",
    ) -> None:
        self._address = (host, port)
        self._network = network
        self._clock = clock
        self._topics = None if topics is None else frozenset(topics)
        self._least_interval_ms = least_interval_ms
        self._client_id = client_id
        self._connection: FrameConnection | None = None
        self._correlation = itertools.count(1)

    async def batches(self) -> AsyncGenerator[Answer, None]:
        """Batches for ever; `ConnectionError` or `TimeoutError` when the broker is lost, `KafkaError` when it refuses."""
        host, port = self._address
        self._connection = await self._network.connect(host, port, timeout_ms=CONNECT_TIMEOUT_MS)
        answer: Answer | None = None
        try:
            while True:
                answer = await self._ask(self._connection, answer)
                while answer.kind == "full" and answer.more:
                    page = await self._ask(self._connection, answer)
                    answer = page if page.first else _joined(answer, page)
                yield answer
        finally:
            await self.close()

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _ask(self, connection: FrameConnection, last: Answer | None) -> Answer:
        cursor, epoch = (None, -1) if last is None else (last.cursor, last.broker.epoch)
        request = FeedRequest(cursor, epoch, self._topics, self._least_interval_ms, HEARTBEAT_MS)
        header = request_header(STATE_FEED_KEY, STATE_FEED_VERSION, next(self._correlation) & 0x7FFFFFFF, self._client_id)
        connection.send(header + msgspec.json.encode(request))
        return parse_response_frame(await self._clock.wait_for(connection.receive(), HEARTBEAT_MS + GRACE_MS))


def _joined(answer: Answer, page: Answer) -> Answer:
    """Two pages of one full answer."""
    rows: dict[str, list[Any]] = {name: getattr(answer, name) + getattr(page, name) for name in ROWS}
    if sum(map(len, rows.values())) > FULL_ROWS_MAX:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"the broker has more than {FULL_ROWS_MAX} rows to tell: name topics")
    return msgspec.structs.replace(page, first=True, **rows)
