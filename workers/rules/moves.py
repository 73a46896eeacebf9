"""How far moves of replicas have come. Pure.

Rules for a row that was moving:
1. The controller still lists it: moving.
2. Its replicas are the wanted ones: done.
3. Anything else: failed, somebody took it back or the topic is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def settle(row: Mapping[str, Any], listed: bool, replicas: Sequence[int] | None) -> dict[str, Any]:
    """What of the row changes."""
    if listed:
        return {}
    if replicas is not None and list(replicas) == list(row["to"]):
        return {"state": "done", "done": row.get("total", 0)}
    if replicas is None:
        return {"state": "failed", "message": "the partition is gone"}
    return {"state": "failed", "message": f"its replicas are {list(replicas)}: the move was taken back by somebody else"}


def progress(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int, str]:
    """(done, total, unit): records copied where they are known and there are any, else partitions."""
    total = sum(row.get("total") or 0 for row in rows)
    if total:
        return sum(row.get("done") or 0 for row in rows), total, "records"
    return sum(row["state"] == "done" for row in rows), len(rows), "partitions"
