"""What a browser's page does with the live socket: it comes back whenever the socket ends, and keeps all it was told."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem

AGAIN_S = 0.3


@dataclass(frozen=True, slots=True)
class Told:
    """A frame, and the number of the connection it came by."""

    connection: int
    frame: dict[str, Any]


class LivePage:
    """Runs in a thread of its own while it is entered."""

    def __init__(self, system: ConsoleSystem, token: str, query: str) -> None:
        self._url = f"{system.url.replace('http', 'ws')}/ws/v1/live?{query}"
        self._headers = {"Authorization": f"Bearer {token}", "Origin": system.url}
        self.told: list[Told] = []
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._stay()))

    def __enter__(self) -> LivePage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join(30)

    async def _stay(self) -> None:
        number = 0
        while not self._leaving.is_set():
            number += 1
            try:
                async with connect(self._url, additional_headers=self._headers, max_size=None) as socket:
                    await self._listen(socket, number)
            except (OSError, TimeoutError, ConnectionClosed, InvalidHandshake):
                await asyncio.sleep(AGAIN_S)

    async def _listen(self, socket: Any, number: int) -> None:
        """A beat comes each second, so leaving is noticed."""
        while not self._leaving.is_set():
            self.told.append(Told(number, json.loads(await asyncio.wait_for(socket.recv(), 30))))

    def values(self, key: str, after: int = 0) -> list[Any]:
        """All that was told of a value from the frame with that index on."""
        return [t.frame["values"][key] for t in self.told[after:] if key in t.frame.get("values", ())]

    def wait_for(self, key: str, holds: Callable[[Any], bool], after: int, what: str) -> None:
        eventually(lambda: any(holds(value) for value in self.values(key, after)), 60, what)

    def unseen_steps_back(self) -> list[tuple[Told, Told]]:
        """Changes that do not follow, by their number, on what the same connection was told before; a snapshot begins anew."""
        data = [told for told in self.told if told.frame["type"] != "beat"]
        first = [(told, told) for told in data if told is next(t for t in data if t.connection == told.connection)]
        begun_wrong = [pair for pair in first if pair[0].frame["type"] != "snapshot"]
        return begun_wrong + [
            (before, after)
            for before, after in itertools.pairwise(data)
            if before.connection == after.connection and after.frame["type"] == "changes" and after.frame["seq"] <= before.frame["seq"]
        ]
