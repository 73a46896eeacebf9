"""One znode of a cluster's ZooKeeper, read in a session of its own that lasts no longer. Blocking; nothing is ever written."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from broker_core.coordination.store import NoNode, Stat, Store, StoreError
from broker_core.coordination.zookeeper import ZooKeeperStore
from console.clock import now_ms
from console.gateway.errors import ClusterUnreachable, GatewayError

ANSWER_S = 5.0
SESSION_TIMEOUT_MS = 6_000.0


class Znode(Struct, frozen=True):
    """As it was at `read_at_ms`; `path` is within the cluster's chroot, `children` are sorted by ZooKeeper's names."""

    path: str
    data: bytes
    children: list[str]
    stat: Stat
    read_at_ms: int


def read(hosts: str, path: str) -> Znode | None:
    """None where there is no such znode; `GatewayError` where ZooKeeper does not answer. `hosts` may end with a chroot."""
    servers, _, chroot = hosts.partition("/")
    root = f"/{chroot.strip('/')}" if chroot.strip("/") else ""
    try:
        return asyncio.run(_read(servers, root, path))
    except (StoreError, OSError, TimeoutError) as error:
        raise ClusterUnreachable(f"ZooKeeper at {servers} did not answer within {ANSWER_S:.0f} s") from error
    except ValueError as error:
        raise GatewayError("INVALID_REQUEST", f"ZooKeeper has no such path: {error}") from error


async def _read(servers: str, root: str, path: str) -> Znode | None:
    # The root is put before the path, not left to the client: that would make a chroot that is missing.
    store: Store = ZooKeeperStore(servers, SESSION_TIMEOUT_MS)
    try:
        async with asyncio.timeout(ANSWER_S):
            await store.connect(ANSWER_S * 1_000)
            full = (root + path).rstrip("/") or "/"
            try:
                data, stat = await store.get(full)
                children = await store.children(full)
            except NoNode:
                return None
        return Znode(path, data, children, stat, now_ms())
    finally:
        await store.close()
