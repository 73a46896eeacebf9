"""What the snapshots have of many clusters, at one glance: one round trip for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from broker_core.contract.live import AsOf, Cluster
from console.clock import now_ms
from console.snapshot import keys
from console.snapshot.connect import sync_client
from console.snapshot.encoding import decode
from console.snapshot.freshness import as_of, read_cluster
from console.snapshot.read import SnapshotUnavailable

PARTS = 3


class Glance(NamedTuple):
    """`live` is None where nothing was ever seen; `behind` counts the groups with lag, None while it is not known."""

    live: Cluster | None
    as_of: AsOf
    behind: int | None


def glances(cluster_ids: Sequence[str]) -> list[Glance]:
    """One each, in their order; `SnapshotUnavailable` without Redis."""
    pipe = sync_client().pipeline(transaction=False)
    for cluster_id in cluster_ids:
        pipe.hget(*keys.place(cluster_id, keys.CLUSTER))
        pipe.mget([keys.named(cluster_id, name) for name in ("beat", "oldest", "due")])
        pipe.zcard(keys.named(cluster_id, "groups_behind"))
    try:
        found = pipe.execute()
    except redis.RedisError as error:
        raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
    at_ms = now_ms()
    return [_glance(found[at : at + PARTS], at_ms) for at in range(0, len(found), PARTS)]


def _glance(answers: Sequence[Any], at_ms: int) -> Glance:
    text, beats, behind = answers
    beat_ms, oldest_ms, due_ms = (int(one) if one else None for one in beats)
    written = decode(text, Cluster)
    live = written and read_cluster(written, beat_ms, at_ms)
    return Glance(live, as_of(beat_ms, oldest_ms, at_ms, due_ms), behind if live and live.groups is not None else None)
