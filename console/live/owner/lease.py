"""One owner per cluster: a lease in Redis that is renewed while its holder works, and checked in each transaction it writes.

A holder that stood still longer than the lease lasts has a successor and does not know it: without the check it would write old
values over the successor's. A Redis that came back empty has forgotten the lease together with the snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

import redis

from console.live.owner.cancelling import end_all
from console.live.owner.lease_holder import is_dead, mark
from console.snapshot import keys

log = logging.getLogger(__name__)
TTL_MS = 5_000
RENEW_S = 1.0
TAKE_S = 1.0
"""Between two tries to have the lease; that of an owner which is known to be dead is taken at the first."""
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
INHERIT = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 else return 0 end"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class LeaseLost(Exception):
    """Somebody else owns the cluster: what this process knows is old."""


class LeaseForgotten(Exception):
    """Nobody owns the cluster: the lease ran out, or Redis lost it. It may be had again; the snapshot may be gone."""


class Lease:
    def __init__(self, client: Any, cluster_id: str) -> None:
        self._redis, self._key = client, keys.named(cluster_id, "lease")
        self._owner = mark()

    async def take(self) -> bool:
        """True when the lease is now ours; False while another holds it that may live."""
        if await self._redis.set(self._key, self._owner, nx=True, px=TTL_MS):
            return True
        held = await self._redis.get(self._key)
        return held is not None and is_dead(held) and bool(await self._redis.eval(INHERIT, 1, self._key, held, self._owner, TTL_MS))

    async def wait(self) -> None:
        """Until it is ours."""
        while True:
            try:
                if await self.take():
                    return
            except (redis.RedisError, OSError) as error:
                log.warning("Redis is not there: %s", error)
            await asyncio.sleep(TAKE_S)

    async def keep(self) -> None:
        """Renews it until it is lost."""
        while await self.renew():  # noqa: ASYNC110 (the lease is Redis's, nothing here can signal its loss)
            await asyncio.sleep(RENEW_S)

    async def transaction(self, pipe: Any) -> None:
        """Makes what is queued on the pipe from now on take effect only while the lease is ours: else `execute` raises `WatchError`.

        `LeaseLost` or `LeaseForgotten` where it is not ours now.
        """
        await pipe.watch(self._key)
        held = await pipe.get(self._key)
        if held != self._owner:
            await pipe.reset()
            raise LeaseForgotten if held is None else LeaseLost
        pipe.multi()

    async def renew(self) -> bool:
        """False when it is lost: somebody else owns the cluster, or Redis forgot it and it could not be had again.

        A Redis that does not answer is not a loss: nobody else can take the lease from it either.
        """
        try:
            return bool(await self._redis.eval(RENEW, 1, self._key, self._owner, TTL_MS)) or await self.take()
        except (redis.RedisError, OSError):
            return True

    async def release(self) -> None:
        await self._redis.eval(RELEASE, 1, self._key, self._owner)


async def until_lost(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """An owner's tasks, until the lease is lost or one of them ends; what one fails with is raised once all have ended."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    except LeaseLost:
        return
    finally:
        await end_all(tasks)
