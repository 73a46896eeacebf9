"""The long-lived clients of our own, watched by what they get done: one that falls silent is an event, and stands in the snapshot for
the health report until it gets something done again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import redis
from msgspec import convert

from broker_core.contract.live import SilentClient
from console.clock import now_ms
from console.live.events.happened import Happened
from console.snapshot import keys
from console.snapshot.connect import async_client
from console.snapshot.encoding import encode

log = logging.getLogger(__name__)
EVERY_S = 5.0


class ClientsWatch:
    """Which of them have been told to be silent. Pure."""

    def __init__(self) -> None:
        self._silent: dict[str, SilentClient] = {}

    def look(self, clients: Iterable[Mapping[str, Any]], at_ms: int) -> list[Happened]:
        """Events, of `Watch.value`s; one that is no longer there is no longer silent, unsaid."""
        told: list[Happened] = []
        found = {client["name"]: client for client in clients}
        for name, client in found.items():
            if client["silent_s"] is not None and name not in self._silent:
                told.append(Happened("client_silent", "warn", client["sentence"], at_ms))
            elif client["silent_s"] is None and name in self._silent:
                told.append(Happened("client_back", "ok", f"The client {client['doing']} gets its work done again.", at_ms))
        self._silent = {name: convert(client, SilentClient) for name, client in found.items() if client["silent_s"] is not None}
        return told

    def silent(self) -> list[SilentClient]:
        return list(self._silent.values())


async def run_clients(cluster_id: str, find: Callable[[], Iterable[Mapping[str, Any]]], tell: Callable[[list[Happened]], None]) -> None:
    """Looks every 5 s, until cancelled; without Redis the events are still told."""
    watch, client = ClientsWatch(), async_client()
    try:
        while True:
            told = watch.look(await asyncio.to_thread(find), now_ms())
            if told:
                tell(told)
            try:
                await client.set(keys.named(cluster_id, "clients"), encode(watch.silent()))
            except (redis.RedisError, OSError) as error:
                log.info("silent clients are not shown: %s", error)
            await asyncio.sleep(EVERY_S)
    finally:
        await client.aclose()
