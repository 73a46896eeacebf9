"""A live socket that comes while Redis is away is closed with a code, not with a failed handshake and a traceback."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import redis

log = logging.getLogger(__name__)
NO_FEED = 1011

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def closing_without_redis(application: Application) -> Application:
    """Channels subscribes in Redis before the consumer can accept: what that raises becomes a close frame."""

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        told: list[str] = []

        async def sent(message: Message) -> None:
            told.append(message["type"])
            await send(message)

        try:
            await application(scope, receive, sent)
        except (redis.RedisError, OSError) as error:
            log.warning("live socket refused: %s", error)
            if "websocket.accept" not in told:
                await send({"type": "websocket.accept"})
            if "websocket.close" not in told:
                await send({"type": "websocket.close", "code": NO_FEED})

    return guarded
