"""The topics in a consumer's subscription, read from the part that all versions of the consumer protocol share."""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.coordinator_runtime.wire import Reader
from broker_core.errors import CorruptData

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics the members subscribe to; None when one subscription cannot be read."""
    topics: set[str] = set()
    try:
        for data in subscriptions:
            topics.update(_topics(data))
    except CorruptData:
        return None
    return frozenset(topics)


def _topics(data: bytes) -> list[str]:
    """Layout: version i16, topics [string], user data and later fields."""
    reader = Reader(data)
    if reader.int16() < 0:
        raise CorruptData("a negative version of the consumer protocol")
    return [reader.string() for _ in range(reader.array_length())]
