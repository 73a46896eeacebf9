"""Redis clients, one per process and kind, with short time-outs: a Redis that is gone is an error at once, never a hang."""

from __future__ import annotations

import functools

import redis
import redis.asyncio
from django.conf import settings

TIMEOUT_S = 3.0


@functools.cache
def sync_client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, decode_responses=True, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)


def async_client(*, timeout_s: float | None = TIMEOUT_S) -> redis.asyncio.Redis:
    """A client for the running loop; whoever asks for it closes it."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, decode_responses=True, socket_timeout=timeout_s, socket_connect_timeout=TIMEOUT_S, health_check_interval=0
    )
