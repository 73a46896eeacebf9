"""The state feed (vendor key 32000, not in ApiVersions): what this broker knows, as it changes; see `telemetry/feed_wire.py`."""

from __future__ import annotations

from broker_core.contract import feed as told
from broker_core.errors import ErrorCode, KafkaError
from broker_core.handlers.common import failure
from broker_core.handlers.registry import Answer, Operation, Request, handler, on_cluster
from broker_core.telemetry.feed_wire import STATE_FEED_KEY, STATE_FEED_VERSION, encode_response_frame, parse_request


@handler(STATE_FEED_KEY, versions=range(STATE_FEED_VERSION, STATE_FEED_VERSION + 1), needs=on_cluster(Operation.DESCRIBE))
async def handle(request: Request) -> Answer:
    """One answer; a watcher too many is refused."""
    feed = request.broker.feed
    try:
        if feed.held >= request.broker.config.current.highwater_watch_max_clients:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "too many clients watch this broker (highwater.watch.max.clients)")
        payload: told.Answer | told.Refusal = await feed.answer(parse_request(request.body), request.connection.last_feed_answer_ms)
    except KafkaError as error:
        code, message = failure(error)
        payload = told.Refusal(int(code), message)
    request.connection.last_feed_answer_ms = request.broker.node.clock.monotonic_ms()
    return lambda _: [encode_response_frame(request.header.correlation_id, payload)]
