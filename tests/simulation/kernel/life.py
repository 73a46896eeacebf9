"""One life of a node, from its start to its kill: its loop, its seams, and what the world may do to it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Any

from broker_core.seams import Node
from tests.simulation.kernel.disk import DiskState, SimDisk
from tests.simulation.kernel.loop import NodeLoop
from tests.simulation.kernel.network import End, Fabric, Pipe, SimNetwork
from tests.simulation.kernel.parts import NodeKilled, SimClock, SimEntropy, SimSpawn
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble

STORE = "store"
"""The coordination store's name as a place to cut off."""

SUSPEND_AFTER = 2 / 3
"""Of the session timeout: then a client without an answer gives its connection up, as ZooKeeper's does."""


class StoreLink:
    """Messages between a node's client and the ensemble travel the fabric and run in the node's own loop."""

    def __init__(self, fabric: Fabric, name: str, loop: NodeLoop) -> None:
        self._out = Pipe(fabric, name, STORE)
        self._back = Pipe(fabric, STORE, name)
        self._loop = loop

    def to_server(self, callback: Callable[..., None], *args: object) -> None:
        self._out.put(lambda: callback(*args))

    def to_client(self, callback: Callable[..., None], *args: object) -> None:
        self._back.put(lambda: self._loop.call_soon(callback, *args))


class Life:
    """`dead` after a kill, `powered` false while the machine has no power; `ends` are its open connections."""

    def __init__(
        self, name: str, generation: int, number: int, fabric: Fabric, ensemble: MemoryEnsemble, disk: DiskState, seed: str
    ) -> None:
        self.name = name
        self.generation = generation
        self.dead = False
        self.powered = True
        self.ends: dict[End, None] = {}
        self.fabric = fabric
        self.loop = NodeLoop(fabric.scheduler, name, number)
        self.clock = SimClock(fabric.scheduler)
        self.spawn = SimSpawn(self.loop)
        life_seed = f"{seed}/{name}/{generation}"
        self.disk = SimDisk(disk, self.clock, random.Random(f"{life_seed}/disk"), self.note)
        self.store = MemoryStore(ensemble, self.clock, link=StoreLink(fabric, name, self.loop))
        entropy = SimEntropy(f"{life_seed}/entropy")
        self.node = Node(self.clock, self.spawn, entropy, self.disk, SimNetwork(fabric, self), self.store)
        self.graveyard: list[asyncio.Task[Any]] = []

    @property
    def problems(self) -> list[str]:
        return self.spawn.failures + [f"{problem.get('message')}: {problem.get('exception')!r}" for problem in self.loop.problems]

    def note(self, kind: str, detail: str, data: bytes | bytearray | memoryview = b"") -> None:
        self.fabric.scheduler.trace.record(self.fabric.scheduler.now_us, f"{self.name}#{self.generation}", kind, detail, data)

    def check(self) -> None:
        if self.dead:
            raise NodeKilled

    def die(self, *, power_lost: bool = False) -> None:
        """Cuts disk, network and store, then drops the queue: no `finally` of the node has any effect."""
        self.dead = self.disk.dead = True
        self.powered = not power_lost
        for end in list(self.ends):
            if power_lost:
                end.open = False
            else:
                end.shut()
        for address in [address for address, listener in self.fabric.listeners.items() if listener.life is self]:
            del self.fabric.listeners[address]
        self.store.abandon()
        self.loop.kill()
        self.graveyard = list(asyncio.all_tasks(self.loop))

    def bury(self) -> None:
        """Ends the coroutines of the dead without running anything of theirs that has an effect, and without warnings."""
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self.loop)
        for task in self.graveyard:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with contextlib.suppress(BaseException):
                task.get_coro().close()  # type: ignore[union-attr]
        asyncio._set_running_loop(outer)
        self.graveyard.clear()
