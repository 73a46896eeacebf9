"""Lays a moment out in Redis, as its owner wrote the live state, and takes old ones away."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from console.snapshot import keys, write
from console.snapshot.encoding import decode
from console.snapshot.kinds import KINDS, kind_of
from console.snapshot.moments import GAP_MS, MOMENT_S, MOMENTS

MOMENTS_LIMIT = 8
VALUES_PER_STEP = 1_000
POINT = "point"
"""The kind under which points of the plot are recorded, by their time."""


async def lay_out(client: Any, name: str, values: Mapping[str, bytes], known_ms: int) -> None:
    """Anew, where it is there already. The beat comes last: where it stands all of it does."""
    await _take_away(client, name)
    await _lay_out_points(client, name, values)
    items = [(key, text) for key, text in values.items() if kind_of(key) in KINDS]
    for start in range(0, len(items), VALUES_PER_STEP):
        some = items[start : start + VALUES_PER_STEP]
        typed = {key: value for key, text in some if (value := decode(text, KINDS[kind_of(key)])) is not None}
        pipe = client.pipeline(transaction=False)
        write.store(pipe, name, typed)
        await pipe.execute()
    ages = {"oldest": known_ms, "due": known_ms + GAP_MS, "beat": known_ms}
    await client.mset({keys.named(name, part): at_ms for part, at_ms in ages.items()})
    await _until(client, name)
    await client.zadd(MOMENTS, {name: time.time()})
    for old in await client.zrange(MOMENTS, 0, -MOMENTS_LIMIT - 1):
        await _take_away(client, old)


async def _lay_out_points(client: Any, name: str, values: Mapping[str, bytes]) -> None:
    """Of the overview's plot, the newest first."""
    points = sorted((int(key.partition("/")[2]), text) for key, text in values.items() if kind_of(key) == POINT)
    if points:
        await client.rpush(keys.named(name, "series"), *(text for _, text in reversed(points)))


async def _take_away(client: Any, name: str) -> None:
    await client.zrem(MOMENTS, name)
    async for some in _names(client, name):
        await client.unlink(*some)


async def _until(client: Any, name: str) -> None:
    """It goes by itself, should nobody take it away."""
    async for some in _names(client, name):
        pipe = client.pipeline(transaction=False)
        for one in some:
            pipe.expire(one, MOMENT_S)
        await pipe.execute()


async def _names(client: Any, name: str) -> AsyncIterator[list[str]]:
    """Of the Redis keys that a moment lies in, some at a time."""
    cursor: int | None = None
    while cursor != 0:
        cursor, some = await client.scan(cursor or 0, match=f"{keys.prefix(name)}*", count=1_000)
        if some:
            yield some
