"""One task for each registered cluster that has no state feed of ours: begun, begun anew and ended as the rows change.

A task that fails is begun again after a while; none of the others notices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from console.gateway.connection import Connection
from console.live.owner.cancelling import end_all

log = logging.getLogger(__name__)
LOOK_S = 2.0
AGAIN_S = 5.0
CLUSTERS_LIMIT = 32
Collect = Callable[[str, Connection], Awaitable[None]]


class Supervisor:
    def __init__(self, collect: Collect, again_s: float = AGAIN_S) -> None:
        self._collect, self._again_s = collect, again_s
        self._tasks: dict[str, tuple[Connection, asyncio.Task[None]]] = {}

    def running(self) -> set[str]:
        return set(self._tasks)

    async def follow(self, wanted: Mapping[str, Connection]) -> None:
        """These clusters are to be collected from now on, by id; no more than `CLUSTERS_LIMIT`."""
        if len(wanted) > CLUSTERS_LIMIT:
            log.warning("only the first %d of %d clusters are collected", CLUSTERS_LIMIT, len(wanted))
        kept = {name: wanted[name] for name in sorted(wanted)[:CLUSTERS_LIMIT]}
        over = [name for name, (connection, _) in self._tasks.items() if kept.get(name) != connection]
        await end_all([self._tasks.pop(name)[1] for name in over])
        for name in kept.keys() - self._tasks.keys():
            self._tasks[name] = (kept[name], asyncio.create_task(self._again_and_again(name, kept[name]), name=f"collect-{name}"))

    async def _again_and_again(self, name: str, connection: Connection) -> None:
        while True:
            try:
                await self._collect(name, connection)
            except Exception:
                log.exception("the collector of %s failed", name)
            await asyncio.sleep(self._again_s)

    async def close(self) -> None:
        await end_all([task for _, task in self._tasks.values()])
        self._tasks = {}
