"""What moves of replicas would do, and how far they have come. Pure.

Rules for a row that was moving:
1. The controller still lists it: moving.
2. Its replicas are the wanted ones: done.
3. Anything else: moving still; the broker that was asked may not have heard of the end yet, and one that has much to do hears late.
4. The same for `DOUBT_MS`: failed, somebody took it back or the topic is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from broker_core.contract.partitions import Partition
from console.rules.copy_pace import left_s, per_s
from console.rules.partitions import brokers
from console.rules.words import counted, whole

DOUBT_MS = 30_000


def settle(row: Mapping[str, Any], listed: bool, replicas: Sequence[int] | None, now_ms: int) -> dict[str, Any]:
    """What of the row changes."""
    if listed:
        return {"doubted_ms": None} if row.get("doubted_ms") else {}
    if replicas is not None and list(replicas) == list(row["to"]):
        sizes = {"bytes": row["bytes_total"]} if "bytes_total" in row else {}
        return {"state": "done", "done": row.get("total", 0), **sizes}
    since_ms = row.get("doubted_ms")
    if since_ms is None or now_ms < since_ms:
        return {"doubted_ms": now_ms}
    if now_ms - since_ms < DOUBT_MS:
        return {}
    if replicas is None:
        return {"state": "failed", "message": "the partition is gone"}
    return {"state": "failed", "message": f"its replicas are {list(replicas)}: the move was taken back by somebody else"}


def progress(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int, str]:
    """(done, total, unit): records copied where they are known and there are any, else partitions."""
    total = sum(row.get("total") or 0 for row in rows)
    if total:
        return sum(row.get("done") or 0 for row in rows), total, "records"
    return sum(row["state"] == "done" for row in rows), len(rows), "partitions"


def copied(row: Mapping[str, Any], value: Partition) -> dict[str, Any]:
    """Of a row that moves `{bytes, bytes_total, by_size}`: by the sizes of the new copies, else by the share of records that they have;
    what is not known is left out."""
    added = [b for b in row["to"] if b not in row["from"]]
    if value.size_bytes is None:
        return {}
    total = value.size_bytes * len(added)
    sizes = {one.broker_id: one.size_bytes for one in value.replicas}
    known = [size for broker in added if (size := sizes.get(broker)) is not None]
    if added and len(known) == len(added):
        return {"bytes": sum(min(size, value.size_bytes) for size in known), "bytes_total": total, "by_size": True}
    if row.get("total"):
        return {"bytes": total * min(row["done"], row["total"]) // row["total"], "bytes_total": total, "by_size": False}
    return {"bytes_total": total}


def copy_figures(rows: Sequence[Mapping[str, Any]], samples: Sequence[Sequence[int]], now_ms: int) -> dict[str, Any]:
    """Of a job's rows together: `{bytes, total, by_size, per_s, left_s}`; None where it is not known, the total where one row's is not."""
    copying = [row for row in rows if row["state"] in ("waiting", "moving", "done")]
    done = sum(row.get("bytes", 0) for row in copying)
    total = sum(row["bytes_total"] for row in copying) if copying and all("bytes_total" in row for row in copying) else None
    is_known = any("bytes" in row for row in copying)
    return {
        "bytes": done if is_known else None,
        "total": total,
        "by_size": all(row.get("by_size", True) for row in copying),
        "per_s": per_s(samples, now_ms),
        "left_s": left_s(samples, done, total, now_ms) if is_known else None,
    }


def planned(now: Partition, wanted: Sequence[int]) -> dict[str, Any]:
    """What giving a partition these replicas means. Sizes are bytes, None where they are not known."""
    before = list(now.assignment)
    added = [b for b in wanted if b not in before]
    size = now.size_bytes
    return {
        "topic": now.topic,
        "partition": now.partition,
        "from": before,
        "to": list(wanted),
        "adding": added,
        "removing": [b for b in before if b not in wanted],
        "leader": now.leader,
        "leader_then": now.leader if now.leader in wanted else wanted[0],
        "copy_bytes": None if size is None else size * len(added),
        "thinner": len(wanted) < len(before),
    }


def plan_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """All of a plan in words: how much moves, who has to copy, whose leader changes, what gets less safe."""
    moving = [row for row in rows if row["from"] != row["to"]]
    if not moving:
        return "Nothing would change: every partition has these brokers in this order already."
    copying = sorted({b for row in moving for b in row["adding"]})
    led = sum(row["leader"] != row["leader_then"] for row in moving)
    thinner = sum(row["thinner"] for row in moving)
    said = [f"{counted(len(moving), 'partition')} of {whole(len(rows))} would change."]
    who = brokers(copying)
    said.append(f"{who[0].upper()}{who[1:]} would copy records." if copying else "No record has to be copied.")
    if led:
        said.append(f"{counted(led, 'leader')} would move to another broker: clients notice a short pause.")
    if thinner:
        said.append(f"{counted(thinner, 'partition')} would have fewer replicas than now, and survive fewer losses.")
    return " ".join(said)
