"""Watches one broker's state feed: `async for batch in FeedClient(…).batches()`.

A batch is `{broker_id, at_ms, full, broker, partitions, removed, groups, removed_groups, events}` with rows as
`feed_wire` describes them. The pages of a full answer come as one batch with `full` true: what it does not name is gone.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.protocol.headers import request_header
from broker_core.seams import Clock, FrameConnection, Network
from broker_core.telemetry.feed_wire import STATE_FEED_KEY, STATE_FEED_VERSION, parse_response_frame

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
        topics: list[str] | None = None,
        least_interval_ms: int = 100,
        client_id: str = "highwater-feed",
    ) -> None:
        self._address = (host, port)
        self._network = network
        self._clock = clock
        self._topics = topics
        self._least_interval_ms = least_interval_ms
        self._client_id = client_id
        self._connection: FrameConnection | None = None
        self._correlation = itertools.count(1)

    async def batches(self) -> AsyncIterator[dict[str, Any]]:
        """Batches for ever; `ConnectionError` or `TimeoutError` when the broker is lost, `KafkaError` when it refuses."""
        host, port = self._address
        self._connection = await self._network.connect(host, port, timeout_ms=CONNECT_TIMEOUT_MS)
        cursor, epoch = None, -1
        try:
            while True:
                answer = await self._ask(self._connection, cursor, epoch)
                cursor, epoch = answer["cursor"], answer["broker"]["epoch"]
                while answer["kind"] == "full" and answer["more"]:
                    page = await self._ask(self._connection, cursor, epoch)
                    cursor = page["cursor"]
                    answer = page if page["first"] else _joined(answer, page)
                yield _batch(answer)
        finally:
            await self.close()

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _ask(self, connection: FrameConnection, cursor: Any, epoch: int) -> dict[str, Any]:
        request = {
            "cursor": cursor,
            "broker_epoch": epoch,
            "topics": self._topics,
            "min_interval_ms": self._least_interval_ms,
            "max_wait_ms": HEARTBEAT_MS,
        }
        header = request_header(STATE_FEED_KEY, STATE_FEED_VERSION, next(self._correlation) & 0x7FFFFFFF, self._client_id)
        connection.send(header + json.dumps(request).encode())
        answer = parse_response_frame(await self._clock.wait_for(connection.receive(), HEARTBEAT_MS + GRACE_MS))
        if answer.get("error"):
            raise KafkaError(ErrorCode(answer["error"]), str(answer.get("message", "")))
        return answer


def _joined(answer: dict[str, Any], page: dict[str, Any]) -> dict[str, Any]:
    """Two pages of one full answer."""
    for name in ROWS:
        answer[name] = answer[name] + page[name]
    if sum(len(answer[name]) for name in ROWS) > FULL_ROWS_MAX:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"the broker has more than {FULL_ROWS_MAX} rows to tell: name topics")
    return answer | {"cursor": page["cursor"], "more": page["more"], "broker": page["broker"], "now_ms": page["now_ms"]}


def _batch(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "broker_id": answer["broker"]["id"],
        "at_ms": answer["now_ms"],
        "full": answer["kind"] == "full",
        "broker": answer["broker"],
        **{name: answer[name] for name in ROWS},
    }
