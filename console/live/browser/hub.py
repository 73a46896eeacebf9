"""One listener per process and cluster: takes announcements from Redis and hands each connection what it wants.

A connection is never waited for: it keeps one latest value per key, so however slow a browser is, its backlog is bounded by the
number of keys it shows. A gap in the sequence (Redis dropped us, or a message was lost) makes every connection read the snapshot again.
An owner beats every second: where nothing comes Redis is asked, and where it does not answer either the connection is made anew.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

import redis

from broker_core.contract.frames import Announcement, Values
from console.live.owner.cancelling import end_all
from console.snapshot import keys
from console.snapshot.connect import async_client
from console.snapshot.encoding import decode

log = logging.getLogger(__name__)
RETRY_S = 1.0
JOIN_S = 5.0
QUIET_S = 3.0


class Listener(Protocol):
    def offer(self, seq: int, values: Values) -> None: ...

    def start_over(self) -> None: ...

    def beat(self, live_ms: int, oldest_ms: int, due_ms: int) -> None:
        """The owner lived at `live_ms`; all that it wrote was true at `oldest_ms`; the first part of it is stale after `due_ms`."""
        ...


class Hub:
    """Runs while it has listeners."""

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.listeners: set[Listener] = set()
        self._seq: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()

    async def join(self, listener: Listener) -> None:
        """Returns once announcements reach the listener, so that a snapshot read afterwards misses nothing."""
        self.listeners.add(listener)
        if self._task is None or self._task.done():
            self._subscribed.clear()
            self._task = asyncio.get_running_loop().create_task(self._run())
        try:
            await asyncio.wait_for(self._subscribed.wait(), JOIN_S)
        except TimeoutError as error:
            raise ConnectionError(f"Redis did not answer for {JOIN_S:.0f} s") from error

    async def leave(self, listener: Listener) -> None:
        """The last one to leave ends the connection to Redis, too."""
        self.listeners.discard(listener)
        if not self.listeners and self._task is not None:
            task, self._task = self._task, None
            await end_all([task])

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (redis.RedisError, OSError) as error:
                log.warning("the hub of %s lost Redis: %s", self.cluster_id, error)
            self._subscribed.clear()
            await asyncio.sleep(RETRY_S)

    async def _listen(self) -> None:
        client = async_client(timeout_s=None)
        try:
            async with client.pubsub(ignore_subscribe_messages=False) as channel:
                await channel.subscribe(keys.named(self.cluster_id, "changes"))
                is_asked = False
                while True:
                    message = await channel.get_message(timeout=QUIET_S)
                    if message is None:
                        if is_asked:
                            raise ConnectionError(f"nothing came for {2 * QUIET_S:.0f} s, no answer either")
                        await channel.ping()
                    elif message["type"] == "subscribe":
                        self._begin()
                    elif message["type"] == "message":
                        self._take(message["data"])
                    is_asked = message is None
        finally:
            await client.aclose()

    def _begin(self) -> None:
        self._seq = None
        self._subscribed.set()
        for listener in list(self.listeners):
            listener.start_over()

    def _take(self, text: str) -> None:
        head, _, body = text.partition(" ")
        if head == "beat":
            for listener in list(self.listeners):
                listener.beat(*map(int, body.split()))
            return
        seq, message = int(head), decode(body, Announcement)
        gap = self._seq is not None and seq != self._seq + 1
        self._seq = seq
        for listener in list(self.listeners):
            if message is None or gap or message.reset:
                listener.start_over()
            else:
                listener.offer(seq, message.values)


_hubs: dict[tuple[int, str], Hub] = {}


def hub_of(cluster_id: str) -> Hub:
    """The process's hub for a cluster (one for each event loop, which in a server is one)."""
    loop = id(asyncio.get_running_loop())
    return _hubs.setdefault((loop, cluster_id), Hub(cluster_id))
