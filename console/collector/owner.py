"""The owner of the live state of a cluster that is asked: holds its lease, runs the rounds, writes what comes of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import redis

from broker_core.contract.live import Kind
from console.clock import now_ms
from console.collector.asking import Asking
from console.collector.pace import EVERY_MS
from console.gateway.asked_cluster import AskedCluster
from console.gateway.connection import Connection
from console.live.merging.asked_state import AskedState
from console.live.merging.questions import Questions
from console.live.owner.lease import Lease, until_lost
from console.live.owner.owner import LiveOwner
from console.live.owner.predecessor import kept_rhythms
from console.live.owner.publisher import Publisher
from console.snapshot import keys
from console.snapshot.connect import async_client

log = logging.getLogger(__name__)
LISTEN_AGAIN_S = 1.0


async def collect(every_ms: Mapping[Kind, int], cluster_id: str, connection: Connection) -> None:
    """Until cancelled; waits where another process owns the cluster. `every_ms` is how often each kind is asked for at best."""
    client = async_client()
    lease = Lease(client, cluster_id)
    try:
        while True:
            await lease.wait()
            log.info("collecting %s", cluster_id)
            rhythms = await kept_rhythms(client, cluster_id, now_ms())
            state = AskedState(cluster_id, Questions(every_ms, now_ms()), rhythms)
            await _own(state, lease, connection, every_ms, is_new=not await _is_kept(client, cluster_id))
            log.warning("the lease of %s is lost", cluster_id)
    finally:
        try:
            await lease.release()
        except (redis.RedisError, OSError):
            log.info("the lease of %s ends by itself", cluster_id)
        await client.aclose()


async def _is_kept(client: redis.asyncio.Redis, cluster_id: str) -> bool:
    """Whether the snapshot has what an owner before knew: it stays, as what was last known, until the cluster answers."""
    try:
        return bool(await client.exists(keys.named(cluster_id, "beat")))
    except (redis.RedisError, OSError):
        return True


async def _listen(cluster_id: str, asking: Asking) -> None:
    """What is wanted at once: a channel's messages are a kind, and whose."""
    while True:
        client = async_client(timeout_s=None)
        try:
            async with client.pubsub(ignore_subscribe_messages=True) as channel:
                await channel.subscribe(keys.named(cluster_id, "ask"))
                async for message in channel.listen():
                    kind, _, topic = message["data"].partition(" ")
                    if kind in EVERY_MS:
                        asking.hurry(kind, topic)
        except (redis.RedisError, OSError) as error:
            log.info("nobody can hurry the collector of %s: %s", cluster_id, error)
        finally:
            await client.aclose()
        await asyncio.sleep(LISTEN_AGAIN_S)


async def _own(state: AskedState, lease: Lease, connection: Connection, every_ms: Mapping[Kind, int], *, is_new: bool) -> None:
    owner = LiveOwner(state.cluster_id, Publisher(state, lease), state)

    def told() -> None:
        if is_new or state.questions.last_ms("metadata") is not None:
            owner.is_loaded.set()
        owner.poke()

    asking = Asking(AskedCluster(connection), state, every_ms, told)
    work = [
        lease.keep(),
        asking.run(),
        _listen(state.cluster_id, asking),
        owner.run_ticks(),
        owner.publisher.run(),
        owner.publisher.run_events(),
        owner.publisher.run_comparisons(),
        owner.run_points(),
    ]
    try:
        await until_lost(work)
    finally:
        await owner.close()
        await asyncio.to_thread(asking.close)
