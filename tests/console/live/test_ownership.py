"""Who may write the snapshot: one owner by its lease, also when one stood still or Redis forgot everything (a real Redis)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broker_core.cli import up
from console.live.merging.state import ClusterState
from console.live.owner import lease
from console.live.owner.lease import RENEW_S, TAKE_S, TTL_MS, Lease, LeaseLost
from console.live.owner.lease_holder import mark
from console.live.owner.owner import TICK_S
from console.live.owner.publisher import LEAST_INTERVAL_S, Publisher
from console.snapshot import keys, write
from console.snapshot.connect import async_client
from tests.support.console_world import BROKERS, add_topic, cluster_state

LEASE, SEQ = keys.named("local", "lease"), keys.named("local", "seq")


class Owner:
    """A publisher with its own lease and state."""

    def __init__(self, client: Any) -> None:
        self.state: ClusterState = cluster_state(1000)
        self.lease = Lease(client, "local")
        self.publisher = Publisher(self.state, self.lease)
        self.running: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        self.running = asyncio.create_task(self.publisher.run())
        self.publisher.poke()
        return self.running


@pytest.fixture
async def owners(redis: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Owner, Owner]]:
    """Nobody renews their leases, which last longer than any test."""
    monkeypatch.setattr(lease, "TTL_MS", 600_000)
    client = async_client()
    made = Owner(client), Owner(client)
    yield made
    for owner in made:
        if owner.running:
            owner.running.cancel()
            await asyncio.gather(owner.running, return_exceptions=True)
        await owner.publisher.close()
    await client.aclose()


async def until(seen: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not seen():
            await asyncio.sleep(0.02)


def brokers_online(redis: Any) -> int | None:
    text = redis.hget(*keys.place("local", "cluster"))
    return json.loads(text)["brokers_online"] if text else None


async def test_one_that_stood_still_writes_nothing_over_its_successor(owners: tuple[Owner, Owner], redis: Any) -> None:
    paused, successor = owners
    assert await paused.lease.take()
    ended = paused.start()
    await until(lambda: paused.publisher._fresh and brokers_online(redis) == 3)
    redis.delete(LEASE)
    assert await successor.lease.take()
    successor.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    successor.start()
    await until(lambda: brokers_online(redis) == 2 and successor.publisher._fresh)
    before = redis.get(SEQ)
    paused.state.tick(3000)
    paused.publisher.poke()
    with pytest.raises(LeaseLost):
        await asyncio.wait_for(ended, 60)
    with pytest.raises(LeaseLost):
        await paused.publisher.beat()
    assert (brokers_online(redis), redis.get(SEQ)) == (2, before)


async def test_the_lease_of_one_that_was_killed_is_not_waited_for(owners: tuple[Owner, Owner], redis: Any) -> None:
    """A child that nobody has waited for yet is dead too; of a process elsewhere, or one that lives, nothing is taken."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        successor, _ = owners
        for held in (mark(child.pid), f"elsewhere/{child.pid}/1/x", "x"):
            redis.set(LEASE, held, px=600_000)
            assert not await successor.lease.take()
        redis.set(LEASE, mark(child.pid), px=600_000)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert await successor.lease.take()
        assert await successor.lease.renew()
        redis.set(LEASE, f"elsewhere/{child.pid}/1/x", px=600_000)
        assert not await successor.lease.take()
    finally:
        child.kill()
        child.wait()


def test_the_designed_waits_until_a_new_owner_is_followed_leave_it_time_to_start() -> None:
    """After kill -9 `up` sees the end at its next look, and starts a new owner at once; that takes the dead one's lease at its first try
    (above), and says that it lives at its next tick after it has written all, which the hub hands on as it comes. The rest of the 5 s is
    for starting Python and reading the cluster. Where nobody can tell whether the holder is dead its lease has to run out."""
    assert up.LOOK_SECONDS + LEAST_INTERVAL_S + TICK_S <= 2.0
    assert RENEW_S * 3 <= TTL_MS / 1000
    assert TTL_MS / 1000 + TAKE_S + LEAST_INTERVAL_S <= 6.5


async def test_a_redis_that_forgot_everything_gets_everything_again(owners: tuple[Owner, Owner], redis: Any) -> None:
    """As after a restart that no connection noticed: readers are told to start over."""
    owner, _ = owners
    assert await owner.lease.take()
    owner.start()
    await until(lambda: owner.publisher._fresh and brokers_online(redis) == 3)
    told = redis.pubsub(ignore_subscribe_messages=True)
    told.subscribe(keys.named("local", "changes"))
    redis.flushdb()
    owner.state.tick(2000)
    owner.publisher.poke()
    await until(lambda: owner.publisher._fresh is False)
    assert await owner.lease.renew()
    await until(lambda: redis.hlen(keys.named("local", "partitions:orders")) == 3)
    await until(lambda: '"reset":true' in str((told.get_message() or {}).get("data")))
    told.close()


async def test_a_lease_renewed_in_the_midst_of_writing_disturbs_nothing(
    owners: tuple[Owner, Owner], redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = owners
    assert await owner.lease.take()
    owner.start()
    await until(lambda: owner.publisher._fresh and brokers_online(redis) == 3)
    begin, renewals = owner.lease.transaction, [1, 1]

    async def renewed(pipe: Any) -> None:
        await begin(pipe)
        if renewals:
            redis.pexpire(LEASE, 600_000 - renewals.pop())

    monkeypatch.setattr(owner.lease, "transaction", renewed)
    owner.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    owner.publisher.poke()
    await until(lambda: brokers_online(redis) == 2)
    assert owner.publisher._fresh
    assert not renewals


async def test_a_large_state_is_written_though_the_lease_is_renewed_all_the_while(
    owners: tuple[Owner, Owner], redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewal touches the watched lease: what is written in one step must be less than what a renewal lets through. And nothing is
    said of being alive before all is written, old things of another owner gone."""
    owner, _ = owners
    add_topic(owner.state, "wide", 3_000, 1000)
    redis.hset(keys.named("local", "topics"), "gone", "{}")
    redis.hset(keys.named("local", "partitions:gone"), "0", "{}")
    redis.zadd(keys.named("local", "topic_names"), {"gone": 0, "gone-long": 0})
    store, stored = write.store, [0]

    def counted(pipe: Any, cluster_id: str, values: Any) -> Any:
        before, stored[0] = stored[0], stored[0] + len(values)
        if before // 2_000 != stored[0] // 2_000:
            redis.pexpire(LEASE, 600_000 - stored[0] // 2_000)
        return store(pipe, cluster_id, values)

    monkeypatch.setattr(write, "store", counted)
    assert await owner.lease.take()
    await owner.publisher.beat()
    assert redis.get(keys.named("local", "beat")) is None
    owner.start()
    await until(lambda: owner.publisher._fresh)
    assert redis.hlen(keys.named("local", "partitions:wide")) == 3_000
    assert stored[0] < 10_000
    assert set(redis.hkeys(keys.named("local", "topics"))) == set(redis.zrange(keys.named("local", "topic_names"), 0, -1))
    assert not redis.exists(keys.named("local", "partitions:gone"))
    await owner.publisher.beat()
    assert int(redis.get(keys.named("local", "beat"))) >= int(redis.get(keys.named("local", "oldest"))) > 0


async def test_a_snapshot_that_names_other_things_is_written_anew_and_that_is_told(owners: tuple[Owner, Owner], redis: Any) -> None:
    owner, _ = owners
    assert await owner.lease.take()
    owner.start()
    await until(lambda: owner.publisher._fresh and not owner.state.has_more(0))
    await owner.publisher.compare()
    assert owner.publisher._fresh
    redis.hdel(keys.named("local", "partitions:orders"), "1")
    redis.hset(keys.named("local", "topics"), "gone", "{}")
    await owner.publisher.compare()
    told = [owner.publisher._events.get_nowait() for _ in range(owner.publisher._events.qsize())]
    assert "the live snapshot named 2 things otherwise than is known: it is written anew." in [e.sentence for e in told]
    await until(lambda: owner.publisher._fresh)
    assert redis.hlen(keys.named("local", "partitions:orders")) == 3
    assert set(redis.hkeys(keys.named("local", "topics"))) == {"orders", "clicks"}
