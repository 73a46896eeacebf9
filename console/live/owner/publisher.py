"""Carries changes to Redis: the first at once, then at most ten times a second; and events through the database.

Thousands of partitions that change at once are merged and written a slice at a time, so that beats, feeds and the lease go on
between the slices.

When Redis was away, everything known is written anew, a slice at a time as well (one step of all would take longer than the lease is left
alone, or than Redis is waited for, and then never succeed), what nobody knows is taken away and readers start over. Until then the owner
says nothing of being alive, since what stands there is not what it knows. Every half minute the names in the snapshot are compared with
those known: if they differ, the same is done, and told.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import redis
from channels.db import database_sync_to_async

from broker_core.contract.live import Point
from broker_core.contract.sentences import KeptEvent
from console.clock import now_ms
from console.live.events.happened import Happened
from console.live.merging.state import ClusterState
from console.live.owner.lease import Lease, LeaseForgotten, LeaseLost
from console.models import Event, event_value, trim
from console.rules.words import counted
from console.snapshot import compare, write
from console.snapshot.connect import async_client
from console.snapshot.freshness import STALE_MS
from console.snapshot.write import Value

log = logging.getLogger(__name__)
LEAST_INTERVAL_S = 0.1
SLICE_INTERVAL_S = 0.05
SLICE = 500
"""So 10 000 partitions take a second, in which most of what follows from one fault is told of each and merged with it."""
RETRY_S = 1.0
EVENTS_WAITING_LIMIT = 5_000
VALUES_PER_STEP = 1_000
COMPARE_S = 30.0


class Publisher:
    def __init__(self, state: ClusterState, lease: Lease) -> None:
        self._state = state
        self._lease = lease
        self._redis = async_client()
        self._wake = asyncio.Event()
        self._fresh = False
        self._settled_ms = 0
        """When all that was known had been written."""
        self._writing = asyncio.Lock()
        self._events: asyncio.Queue[Happened] = asyncio.Queue(EVENTS_WAITING_LIMIT)

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
        async with self._writing:
            taken_ms = now_ms()
            values, events = self._state.take(taken_ms, SLICE)
            is_all = not self._state.has_more(taken_ms)
            try:
                await self._carry(values, is_all=is_all)
                if is_all:
                    self._settled_ms = taken_ms
            except LeaseLost:
                events = []
                raise
            finally:
                self._tell(events)

    def _tell(self, events: list[Happened]) -> None:
        for told in events:
            if not self._events.full():
                self._events.put_nowait(told)

    async def _carry(self, values: Mapping[str, Value | None], *, is_all: bool) -> None:
        if not self._fresh:
            if not is_all:
                return
            await self._write_all()
            self._fresh = True
        elif values:
            await self._write(values)

    async def _write(self, values: Mapping[str, Value | None]) -> None:
        items = list(values.items())
        for start in range(0, len(items), VALUES_PER_STEP):
            await self._commit(functools.partial(self._put, dict(items[start : start + VALUES_PER_STEP])))

    async def _put(self, values: Mapping[str, Value | None], pipe: Any) -> None:
        write.put(pipe, self._state.cluster_id, values)

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
        values = self._state.everything(now_ms())
        await self._store(values)
        missing, extra = await compare.differences(self._redis, self._state.cluster_id, values.keys())
        await self._store({key: values[key] for key in missing} | dict.fromkeys(extra))
        await self._commit(self._announce_reset)

    async def _announce_reset(self, pipe: Any) -> None:
        write.announce_reset(pipe, self._state.cluster_id)

    async def _store(self, values: Mapping[str, Value | None]) -> None:
        """Without announcing them."""

        async def build(some: Mapping[str, Value | None], pipe: Any) -> None:
            write.store(pipe, self._state.cluster_id, some)

        items = list(values.items())
        for start in range(0, len(items), VALUES_PER_STEP):
            await self._commit(functools.partial(build, dict(items[start : start + VALUES_PER_STEP])))

    async def run_comparisons(self) -> None:
        while True:
            await asyncio.sleep(COMPARE_S)
            try:
                await self.compare()
            except (LeaseForgotten, redis.RedisError, OSError) as error:
                log.warning("the snapshot was not compared: %s", str(error) or "Redis has forgotten the lease")
                self._fresh = False

    async def compare(self) -> None:
        """Has the snapshot written anew where it names other things than are known."""
        async with self._writing:
            if not self._fresh or self._state.has_more(now_ms()):
                return
            values, events = self._state.take(now_ms(), SLICE)
            known = self._state.everything(now_ms()).keys()
            self._tell(events)
            await self._write(values)
            missing, extra = await compare.differences(self._redis, self._state.cluster_id, known)
            if not missing and not extra:
                return
            log.warning("the snapshot differs: %s are missing, %s are unknown", sorted(missing)[:5], sorted(extra)[:5])
            text = f"the live snapshot named {counted(len(missing | extra), 'thing')} otherwise than is known: it is written anew."
            self._tell([Happened("view_mended", "warn", text, now_ms())])
            self._fresh = False
            self.poke()

    async def beat(self) -> None:
        """Says that the owner lives, though nothing may have changed, and how old the oldest part of what it knows is."""
        if not self._fresh:
            return
        if not self._state.has_more(now_ms()):
            self._settled_ms = now_ms()
        try:
            await self._commit(self._beat)
        except (LeaseForgotten, redis.RedisError, OSError):
            self._fresh = False

    async def _beat(self, pipe: Any) -> None:
        at_ms = now_ms()
        oldest_ms = min(self._state.oldest_ms(at_ms), self._settled_ms)
        write.beat(pipe, self._state.cluster_id, at_ms, oldest_ms, min(self._state.due_ms(at_ms), self._settled_ms + STALE_MS))
        write.put_group_lag(pipe, self._state.cluster_id, self._state.groups.lag)

    async def add_point(self, point: Point) -> None:
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


def save_events(cluster_id: str, told: list[Happened]) -> list[KeptEvent]:
    """Rows of the events, with ids; the table stays bounded."""
    rows = Event.objects.bulk_create(
        [
            Event(
                cluster_id=cluster_id,
                at_ms=e.at_ms,
                kind=e.kind,
                level=e.level,
                sentence=e.sentence[:1000],
                broker_id=e.broker_id,
                topic=e.topic or "",
                partition=e.partition,
                group=(e.group or "")[:255],
            )
            for e in told
        ]
    )
    if rows and rows[-1].pk % 100 < len(rows):
        trim(Event.objects.all(), Event.KEEP)
    return [event_value(row) for row in rows]
