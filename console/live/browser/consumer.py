"""`/ws/v1/live`: one browser connection. It says what it shows, and gets a snapshot, then changes, and a beat each second."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any, ClassVar

import msgspec
import redis
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer

from broker_core.contract.frames import Beat, Changes, Snapshot, Values
from broker_core.contract.live import Cluster
from broker_core.contract.partitions import Partition
from broker_core.contract.sentences import KeptEvent
from console.live.browser.hub import Hub, hub_of
from console.live.browser.outbox import Outbox
from console.live.browser.subscription import BadSubscription, Subscription, key_of, parse
from console.live.owner.cancelling import end_all
from console.models import ApiToken
from console.snapshot import keys
from console.snapshot.connect import async_client
from console.snapshot.encoding import decode, encode
from console.snapshot.freshness import STALE_MS, read_cluster
from console.snapshot.kinds import KINDS, kind_of
from console.snapshot.read import aged

log = logging.getLogger(__name__)
SOCKETS_LIMIT = 200
FRAME_BYTES_LIMIT = 40_000
SEND_TIMEOUT_S = 15.0
BEAT_S = 1.0
LEAVING_S = 1.0
EVENTS_SHOWN = 20
SIGNED_OUT, BAD_QUERY, TOO_MANY, TOO_SLOW, NO_FEED = 4401, 4400, 4429, 1013, 1011


def session_group(session_key: str) -> str:
    """The channel group of all sockets of one session, so that signing out ends them."""
    return f"session.{session_key}"


def token_group(token_id: int) -> str:
    """The same for a token, until it is revoked."""
    return f"token.{token_id}"


def end_sockets(group: str) -> None:
    """Those of a group. Without Redis there is nothing live that they could show."""
    with contextlib.suppress(redis.RedisError, OSError):
        async_to_sync(get_channel_layer().group_send)(group, {"type": "session.ended"})


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels tells no types
    open_sockets: ClassVar[set[int]] = set()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._tasks: list[asyncio.Task[None]] = []
        self._hub: Hub | None = None
        self._group = ""
        self._expires_at: float | None = None
        self._beat: tuple[int, int, int] | None = None
        self._wake = asyncio.Event()
        self._leaving = asyncio.Event()
        self._closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """However the connection ends, by an error of ours too, nothing of it stays."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._let_go()

    async def connect(self) -> None:
        await self.accept()
        refused = await self._refusal()
        if refused:
            await self.close(*refused)
            return
        self.open_sockets.add(id(self))
        await self._start()

    async def _refusal(self) -> tuple[int, str] | None:
        if not await self._signed_in():
            return SIGNED_OUT, "sign in first"
        if len(self.open_sockets) >= SOCKETS_LIMIT:
            return TOO_MANY, f"more than {SOCKETS_LIMIT} live pages are open"
        try:
            self._outbox = Outbox(parse(self.scope["query_string"].decode("utf-8", "replace")))
        except BadSubscription as error:
            return BAD_QUERY, str(error)[:120]
        return None

    async def _signed_in(self) -> bool:
        user = self.scope.get("user")
        if user is not None and user.is_authenticated:
            self._group = session_group(self.scope["session"].session_key)
            return True
        header = dict(self.scope["headers"]).get(b"authorization", b"").decode("latin-1")
        if not header.startswith("Bearer "):
            return False
        token = await database_sync_to_async(ApiToken.find)(header.removeprefix("Bearer ").strip())
        if token is not None:
            self._group, self._expires_at = token_group(token.pk), token.expires_at.timestamp()
        return token is not None

    async def _start(self) -> None:
        with contextlib.suppress(redis.RedisError, OSError):
            await self.channel_layer.group_add(self._group, self.channel_name)
        self._hub = hub_of(self._outbox.wanted.cluster)
        self._tasks = [asyncio.create_task(self._guard(self._send_changes())), asyncio.create_task(self._guard(self._send_beats()))]

    async def _guard(self, work: Any) -> None:
        """A sender that fails ends the socket; the browser comes back by itself."""
        try:
            await work
        except TimeoutError:
            await self.close(TOO_SLOW)
        except (redis.RedisError, OSError) as error:
            log.warning("live socket ends: %s", error)
            await self.close(NO_FEED)
        except Exception:
            log.exception("live socket ends")
            await self.close(NO_FEED)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        """Once: two senders and what the browser says may each find a reason, and a second close frame is an error."""
        if not self._closed:
            self._closed = True
            await super().close(code, reason)

    async def _let_go(self) -> None:
        self.open_sockets.discard(id(self))
        await self._end_senders()
        if self._hub is not None:
            await self._hub.leave(self)
        if self._group:
            with contextlib.suppress(redis.RedisError, OSError):
                await self.channel_layer.group_discard(self._group, self.channel_name)

    async def _end_senders(self) -> None:
        """They end by themselves unless the browser holds them up: a connection to Redis is not cut off while it is being made."""
        self._leaving.set()
        self._wake.set()
        if not self._tasks:
            return
        _, held_up = await asyncio.wait(self._tasks, timeout=LEAVING_S)
        await end_all(held_up)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The one thing a page may say: {"subscribe": "<query string>"}."""
        if self._closed:
            return
        if text_data is None or len(text_data) > FRAME_BYTES_LIMIT:
            await self.close(BAD_QUERY, "only short text frames")
            return
        try:
            wanted = parse(msgspec.json.decode(text_data, type=dict[str, str])["subscribe"].lstrip("?"))
        except (msgspec.MsgspecError, KeyError, RecursionError, BadSubscription):
            await self.close(BAD_QUERY, "not a subscription")
            return
        if wanted.cluster != self._outbox.wanted.cluster:
            await self.close(BAD_QUERY, "another cluster needs another socket")
            return
        self._outbox.change(wanted)
        self._wake.set()

    async def session_ended(self, _message: dict[str, Any]) -> None:
        await self.close(SIGNED_OUT, "signed out")

    # --- the hub's side: never waits

    def offer(self, seq: int, values: Values) -> None:
        if self._outbox.offer(seq, values):
            self._wake.set()

    def start_over(self) -> None:
        self._outbox.start_over()
        self._wake.set()

    def beat(self, live_ms: int, oldest_ms: int, due_ms: int) -> None:
        self._beat = live_ms, oldest_ms, due_ms

    # --- the browser's side

    async def _send_changes(self) -> None:
        assert self._hub is not None
        await self._hub.join(self)
        while not self._leaving.is_set():
            if self._outbox.stale:
                await self._send_snapshot()
            else:
                seq, values = self._outbox.take()
                if values:
                    await self._write(Changes(seq, _now_ms(), values))
            await self._wake.wait()
            self._wake.clear()

    async def _send_snapshot(self) -> None:
        asked_in_round = self._outbox.round
        seq, values = await read_snapshot(self._outbox.wanted)
        self._outbox.snapshot_taken(seq, asked_in_round)
        await self._write(Snapshot(seq, _now_ms(), values))
        self._wake.set()

    async def _send_beats(self) -> None:
        cluster = self._outbox.wanted.cluster
        while not self._leaving.is_set():
            if self._expires_at is not None and time.time() >= self._expires_at:
                await self.close(SIGNED_OUT, "the token has expired")
                return
            if self._beat is None:
                self._beat = await stored_beat(cluster)
            await self._write(Beat(_now_ms(), *(self._beat or (None, None, None))))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), BEAT_S)

    async def _write(self, frame: Snapshot | Changes | Beat) -> None:
        """The server's send waits while the browser does not read; past the limit it is cut off."""
        await asyncio.wait_for(self._send_while_open(encode(frame)), SEND_TIMEOUT_S)

    async def _send_while_open(self, text: str) -> None:
        """Looked at in the step that sends: it may have been closed since this was asked for."""
        if not self._closed:
            await self.send(text)


async def read_snapshot(wanted: Subscription) -> tuple[int, Values]:
    """The sequence number and all values wanted, as they were at one moment; ages are counted to now, as pages and REST do."""
    asked = wanted.reads()
    client = async_client()
    try:
        pipe = client.pipeline(transaction=True)
        pipe.mget([keys.named(wanted.cluster, name) for name in ("seq", "beat")])
        pipe.lrange(keys.named(wanted.cluster, "events"), 0, EVENTS_SHOWN - 1)
        for _, name, fields in asked:
            pipe.hgetall(name) if fields is None else pipe.hmget(name, fields)
        (seq, beat), events, *answers = await pipe.execute()
    finally:
        await client.aclose()
    beat_ms = int(beat) if beat else None
    values: Values = {}
    for (kind, _, fields), answer in zip(asked, answers, strict=True):
        found = answer.items() if fields is None else zip(fields, answer, strict=True)
        values |= {key_of(kind, field): read for field, text in found if (read := _as_now(kind, text, beat_ms)) is not None}
    if wanted.events:
        values |= {keys.event(event.id): _raw(event) for text in events if (event := decode(text, KeptEvent))}
    return int(seq or 0), values


def _as_now(kind: str, text: str | None, beat_ms: int | None) -> msgspec.Raw | None:
    """A value as it is read now; None of what is gone."""
    value = decode(text, KINDS[kind_of(kind)])
    if isinstance(value, Partition):
        value = aged(value, _now_ms())
    elif isinstance(value, Cluster):
        value = read_cluster(value, beat_ms, _now_ms())
    return None if value is None else _raw(value)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


async def stored_beat(cluster_id: str) -> tuple[int, int, int] | None:
    client = async_client()
    try:
        live, oldest, due = await client.mget([keys.named(cluster_id, name) for name in ("beat", "oldest", "due")])
        oldest_ms = int(oldest or live or 0)
        return (int(live), oldest_ms, int(due) if due else oldest_ms + STALE_MS) if live else None
    finally:
        await client.aclose()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
