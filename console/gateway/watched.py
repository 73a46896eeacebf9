"""What was read of watched znodes: which of it waits to be read again and since when, and whether it is still what the znodes hold.

A watch may be lost, by a fault here, in the client or in ZooKeeper, and nobody would ever tell. So the versions are compared, a piece
at a time. ZooKeeper answers in order: a change that an answer shows was told before by its watch, and is waiting or being read; what
differs without that was missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice, takewhile

from broker_core.coordination.store import NoNode, Store

READS_AT_ONCE = 100
BREATH_S = 0.05


class Watched:
    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._queued: dict[str, int] = {}
        self._reading: dict[str, int] = {}
        self._nodes: dict[str, int | None] = {}
        self._children: dict[str, list[str]] = {}

    # --- what waits

    def clear(self) -> None:
        """Everything is read anew."""
        self._queued, self._reading, self._nodes, self._children = {}, {}, {}, {}

    def queue(self, path: str) -> None:
        self._queued.setdefault(path, self._now_ms())

    def waits(self, path: str) -> bool:
        return path in self._queued

    def is_idle(self) -> bool:
        return not self._queued

    def begin(self, alike: Callable[[str], object]) -> list[str]:
        """The path that changed first, with those after it that are `alike` if it is; they are being read until `done`."""
        paths = list(islice(takewhile(alike, self._queued), READS_AT_ONCE)) or [next(iter(self._queued))]
        self._reading = {path: self._queued.pop(path) for path in paths}
        return paths

    def done(self) -> None:
        self._reading = {}

    def true_ms(self) -> int:
        """When all that was read was last known to be so, if ZooKeeper answers now: since when the oldest change waits."""
        return min([self._now_ms(), *self._reading.values(), *islice(self._queued.values(), 1)])

    # --- what was read

    def saw(self, path: str, mzxid: int | None) -> None:
        """The znode's last change, None where it is not there."""
        self._nodes[path] = mzxid

    def saw_children(self, path: str, names: list[str]) -> None:
        self._children[path] = names

    def forget(self, *folders: str) -> None:
        """These znodes and all below them are of no interest any more."""
        for path in [p for p in self._nodes if p.startswith(tuple(f"{folder}/" for folder in folders)) or p in folders]:
            del self._nodes[path]

    async def differing(self, store: Store) -> list[str]:
        """Paths that hold something else than was read, though no watch told."""
        found = [path for path in sorted(self._children) if await self._children_differ(store, path)]
        paths = sorted(self._nodes)
        for start in range(0, len(paths), READS_AT_ONCE):
            piece = paths[start : start + READS_AT_ONCE]
            differ = await asyncio.gather(*(self._node_differs(store, path) for path in piece))
            found += [path for path, differs in zip(piece, differ, strict=True) if differs]
            await asyncio.sleep(BREATH_S)
        return found

    async def _node_differs(self, store: Store, path: str) -> bool:
        before = self._nodes.get(path)
        stat = await store.exists(path)
        is_same = path in self._nodes and self._nodes[path] == before
        return is_same and not self._moves(path) and before != (None if stat is None else stat.mzxid)

    async def _children_differ(self, store: Store, path: str) -> bool:
        before = self._children[path]
        try:
            names = await store.children(path)
        except NoNode:
            names = []
        return self._children.get(path) is before and not self._moves(path) and sorted(before) != sorted(names)

    def _moves(self, path: str) -> bool:
        return path in self._queued or path in self._reading
