"""The long-lived clients of our own, watched by what they get done: one that falls silent is an event, and stands in the snapshot for
the health report until it gets something done again."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

import redis

from console.live.events import Value, event
from console.live.publisher import now_ms
from console.snapshot import keys
from console.snapshot.connect import async_client

log = logging.getLogger(__name__)
EVERY_S = 5.0


class ClientsWatch:
    """Which of them have been told to be silent. Pure."""

    def __init__(self) -> None:
        self._silent: dict[str, Value] = {}

    def look(self, clients: Iterable[Value], at_ms: int) -> list[Value]:
        """Events, of `{name, doing, silent_s, sentence}`; one that is no longer there is no longer silent, unsaid."""
        told: list[Value] = []
        found = {client["name"]: client for client in clients}
        for name, client in found.items():
            if client["silent_s"] is not None and name not in self._silent:
                told.append(event("client_silent", "warn", client["sentence"], at_ms))
            elif client["silent_s"] is None and name in self._silent:
                told.append(event("client_back", "ok", f"The client {client['doing']} gets its work done again.", at_ms))
        self._silent = {name: client for name, client in found.items() if client["silent_s"] is not None}
        return told

    def silent(self) -> list[Value]:
        """`[{name, doing, sentence}]`."""
        return [{key: client[key] for key in ("name", "doing", "sentence")} for client in self._silent.values()]


async def run_clients(cluster_id: str, find: Callable[[], list[Value]], tell: Callable[[list[Any]], None]) -> None:
    """Looks every 5 s, until cancelled; without Redis the events are still told."""
    watch, client = ClientsWatch(), async_client()
    try:
        while True:
            told = watch.look(await asyncio.to_thread(find), now_ms())
            if told:
                tell(told)
            try:
                await client.set(keys.named(cluster_id, "clients"), json.dumps(watch.silent()))
            except (redis.RedisError, OSError) as error:
                log.info("silent clients are not shown: %s", error)
            await asyncio.sleep(EVERY_S)
    finally:
        await client.aclose()
