"""One collector a cluster, as the rows of the clusters change."""

from __future__ import annotations

import asyncio
from collections import Counter

from console.collector.supervisor import CLUSTERS_LIMIT, Supervisor
from console.gateway.connection import Connection

A, B = Connection("127.0.0.1:1"), Connection("127.0.0.1:2")


class Collectors:
    """Notes who is collected how; those named in `failing` end at once."""

    def __init__(self) -> None:
        self.begun: Counter[tuple[str, Connection]] = Counter()
        self.running: set[tuple[str, Connection]] = set()
        self.failing: set[str] = set()
        self.changed = asyncio.Event()

    async def collect(self, name: str, connection: Connection) -> None:
        self.begun[name, connection] += 1
        self.running.add((name, connection))
        self.changed.set()
        try:
            if name in self.failing:
                raise RuntimeError("this one is broken")
            await asyncio.Event().wait()
        finally:
            self.running.discard((name, connection))

    async def until(self, name: str, connection: Connection, times: int) -> None:
        while self.begun[name, connection] < times:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 60)


async def test_clusters_come_change_and_go() -> None:
    collectors = Collectors()
    supervisor = Supervisor(collectors.collect)
    await supervisor.follow({"a": A, "b": A})
    await collectors.until("a", A, 1)
    await collectors.until("b", A, 1)
    await supervisor.follow({"a": A, "b": B})
    await collectors.until("b", B, 1)
    assert collectors.running == {("a", A), ("b", B)}
    assert collectors.begun["a", A] == 1
    await supervisor.follow({"b": B})
    assert collectors.running == {("b", B)}
    await supervisor.close()
    assert collectors.running == set()


async def test_one_that_fails_is_begun_again_and_hurts_no_other() -> None:
    collectors = Collectors()
    collectors.failing = {"broken"}
    supervisor = Supervisor(collectors.collect, again_s=0.0)
    await supervisor.follow({"broken": A, "sound": A})
    await collectors.until("broken", A, 3)
    assert collectors.running - {("broken", A)} == {("sound", A)}
    assert collectors.begun["sound", A] == 1
    await supervisor.close()


async def test_there_is_a_limit() -> None:
    collectors = Collectors()
    supervisor = Supervisor(collectors.collect)
    await supervisor.follow({f"c{number:03}": A for number in range(CLUSTERS_LIMIT + 5)})
    assert supervisor.running() == {f"c{number:03}" for number in range(CLUSTERS_LIMIT)}
    await supervisor.close()


async def test_without_clusters_nothing_runs() -> None:
    supervisor = Supervisor(Collectors().collect)
    await supervisor.follow({})
    assert supervisor.running() == set()
    await supervisor.close()
