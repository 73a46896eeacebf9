"""Who may write the snapshot: one owner by its lease, also when one stood still or Redis forgot everything (a real Redis)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from console.live.lease import Lease, LeaseLost
from console.live.publisher import Publisher
from console.live.state import ClusterState
from console.snapshot import keys
from console.snapshot.connect import async_client
from tests.support.console_world import BROKERS, cluster_state

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
async def owners(redis: Any) -> AsyncIterator[tuple[Owner, Owner]]:
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
    async with asyncio.timeout(20):
        while not seen():
            await asyncio.sleep(0.02)


def brokers_online(redis: Any) -> int | None:
    text = redis.hget(*keys.place("local", "cluster"))
    return json.loads(text)["brokers_online"] if text else None


async def test_one_that_stood_still_writes_nothing_over_its_successor(owners: tuple[Owner, Owner], redis: Any) -> None:
    paused, successor = owners
    assert await paused.lease.take()
    ended = paused.start()
    await until(lambda: brokers_online(redis) == 3)
    redis.delete(LEASE)
    assert await successor.lease.take()
    successor.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    successor.start()
    await until(lambda: brokers_online(redis) == 2)
    before = redis.get(SEQ)
    paused.state.tick(3000)
    paused.publisher.poke()
    with pytest.raises(LeaseLost):
        await asyncio.wait_for(ended, 20)
    with pytest.raises(LeaseLost):
        await paused.publisher.beat()
    assert (brokers_online(redis), redis.get(SEQ)) == (2, before)


async def test_a_redis_that_forgot_everything_gets_everything_again(owners: tuple[Owner, Owner], redis: Any) -> None:
    """As after a restart that no connection noticed: readers are told to start over."""
    owner, _ = owners
    assert await owner.lease.take()
    owner.start()
    await until(lambda: brokers_online(redis) == 3 and owner.publisher._fresh)
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
    await until(lambda: brokers_online(redis) == 3)
    begin, renewals = owner.lease.transaction, [1, 1]

    async def renewed(pipe: Any) -> None:
        await begin(pipe)
        if renewals:
            redis.pexpire(LEASE, 8_000 - renewals.pop())

    monkeypatch.setattr(owner.lease, "transaction", renewed)
    owner.state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    owner.publisher.poke()
    await until(lambda: brokers_online(redis) == 2)
    assert owner.publisher._fresh
    assert not renewals
