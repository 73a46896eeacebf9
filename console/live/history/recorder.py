"""Records one cluster: hears what is announced to browsers, as one of them, and writes what is due every 2 s.

While the cluster's owner is silent nothing is recorded, and a gap is left: what nobody knew then is not told later. The same while the
disk refuses: the reason stands where pages look for what is kept.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import Any

import redis
from msgspec import Raw

from broker_core.contract.frames import Values
from broker_core.contract.live import Point
from broker_core.contract.moments import Kept, Reply
from console.clock import now_ms
from console.live.browser.hub import Hub
from console.live.history.differing import differences
from console.live.history.layout import POINT, lay_out
from console.live.history.recording import STATES_EVERY_MS, Recording
from console.live.history.store import HistoryStore
from console.snapshot import keys
from console.snapshot.encoding import decode, encode
from console.snapshot.moments import GAP_MS, kept_name, name_of
from console.snapshot.write import SERIES_KEPT

log = logging.getLogger(__name__)
HASHES_PER_READ = 100
KEPT_S = 30
WEIGHED_EVERY_MS = 60_000
RETRY_S = 5.0
DAY_S = 86_400
NOT_RECORDED = Reply(error="Nothing was recorded so long ago.", is_missing=True)


class Recorder:
    """Runs on one event loop; the file is used by one thread at a time."""

    def __init__(self, cluster_id: str, client: Any, store: HistoryStore, limit_bytes: int) -> None:
        self.cluster_id = cluster_id
        self._redis = client
        self._store = store
        self._limit_bytes = limit_bytes
        self._recording = Recording(limit_bytes / DAY_S)
        self._waiting: Values = {}
        self._point_keys: list[str] = []
        self._stale = True
        self._live_ms = 0
        self._error: str | None = None
        self._using = asyncio.Lock()
        self._written_bytes, self._weighed_ms = 0, now_ms()

    # --- the hub's side

    def offer(self, seq: int, values: Values) -> None:
        if self._stale:
            self._waiting.update(values)
        else:
            self._recording.take(values)

    def start_over(self) -> None:
        self._stale = True

    def beat(self, live_ms: int, oldest_ms: int, due_ms: int) -> None:
        self._live_ms = live_ms

    # --- recording

    async def run(self) -> None:
        hub = Hub(self.cluster_id)
        try:
            while True:
                try:
                    await hub.join(self)
                    await self._step(now_ms())
                    await self._tell()
                except (redis.RedisError, OSError, sqlite3.Error) as error:
                    log.warning("%s is not recorded: %s", self.cluster_id, error)
                    self._error = str(error)
                    self._store.end()
                    await asyncio.sleep(RETRY_S)
                await asyncio.sleep(STATES_EVERY_MS / 1000)
        finally:
            await hub.leave(self)
            async with self._using:
                self._store.close()

    async def _step(self, at_ms: int) -> None:
        if self._stale:
            await self._read_all()
        if at_ms - self._live_ms > GAP_MS:
            self._store.end()
            return
        self._take_points(await self._points(1))
        async with self._using:
            self._written_bytes += await asyncio.to_thread(self._write, at_ms)
        self._error = None
        if at_ms - self._weighed_ms >= WEIGHED_EVERY_MS:
            self._recording.weighed(self._written_bytes, at_ms - self._weighed_ms)
            self._written_bytes, self._weighed_ms = 0, at_ms

    def _write(self, at_ms: int) -> int:
        if self._store.tracks.is_due(at_ms):
            self._store.tracks.add(at_ms, self._recording.everything())
        if self._store.is_due(at_ms):
            written = self._store.begin(at_ms, self._recording.everything())
            self._recording.all_written()
            return written
        return self._store.add(at_ms, self._recording.due(at_ms))

    async def _read_all(self) -> None:
        """What is announced meanwhile counts after what is read."""
        self._waiting, self._stale = {}, True
        values: dict[str, bytes] = {}
        for some in await self._hashes():
            pipe = self._redis.pipeline(transaction=False)
            for name in some:
                pipe.hgetall(name)
            for name, fields in zip(some, await pipe.execute(), strict=True):
                found = {keys.key_at(self.cluster_id, name, field): text.encode() for field, text in fields.items()}
                values |= {key: text for key, text in found.items() if key is not None and not key.startswith("rhythm/")}
        self._recording.start_over(values)
        self._point_keys = []
        self._take_points(await self._points(SERIES_KEPT))
        self._recording.take(self._waiting)
        self._waiting, self._stale = {}, False
        self._store.end()

    async def _points(self, count: int) -> list[bytes]:
        """The newest of the overview's plot, the oldest of them first."""
        found = await self._redis.lrange(keys.named(self.cluster_id, "series"), 0, count - 1)
        return [text.encode() for text in reversed(found)]

    def _take_points(self, texts: list[bytes]) -> None:
        """Those that are new, and the oldest go."""
        found = {f"{POINT}/{point.at_ms}": Raw(text) for text in texts if (point := decode(text, Point)) is not None}
        fresh = {key: text for key, text in found.items() if key not in self._point_keys}
        self._point_keys += fresh
        gone, self._point_keys = self._point_keys[:-SERIES_KEPT], self._point_keys[-SERIES_KEPT:]
        self._recording.take(fresh | dict.fromkeys(gone, Raw(b"null")))

    async def _hashes(self) -> list[list[str]]:
        names = [name async for name in self._redis.scan_iter(match=f"{keys.prefix(self.cluster_id)}*", count=1_000)]
        hashes = sorted(name for name in names if keys.key_at(self.cluster_id, name, "0") is not None)
        return [hashes[start : start + HASHES_PER_READ] for start in range(0, len(hashes), HASHES_PER_READ)]

    async def _tell(self) -> None:
        """What there is to see, for the pages."""
        async with self._using:
            found = await asyncio.to_thread(self._kept)
        await self._redis.set(kept_name(self.cluster_id), encode(found), ex=KEPT_S)

    def _kept(self) -> Kept:
        oldest, newest = self._store.span() or (None, None)
        return Kept(
            oldest_ms=oldest,
            newest_ms=newest,
            bytes=self._store.size_bytes(),
            limit_bytes=self._limit_bytes,
            figures_every_s=self._recording.figures_every_ms / 1000,
            gaps=self._store.gaps(),
            error=self._error,
        )

    # --- what is asked

    async def lay_out(self, at_ms: int) -> Reply:
        async with self._using:
            found = await asyncio.to_thread(self._store.at, at_ms)
        if found is None:
            return NOT_RECORDED
        await lay_out(self._redis, name_of(self.cluster_id, at_ms), found.values, found.known_ms)
        return Reply(known_ms=found.known_ms)

    async def compare(self, from_ms: int, to_ms: int) -> Reply:
        async with self._using:
            before, after = await asyncio.to_thread(lambda: (self._store.at(from_ms), self._store.at(to_ms)))
        if before is None or after is None:
            return NOT_RECORDED
        found = await asyncio.to_thread(differences, before.values, after.values, before.known_ms, after.known_ms)
        return Reply(known_ms=after.known_ms, differences=found)

    async def tracks(self, keys: tuple[str, ...], from_ms: int, to_ms: int, most: int) -> Reply:
        async with self._using:
            return Reply(tracks=await asyncio.to_thread(self._store.tracks.read, keys, from_ms, to_ms, most))
