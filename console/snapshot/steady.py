"""For how long a cluster's snapshot has been fresh, as far as somebody has asked again and again.

The first look notes when it was; a look that finds the snapshot old forgets that, and so does Redis where nobody looked for a time.
"""

from __future__ import annotations

from typing import Any

import redis

from console.clock import now_ms
from console.snapshot import keys
from console.snapshot.connect import sync_client
from console.snapshot.read import Snapshot, SnapshotUnavailable

FORGOTTEN_MS = 90_000
"""After so long without a look nothing is said of the time between."""


def fresh_for_ms(cluster_id: str) -> int | None:
    """None while it is old, or knows no broker."""
    name = keys.named(cluster_id, "fresh_since")
    client: Any = sync_client()
    try:
        snapshot = Snapshot(cluster_id)
        if not snapshot.is_kept() or not snapshot.brokers():
            client.delete(name)
            return None
        client.set(name, now_ms(), nx=True)
        client.pexpire(name, FORGOTTEN_MS)
        since = client.get(name)
    except redis.RedisError as error:
        raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
    return None if since is None else max(now_ms() - int(since), 0)
