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

from broker_core.contract.frames import Beat, Changes, Snapshot
from console.live.browser.hub import Hub, hub_of
from console.live.browser.listening import Listening
from console.live.browser.outbox import Outbox
from console.live.browser.subscription import BadSubscription, parse
from console.live.owner.cancelling import end_all
from console.models import ApiToken
from console.snapshot.encoding import encode

log = logging.getLogger(__name__)
SOCKETS_LIMIT = 200
FRAME_BYTES_LIMIT = 40_000
SEND_TIMEOUT_S = 15.0
BEAT_S = 1.0
LEAVING_S = 1.0
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


class LiveConsumer(Listening, AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels tells no types
    open_sockets: ClassVar[set[int]] = set()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._tasks: list[asyncio.Task[None]] = []
        self._hub: Hub | None = None
        self._group = ""
        self._expires_at: float | None = None
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

    # --- the browser's side

    async def _send_changes(self) -> None:
        assert self._hub is not None
        await self._hub.join(self)
        while not self._leaving.is_set():
            if self._outbox.stale:
                await self._write(await self.snapshot())
            elif changes := self.changes():
                await self._write(changes)
            await self._wake.wait()
            self._wake.clear()

    async def _send_beats(self) -> None:
        while not self._leaving.is_set():
            if self._expires_at is not None and time.time() >= self._expires_at:
                await self.close(SIGNED_OUT, "the token has expired")
                return
            await self._write(await self.last_beat())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), BEAT_S)

    async def _write(self, frame: Snapshot | Changes | Beat) -> None:
        """The server's send waits while the browser does not read; past the limit it is cut off."""
        await asyncio.wait_for(self._send_while_open(encode(frame)), SEND_TIMEOUT_S)

    async def _send_while_open(self, text: str) -> None:
        """Looked at in the step that sends: it may have been closed since this was asked for."""
        if not self._closed:
            await self.send(text)
