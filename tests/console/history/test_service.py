"""The recorder on a real Redis: it hears what browsers hear, and lays a moment out so that pages read it as the live state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from broker_core.contract.live import Point
from console.live.history.layout import MOMENTS_LIMIT
from console.live.history.service import History, only_one
from console.live.merging.state import ClusterState
from console.live.owner.cancelling import end_all
from console.snapshot import keys, moments, write
from console.snapshot.connect import async_client
from console.snapshot.encoding import encode
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS


class World:
    """A recorder of `local`, and the state that its owner would write."""

    def __init__(self, history: History, redis: Any, state: ClusterState) -> None:
        self.history, self.redis, self.state = history, redis, state

    async def write(self) -> int:
        """What changed, and a beat; returns a time by which it is recorded."""
        now = time.time_ns() // 1_000_000
        pipe = self.redis.pipeline(transaction=True)
        write.put(pipe, "local", self.state.take(now)[0])
        pipe.execute()
        return await self.recorded()

    async def recorded(self) -> int:
        written = time.time_ns() // 1_000_000

        def is_recorded() -> bool:
            self.beat()
            newest = moments.kept("local").newest_ms
            return newest is not None and newest > written + 500

        await until(is_recorded)
        return moments.kept("local").newest_ms or 0

    def beat(self) -> None:
        now = time.time_ns() // 1_000_000
        pipe = self.redis.pipeline(transaction=True)
        write.beat(pipe, "local", now, now)
        pipe.execute()


async def until(seen: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not seen():
            await asyncio.sleep(0.05)


@pytest.fixture
async def world(redis: Any, shown: ClusterState, tmp_path: Path) -> AsyncIterator[World]:
    async def clusters() -> set[str]:
        return {"local"}

    client = async_client()
    history = History(client, tmp_path / "history", 10_000_000, 3_600_000, clusters)
    task = asyncio.create_task(history.run())
    yield World(history, redis, shown)
    await end_all([task])
    await client.aclose()


async def test_a_moment_reads_as_the_live_state_did(world: World) -> None:
    before = await world.recorded()
    world.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, before)
    after = await world.write()
    for at_ms in (before, after):
        reply = await asyncio.to_thread(moments.lay_out, "local", at_ms)
        assert reply.known_ms is not None and at_ms - 5_000 <= reply.known_ms <= at_ms
    then, now, live = (Snapshot(name) for name in (f"local@{before}", f"local@{after}", "local"))
    assert [b.state for b in then.brokers()] == ["online"] * 3
    assert [b.state for b in now.brokers()] == ["online", "online", "offline"] == [b.state for b in live.brokers()]
    assert then.topic_names() == live.topic_names()
    assert then.partitions("orders", 0, 2)[0].high_watermark == live.partitions("orders", 0, 2)[0].high_watermark
    assert then.groups_behind(10) == live.groups_behind(10)
    cluster = then.cluster()
    assert cluster is not None and cluster.brokers_online == 3
    assert not then.as_of().stale


async def test_the_plot_is_that_moments(world: World) -> None:
    def point(at_ms: int) -> str:
        return encode(Point(at_ms=at_ms, produce_bytes_per_s=1.0, fetch_bytes_per_s=2.0, messages_per_s=3.0, under_replicated=0))

    world.redis.lpush("hw:{local}:series", point(1_000))
    before = await world.recorded()
    world.redis.lpush("hw:{local}:series", point(2_000))
    after = await world.recorded()
    for at_ms in (before, after):
        await asyncio.to_thread(moments.lay_out, "local", at_ms)
    assert [[p.at_ms for p in Snapshot(f"local@{at_ms}").series()] for at_ms in (before, after)] == [[1_000], [1_000, 2_000]]


async def test_two_moments_are_compared(world: World) -> None:
    before = await world.recorded()
    world.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, before)
    after = await world.write()
    reply = await asyncio.to_thread(moments.compare, "local", before, after)
    assert reply.differences is not None
    assert reply.differences.rows[0].sentence == "Broker 3 was online and is offline."
    again = await asyncio.to_thread(moments.compare, "local", after, after)
    assert again.differences is not None and again.differences.rows == ()


async def test_figures_over_time_are_had_by_name(world: World) -> None:
    await world.recorded()
    now = time.time_ns() // 1_000_000
    found = (await asyncio.to_thread(moments.tracks, "local", ["broker/1"], now - 60_000, now, 100))[0]
    assert found is not None and len(found.at_ms) >= 1
    live = Snapshot("local").broker(1)
    assert live is not None and found.figures["bytes_in_per_s"][0] == live.bytes_in_per_s


async def test_while_the_owner_is_silent_nothing_is_recorded(world: World) -> None:
    newest = await world.recorded()
    world.redis.set("hw:{local}:beat", newest)
    recorder, _ = world.history.recorders["local"]
    recorder.beat(newest - 60_000, newest - 60_000, newest)
    await recorder._step(newest + 30_000)
    reply = await recorder.lay_out(newest + 30_000)
    assert reply.known_ms is not None and reply.known_ms <= newest + 5_000


async def test_a_reset_is_read_anew(world: World) -> None:
    await world.recorded()
    publish(world.redis, world.state, time.time_ns() // 1_000_000)
    world.redis.hdel("hw:{local}:topics", "clicks")
    pipe = world.redis.pipeline(transaction=True)
    write.announce_reset(pipe, "local")
    pipe.execute()
    at_ms = await world.recorded()
    await asyncio.to_thread(moments.lay_out, "local", at_ms)
    assert Snapshot(f"local@{at_ms}").topic("clicks") is None


async def test_too_early_and_unknown_are_said(world: World) -> None:
    await world.recorded()
    with pytest.raises(moments.NotRecorded, match="Nothing was recorded so long ago"):
        await asyncio.to_thread(moments.lay_out, "local", 1_000)
    with pytest.raises(moments.NotRecorded, match="not recorded"):
        await asyncio.to_thread(moments.lay_out, "other", 1_000)


async def test_only_so_many_moments_are_laid_out(world: World) -> None:
    at_ms = await world.recorded()
    for back in range(MOMENTS_LIMIT + 3):
        await world.history.recorders["local"][0].lay_out(at_ms + back)
    laid_out = {name.partition("}")[0] for name in world.redis.scan_iter(match="hw:{local@*", count=1000)}
    assert len(laid_out) == MOMENTS_LIMIT
    assert f"hw:{{local@{at_ms}" not in laid_out
    assert world.redis.ttl(f"hw:{{local@{at_ms + MOMENTS_LIMIT + 2}}}:topics") > 0


def test_nobody_answers(redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "WAIT_S", moments.WAIT_STEP_S)
    assert moments.kept("local").error == "The recorder does not run"
    redis.set(keys.RECORDER, time.time_ns() // 1_000_000)
    with pytest.raises(moments.HistoryUnavailable, match="did not answer"):
        moments.lay_out("local", 1_000)
    assert redis.llen(moments.QUESTIONS) == 0


def test_one_recorder_a_folder(tmp_path: Path) -> None:
    with only_one(tmp_path) as first, only_one(tmp_path) as second:
        assert (first, second) == (True, False)
    with only_one(tmp_path) as third:
        assert third
