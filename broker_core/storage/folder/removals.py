"""Folders of deleted logs, removed one after the other when their time has come: thousands at once would take the disk's threads,
and the interpreter, from those who serve."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable

from broker_core.seams import Node

logger = logging.getLogger(__name__)


LOOK_EVERY_MS = 1_000
"""A folder with a shorter delay may have come to the head of the line."""


class Removals:
    """At most one removal is under way; the folders' names say after a restart what was left to do."""

    def __init__(self, node: Node, report: Callable[[str, OSError], None]) -> None:
        self._node = node
        self._report = report
        self._waiting: list[tuple[float, str]] = []
        self._working = False

    def add(self, folder: str, delay_ms: float) -> None:
        heapq.heappush(self._waiting, (self._node.clock.monotonic_ms() + delay_ms, folder))
        if not self._working:
            self._working = True
            self._node.spawn(self._work(), name="remove deleted logs")

    async def _work(self) -> None:
        try:
            while self._waiting:
                due_ms, folder = self._waiting[0]
                wait_ms = due_ms - self._node.clock.monotonic_ms()
                if wait_ms > 0:
                    await self._node.clock.sleep(min(wait_ms, LOOK_EVERY_MS))
                    continue
                heapq.heappop(self._waiting)
                await self._remove(folder)
        finally:
            self._working = False

    async def _remove(self, folder: str) -> None:
        try:
            await self._node.disk.remove_tree(folder)
        except OSError as error:
            logger.error("a deleted log's folder cannot be removed", extra={"folder": folder, "error": str(error)})
            self._report(folder, error)
