"""CreatePartitions of many topics in one request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from broker_core.errors import ErrorCode
from broker_core.handlers import create_partitions
from broker_core.handlers.registry import Request
from broker_core.quotas.toll import FREE
from tests.support.counted import CountedName


async def test_names_are_compared_with_their_like_only() -> None:
    """A request of many topics must not stop the loop: a broker that stands still for ten seconds gives itself up."""
    count = 300
    CountedName.compared = 0
    names = [CountedName(f"t{number}") for number in range(count)]
    topics = [SimpleNamespace(name=name, count=2, assignments=None) for name in [*names, CountedName("t0")]]

    async def grow(name: str, *_: object, **more: object) -> None:
        assert name != "t0"

    broker = SimpleNamespace(broker_id=1, controller=SimpleNamespace(is_active=True), admin=SimpleNamespace(create_partitions=grow))
    body = SimpleNamespace(topics=topics, timeout=1000, validate_only=True)
    request = cast(Request, cast(Any, SimpleNamespace(body=body, broker=broker, version=3, toll=FREE)))
    answer = cast(Any, await create_partitions.handle(request))
    refused = [row["name"] for row in answer["results"] if row["error_code"] == ErrorCode.INVALID_REQUEST]
    assert (refused, len(answer["results"])) == (["t0"], count)
    assert CountedName.compared < 10 * count
