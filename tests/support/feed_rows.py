"""Rows of the state feed as brokers of a test tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert

from broker_core.contract import feed


def claim(
    topic: str, partition: int, broker: int, replicas: Sequence[int], *, leader: int, isr: Sequence[int], end: int, **more: Any
) -> feed.Replica:
    """A replica's row of the state feed."""
    row = {
        "topic": topic,
        "partition": partition,
        "role": "leader" if broker == leader else "follower",
        "leader": leader,
        "leader_epoch": 5,
        "isr": list(isr) if broker == leader else None,
        "replicas": list(replicas),
        "high_watermark": end - 10,
        "log_end_offset": end,
        "log_start_offset": 0,
        "size_bytes": 1000,
        "followers": [],
        "truncation": None,
    }
    return convert({**row, **more}, feed.Replica)


ROOM = {"free_bytes": 50 << 30, "total_bytes": 100 << 30, "full_in_s": None}
SAID: dict[str, Any] = {
    **dict.fromkeys(("epoch", "partitions", "leaders", "under_replicated", "log_bytes", "connections"), 0),
    **dict.fromkeys(("messages_in", "produced_bytes", "fetched_bytes", "loop_stalls"), 0),
    **{"controller_id": None, "controller_epoch": None, "is_controller": False, "idle_percent": None},
    **{"log_dir": {"path": "/data", **ROOM}, "purgatory": {"produce": 0, "fetch": 0, "join": 0, "heartbeat": 0}},
    **{"produce_by_acks": {}, "requests": {}},
}
STAGES = {"request_queue": 0, "local": 0, "remote": 0, "response_send": 0, "total": 0}


def requests(count: int, **more: Any) -> dict[str, Any]:
    """What a broker says of one kind of request."""
    return {"count": count, "p50_ms": None, "p99_ms": None, "stages_ms": STAGES, **more}


def says(broker: int, **more: Any) -> feed.Broker:
    """What a broker says of itself."""
    return convert({**SAID, "id": broker, **more}, feed.Broker)


def batch(
    broker: int, partitions: Sequence[feed.Replica], at_ms: int, said: Mapping[str, Any] | None = None, *, full: bool = False, **more: Any
) -> feed.Answer:
    """A batch of the state feed; `said` is what the broker says of itself."""
    cursor, kind = ["w", 1, 0, None], "full" if full else "delta"
    own = says(broker, **(said or {}))
    return convert({"cursor": cursor, "kind": kind, "now_ms": at_ms, "partitions": partitions, "broker": own, **more}, feed.Answer)


def group_claim(
    group: str,
    committed: Mapping[str, Mapping[int, int]],
    generation: int = 1,
    members: int | Sequence[feed.Member] = 1,
    commit_ms: int = 900,
    **more: Any,
) -> feed.Group:
    if isinstance(members, int):
        members = [feed.Member(f"m{i}", "c", "/127.0.0.1", None, {"orders": [i]}) for i in range(members)]
    told = {
        "group": group,
        "state": "Stable" if members else "Empty",
        "protocol_type": "consumer",
        "protocol": "range",
        "generation": generation,
        "members": members,
        "offsets": [feed.Committed(t, p, o, commit_ms) for t, parts in committed.items() for p, o in parts.items()],
    }
    return convert({**told, **more}, feed.Group)
