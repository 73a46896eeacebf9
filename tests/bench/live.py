"""What a broker's death costs the `live` process: 10 000 partitions, fabricated feeds and watches, a real Redis.

Each turn of the event loop is timed. Targets: all turns together under half a second, and none so long that a beat, a lease or
another feed has to wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import tempfile
import time
from asyncio import events
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from broker_core.contract.feed import Answer, Follower, Replica
from tests.bench.figures import Figure
from tests.support.console_world import BROKERS, stored_topic
from tests.support.feed_rows import batch, claim
from tests.support.redis import redis_server

TOPICS = 10
PARTITIONS, PARTITIONS_QUICK = 1000, 50
ROUNDS, ROUNDS_QUICK = 2, 1
TOTAL_MS, TURN_MS = 500.0, 100.0
PAGE_ROWS = 1500
"""About a megabyte of rows, which is what a broker sends at once."""
WATCHES_AT_ONCE = 100
SETTLE_MS = 2_500
DEAD = 3


def live(quick: bool) -> list[Figure]:
    partitions = PARTITIONS_QUICK if quick else PARTITIONS
    with redis_server() as url, tempfile.TemporaryDirectory() as folder:
        os.environ["HIGHWATER_DATA"] = folder
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
        from django.conf import settings

        settings.REDIS_URL = url
        from console.live.owner.owner import GC_THRESHOLD

        gc.set_threshold(*GC_THRESHOLD)
        Path(folder).joinpath("console").mkdir(exist_ok=True)
        runs = [asyncio.run(_death(partitions)) for _ in range(ROUNDS_QUICK if quick else ROUNDS)]
    count = f"{TOPICS * partitions:,} partitions, three replicas each; the broker held one of each"
    return [
        Figure("a broker's death in live: all turns of its loop", "ms", [run["death"][0] for run in runs], at_most=TOTAL_MS, note=count),
        Figure("the longest of them", "ms", [run["death"][1] for run in runs], at_most=TURN_MS),
        Figure("its return: all turns", "ms", [run["return"][0] for run in runs]),
        Figure("the longest of them", "ms", [run["return"][1] for run in runs], at_most=TURN_MS),
        Figure("taking it all in at the start: all turns", "ms", [run["start"][0] for run in runs]),
        Figure("the longest of them", "ms", [run["start"][1] for run in runs]),
        Figure("a second with the broker dead: all turns", "ms", [run["second"][0] for run in runs]),
    ]


class _Turns:
    """The processor time of each turn of the loop: what else runs on the machine does not count."""

    def __init__(self) -> None:
        self.took_ms: list[float] = []

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        run = events.Handle._run

        def timed(handle: events.Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.took_ms.append((time.thread_time() - began) * 1000)

        events.Handle._run = timed  # type: ignore[method-assign]
        try:
            yield
        finally:
            events.Handle._run = run  # type: ignore[method-assign]

    def take(self) -> tuple[float, float]:
        """(all of them, the longest), in ms."""
        took, self.took_ms = self.took_ms, []
        return sum(took), max(took, default=0.0)


class _World:
    """Feeds and watches of a cluster that never was."""

    def __init__(self, partitions: int) -> None:
        self.names = [(f"topic-{t}", p) for t in range(TOPICS) for p in range(partitions)]
        self.partitions = partitions
        self.frames: dict[int, asyncio.Queue[bytes]] = {b: asyncio.Queue() for b in BROKERS}

    def replicas(self, p: int) -> list[int]:
        return [(p + i) % 3 + 1 for i in range(3)]

    def led(self, p: int, alive: set[int]) -> tuple[int, list[int]]:
        isr = [b for b in self.replicas(p) if b in alive]
        return isr[0], isr

    def rows(self, broker: int, alive: set[int], epoch: int, *, led_only: bool) -> list[Replica]:
        found = []
        for name, p in self.names:
            leader, isr = self.led(p, alive)
            if led_only and leader != broker:
                continue
            ages = {"fetch_age_ms": 20, "caught_up_age_ms": 20}
            followers = [Follower(b, 100, **ages) for b in self.replicas(p) if b != broker]
            more = {"followers": followers if leader == broker else [], "leader_epoch": epoch}
            found.append(claim(name, p, broker, self.replicas(p), leader=leader, isr=isr, end=100, **more))
        return found

    def tell(self, broker: int, alive: set[int], epoch: int, *, full: bool) -> None:
        rows = self.rows(broker, alive, epoch, led_only=not full)
        pages = [rows] if full else [rows[n : n + PAGE_ROWS] for n in range(0, len(rows), PAGE_ROWS)]
        for page in pages:
            self.frames[broker].put_nowait(msgspec.json.encode(batch(broker, page, _now_ms(), full=full)))

    async def feed(self, _host: str, port: int) -> AsyncIterator[Answer]:
        while True:
            try:
                frame = await asyncio.wait_for(self.frames[port - 9091].get(), 1)
            except TimeoutError:
                yield batch(port - 9091, [], _now_ms())
            else:
                yield msgspec.json.decode(frame, type=Answer)

    async def watches(self, owner: Any, alive: set[int], epoch: int) -> None:
        """Each partition's znode, as many in a turn as are read at once."""
        for start in range(0, len(self.names), WATCHES_AT_ONCE):
            for name, p in self.names[start : start + WATCHES_AT_ONCE]:
                leader, isr = self.led(p, alive)
                owner.partition(name, p, leader, epoch, isr)
            await asyncio.sleep(0)


async def _death(partitions: int) -> dict[str, tuple[float, float]]:
    from console.live.merging.state import ClusterState
    from console.live.owner.cancelling import end_all
    from console.live.owner.lease import Lease
    from console.live.owner.owner import LiveOwner
    from console.live.owner.publisher import Publisher
    from console.snapshot.connect import async_client

    world, state, turns = _World(partitions), ClusterState("local"), _Turns()
    client = async_client()
    lease = Lease(client, "local")
    await lease.take()
    publisher = Publisher(state, lease)
    owner = LiveOwner("local", publisher, state, world.feed)
    everyone, left = set(BROKERS), set(BROKERS) - {DEAD}
    for broker in BROKERS:
        world.tell(broker, everyone, 5, full=True)
    tasks = [asyncio.create_task(work) for work in (publisher.run(), owner.run_ticks(), _renew(lease))]
    found = {}
    try:
        with turns.timed():
            owner.brokers(BROKERS)
            owner.controller(2, 7)
            for t in range(TOPICS):
                assigned = {p: {"replicas": world.replicas(p)} for p in range(partitions)}
                owner.topic(f"topic-{t}", stored_topic(topic_id=f"id{t}", partitions=assigned))
            await world.watches(owner, everyone, 5)
            owner.loaded()
            await _quiet(state)
            found["start"] = turns.take()

            for broker in left:
                world.tell(broker, left, 6, full=False)
            await asyncio.sleep(0)
            turns.take()
            owner.brokers({b: BROKERS[b] for b in left})
            await world.watches(owner, left, 6)
            await _quiet(state)
            found["death"] = turns.take()
            await asyncio.sleep(1)
            found["second"] = turns.take()

            for broker in BROKERS:
                world.tell(broker, everyone, 7, full=broker == DEAD)
            await asyncio.sleep(0)
            turns.take()
            owner.brokers({**BROKERS, DEAD: replace(BROKERS[DEAD], epoch=999)})
            await world.watches(owner, everyone, 7)
            await _quiet(state)
            found["return"] = turns.take()
    finally:
        await end_all(tasks)
        await owner.close()
        await lease.release()
        await client.aclose()
    return found


async def _quiet(state: Any) -> None:
    """Until nothing was left to be merged for a while, what is due later included."""
    seen = _now_ms()
    while _now_ms() - seen < SETTLE_MS:
        await asyncio.sleep(0.1)
        if state.has_more(_now_ms()):
            seen = _now_ms()


async def _renew(lease: Any) -> None:
    while True:
        await asyncio.sleep(2)
        assert await lease.renew()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
