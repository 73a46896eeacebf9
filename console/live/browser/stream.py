"""The live state as server-sent events: what the websocket sends, for programs that speak HTTP alone.

Which events there are say `EVENTS`. A listener who does not read for `STALLED_S` is cut off; one who reads late is told by `end` that it
was dropped for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import Annotated, Any, NamedTuple

import msgspec
import redis
from channels.layers import get_channel_layer
from msgspec import Meta

from broker_core.contract.frames import Beat, Changes, Snapshot
from console.errors import TooManyStreams
from console.live.browser.hub import hub_of
from console.live.browser.listening import Listening
from console.live.browser.outbox import Outbox
from console.live.browser.subscription import Subscription
from console.live.owner.cancelling import end_all, end_if_cancelled
from console.snapshot.encoding import encode

log = logging.getLogger(__name__)
STREAMS_LIMIT = 100
STREAMS_OF_ONE_LIMIT = 10
BEAT_S = 5.0
SLOW_S = 15.0
STALLED_S = 60.0
RETRY = b"retry: 3000\n\n"
"""Sent first: in so many ms to come again."""


class Seats:
    """Who listens: so many at a time, so many of one."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._lock = threading.RLock()
        """Seats are taken by the threads that serve requests, and left by the loop or wherever a stream is collected."""

    def take(self, who: str) -> None:
        with self._lock:
            if self._taken.total() >= STREAMS_LIMIT:
                raise TooManyStreams(f"{STREAMS_LIMIT} streams are open: close one, or come later.")
            if self._taken[who] >= STREAMS_OF_ONE_LIMIT:
                raise TooManyStreams(f"You have {STREAMS_OF_ONE_LIMIT} streams open: close one first.")
            self._taken[who] += 1

    def leave(self, who: str) -> None:
        with self._lock:
            self._taken[who] -= 1
            if self._taken[who] <= 0:
                del self._taken[who]

    def __len__(self) -> int:
        return self._taken.total()


SEATS = Seats()


class End(msgspec.Struct):
    """Nothing comes after it."""

    reason: str
    again: Annotated[bool, Meta(description="whether to come back by itself")]


class Missed(msgspec.Struct):
    """Between these sequence numbers."""

    after: int
    until: int


class Told(NamedTuple):
    """What an event's data are, and when it comes."""

    data: type[msgspec.Struct]
    words: str


EVENTS = {
    "snapshot": Told(Snapshot, "all that was asked for: first, and again whenever changes were lost on the way"),
    "changes": Told(Changes, "what is otherwise since, at most one latest value for each key however slowly it is read"),
    "beat": Told(Beat, f"each {BEAT_S:.0f} s: how old the state is at most"),
    "resumed": Told(Missed, "instead of the first snapshot, where nothing happened since `Last-Event-ID`"),
    "missed": Told(
        Missed, "before the first snapshot, where something did: the changes in between are not kept, the snapshot has what came of them"
    ),
    "end": Told(End, "the last one: why (signed out, too slow, the live snapshot is away), and whether to come again"),
}
"""By the names that they are sent with. Snapshots, changes and `resumed` have the state's sequence number for their id."""


class _Ended(Exception):
    """There is nothing more to send."""

    def __init__(self, reason: str, *, again: bool) -> None:
        super().__init__(reason)
        self.end = End(reason, again)


class Stream(Listening):
    """One listener: made for its seat, then iterated over once, in the server's loop. `group` is its session's or token's channel group,
    by which it ends as the websockets do; `expires_at` is in seconds since 1970."""

    def __init__(self, who: str, wanted: Subscription, *, group: str, expires_at: float | None, last_id: int | None) -> None:
        super().__init__()
        SEATS.take(who)
        self.leave = weakref.finalize(self, SEATS.leave, who)
        self._outbox = Outbox(wanted)
        self._group, self._expires_at, self._last_id = group, expires_at, last_id
        self._signed_out = False
        self._sent_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watchers: list[asyncio.Task[None]] = []

    # --- the listener's side

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events()

    def close(self) -> None:
        """Told by the server, from any thread, when the answer is over, however it ended."""
        self.leave()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._go)

    def _go(self) -> None:
        asyncio.get_running_loop().create_task(self._let_go())

    async def _let_go(self) -> None:
        """Once or more often."""
        watchers, self._watchers = self._watchers, []
        await end_all(watchers)
        await hub_of(self._outbox.wanted.cluster).leave(self)
        self.leave()

    async def _events(self) -> AsyncIterator[bytes]:
        self._loop = loop = asyncio.get_running_loop()
        sender = asyncio.current_task()
        self._watchers = [loop.create_task(self._watch_sign_out())]
        if sender is not None:
            self._watchers.append(loop.create_task(self._watch_reader(sender)))
        try:
            async for event in self._guarded():
                self._sent_at = loop.time()
                yield event
                waited_s, self._sent_at = loop.time() - self._sent_at, 0.0
                if waited_s > SLOW_S:
                    yield as_sent("end", End(f"dropped: you did not read for {waited_s:.0f} s", again=True))
                    return
        finally:
            await self._let_go()

    async def _guarded(self) -> AsyncIterator[bytes]:
        yield RETRY
        try:
            await hub_of(self._outbox.wanted.cluster).join(self)
            async for event in self._all():
                yield event
        except _Ended as error:
            yield as_sent("end", error.end)
        except (redis.RedisError, OSError, TimeoutError) as error:
            log.warning("live stream ends: %s", error)
            yield as_sent("end", End("the live snapshot is away", again=True))

    async def _all(self) -> AsyncIterator[bytes]:
        async for event in self._first():
            yield event
        next_beat = time.monotonic()
        while True:
            self._check()
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + BEAT_S
                yield as_sent("beat", await self.last_beat())
            if self._outbox.stale:
                snapshot = await self.snapshot()
                yield as_sent("snapshot", snapshot, snapshot.seq)
            elif changes := self.changes():
                yield as_sent("changes", changes, changes.seq)
            await self._wait(next_beat - time.monotonic())

    async def _first(self) -> AsyncIterator[bytes]:
        """A snapshot, or that none is needed; who comes back is told whether something was missed."""
        snapshot = await self.snapshot()
        seq = snapshot.seq
        if self._last_id == seq:
            yield as_sent("resumed", Missed(seq, seq), seq)
            return
        if self._last_id is not None:
            yield as_sent("missed", Missed(self._last_id, seq))
        yield as_sent("snapshot", snapshot, seq)

    def _check(self) -> None:
        end_if_cancelled()
        if self._signed_out:
            raise _Ended("signed out", again=False)
        if self._expires_at is not None and time.time() >= self._expires_at:
            raise _Ended("the token has expired", again=False)

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(seconds, 0.0))
        self._wake.clear()

    # --- watchers

    async def _watch_sign_out(self) -> None:
        """The first message to the group is the end. Without Redis the stream has ended anyhow."""
        layer: Any = get_channel_layer()
        with contextlib.suppress(redis.RedisError, OSError):
            channel = await layer.new_channel()
            await layer.group_add(self._group, channel)
            try:
                await layer.receive(channel)
                self._signed_out = True
                self._wake.set()
            finally:
                await _tried(layer.group_discard(self._group, channel))

    async def _watch_reader(self, sender: asyncio.Task[Any]) -> None:
        """The server waits for whoever does not read; nothing could be said to them any more."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(STALLED_S / 4)
            if self._sent_at and loop.time() - self._sent_at > STALLED_S:
                log.warning("a live stream is cut off: nobody read for %.0f s", STALLED_S)
                sender.cancel()
                return


async def _tried(work: Awaitable[None]) -> None:
    with contextlib.suppress(redis.RedisError, OSError):
        await work


def as_sent(kind: str, data: msgspec.Struct, ident: int | None = None) -> bytes:
    """JSON has no line breaks: one line of data."""
    head = f"event: {kind}\n" if ident is None else f"event: {kind}\nid: {ident}\n"
    return f"{head}data: {encode(data)}\n\n".encode()
