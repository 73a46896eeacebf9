"""Carries changes to Redis: the first at once, then at most ten times a second; and events through the database.

Thousands of partitions that change at once are merged and written a slice at a time, so that beats, feeds and the lease go on
between the slices.

When Redis was away, everything known is written anew in one step and readers start over, so nothing can be missed.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import redis
from channels.db import database_sync_to_async

from console.live.lease import Lease, LeaseForgotten, LeaseLost
from console.live.state import ClusterState
from console.models import Event, event_value, trim
from console.snapshot import keys, write
from console.snapshot.connect import async_client

log = logging.getLogger(__name__)
LEAST_INTERVAL_S = 0.1
SLICE_INTERVAL_S = 0.05
SLICE = 500
"""So 10 000 partitions take a second, in which most of what follows from one fault is told of each and merged with it."""
RETRY_S = 1.0
EVENTS_WAITING_LIMIT = 5_000
VALUES_PER_STEP = 1_000


class Publisher:
    def __init__(self, state: ClusterState, lease: Lease) -> None:
        self._state = state
        self._lease = lease
        self._redis = async_client()
        self._wake = asyncio.Event()
        self._fresh = False
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue(EVENTS_WAITING_LIMIT)

    def poke(self) -> None:
        """Something may have changed."""
        self._wake.set()

    async def run(self) -> None:
        """Publishes until cancelled, or until somebody else owns the cluster (`LeaseLost`)."""
        last, interval = 0.0, LEAST_INTERVAL_S
        while True:
            await self._wake.wait()
            await asyncio.sleep(max(0.0, last + interval - time.monotonic()))
            self._wake.clear()
            try:
                await self._flush()
                last, interval = time.monotonic(), LEAST_INTERVAL_S
                if self._state.has_more(now_ms()):
                    interval = SLICE_INTERVAL_S
                    self._wake.set()
            except (LeaseForgotten, redis.RedisError, OSError) as error:
                log.warning("the snapshot was not written: %s", str(error) or "Redis has forgotten the lease")
                self._fresh = False
                await asyncio.sleep(RETRY_S)
                self._wake.set()

    async def _flush(self) -> None:
        values, events = self._state.take(now_ms(), SLICE)
        try:
            await self._carry(values)
        except LeaseLost:
            events = []
            raise
        finally:
            for event in events:
                if not self._events.full():
                    self._events.put_nowait(event)

    async def _carry(self, values: dict[str, Any]) -> None:
        if not self._fresh:
            if self._state.has_more(now_ms()):
                return
            await self._write_all()
            self._fresh = True
        elif values:
            await self._write(values)

    async def _write(self, values: dict[str, Any]) -> None:
        items = list(values.items())
        for start in range(0, len(items), VALUES_PER_STEP):
            await self._commit(functools.partial(self._put, dict(items[start : start + VALUES_PER_STEP])))

    async def _put(self, values: dict[str, Any], pipe: Any) -> None:
        write.put(pipe, self._state.cluster_id, values)
        write.beat(pipe, self._state.cluster_id, now_ms())

    async def _commit(self, build: Callable[[Any], Awaitable[None]]) -> None:
        """One transaction under the lease; again where the lease was only renewed meanwhile."""
        while True:
            async with self._redis.pipeline(transaction=True) as pipe:
                try:
                    await self._lease.transaction(pipe)
                    await build(pipe)
                    await pipe.execute()
                except redis.WatchError:
                    continue
                return

    async def _write_all(self) -> None:
        """What an owner before left goes, what is known comes, and readers start over, in one step."""
        cluster_id = self._state.cluster_id
        found = [name async for name in self._redis.scan_iter(match=_pattern(cluster_id), count=1000)]
        jobs = keys.named(cluster_id, "jobs")

        async def build(pipe: Any) -> None:
            write.clear(pipe, cluster_id, [name for name in found if name != jobs])
            items = list(self._state.everything(now_ms()).items())
            for start in range(0, len(items), VALUES_PER_STEP):
                write.store(pipe, cluster_id, dict(items[start : start + VALUES_PER_STEP]))
                await asyncio.sleep(0)
            write.announce(pipe, cluster_id, {"reset": True})

        await self._commit(build)

    async def beat(self) -> None:
        """Says that the owner lives, though nothing may have changed."""
        try:
            await self._commit(self._beat)
        except (LeaseForgotten, redis.RedisError, OSError):
            self._fresh = False

    async def _beat(self, pipe: Any) -> None:
        write.beat(pipe, self._state.cluster_id, now_ms())

    async def add_point(self, point: dict[str, Any]) -> None:
        try:
            pipe = self._redis.pipeline(transaction=True)
            write.put_series(pipe, self._state.cluster_id, point)
            await pipe.execute()
        except (redis.RedisError, OSError) as error:
            log.warning("a point of the plot was lost: %s", error)

    async def run_events(self) -> None:
        """Writes events in batches, then announces them with their ids."""
        while True:
            told = [await self._events.get()]
            while not self._events.empty() and len(told) < 500:
                told.append(self._events.get_nowait())
            try:
                rows = await database_sync_to_async(save_events)(self._state.cluster_id, told)
                pipe = self._redis.pipeline(transaction=True)
                write.put_events(pipe, self._state.cluster_id, rows)
                await pipe.execute()
            except Exception:
                log.exception("%d events were not kept", len(told))

    async def close(self) -> None:
        await self._redis.aclose()


def save_events(cluster_id: str, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the events, with ids; the table stays bounded."""
    rows = Event.objects.bulk_create(
        [
            Event(
                cluster_id=cluster_id,
                at_ms=e["at_ms"],
                kind=e["kind"],
                level=e["level"],
                sentence=e["sentence"][:1000],
                broker_id=e["broker_id"],
                topic=e["topic"] or "",
                partition=e["partition"],
                group=(e["group"] or "")[:255],
            )
            for e in told
        ]
    )
    if rows and rows[-1].pk % 100 < len(rows):
        trim(Event.objects.all(), Event.KEEP)
    return [event_value(row) for row in rows]


def _pattern(cluster_id: str) -> str:
    return keys.prefix(cluster_id) + "*"


def now_ms() -> int:
    return time.time_ns() // 1_000_000
