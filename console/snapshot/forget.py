"""What is kept of a cluster, deleted: nothing of it may be shown of another that takes its id."""

from __future__ import annotations

from itertools import islice

import redis

from console.snapshot import keys
from console.snapshot.connect import sync_client
from console.snapshot.read import SnapshotUnavailable

BATCH = 500


def forget(cluster_id: str) -> None:
    """`SnapshotUnavailable` without Redis."""
    client = sync_client()
    try:
        found = client.scan_iter(keys.prefix(cluster_id) + "*", count=BATCH)
        while batch := list(islice(found, BATCH)):
            client.unlink(*batch)
    except redis.RedisError as error:
        raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
