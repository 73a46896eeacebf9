"""Offsets in ZooKeeper, as consumers before 0.8.2 kept them: OffsetCommit and OffsetFetch version 0 still do (spec Z7).

`/consumers/<group>/offsets/<topic>/<partition>` holds the offset in decimal digits.
"""

from __future__ import annotations

from broker_core.coordination.store import NodeExists, NoNode, Store
from broker_core.errors import CorruptData, ErrorCode, KafkaError
from broker_core.model import TopicPartition

CONSUMERS = "/consumers"


def offset_path(group_id: str, tp: TopicPartition) -> str:
    """INVALID_GROUP_ID for an id that cannot be a single znode's name."""
    if group_id in ("", ".", "..", "zookeeper") or any(c == "/" or not c.isprintable() for c in group_id):
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, f"group id {group_id[:80]!r} cannot be a znode's name")
    return f"{CONSUMERS}/{group_id}/offsets/{tp.topic}/{tp.partition}"


async def read_offset(store: Store, group_id: str, tp: TopicPartition) -> int | None:
    """The committed offset, or None. Raises `CorruptData` for a znode without a number."""
    path = offset_path(group_id, tp)
    try:
        data, _ = await store.get(path)
    except NoNode:
        return None
    try:
        return int(data)
    except ValueError as error:
        raise CorruptData(f"{path} holds {data[:40]!r} instead of an offset") from error


async def write_offset(store: Store, group_id: str, tp: TopicPartition, offset: int) -> None:
    path = offset_path(group_id, tp)
    data = str(offset).encode()
    try:
        await store.set(path, data)
    except NoNode:
        await _create_parents(store, path)
        try:
            await store.create(path, data)
        except NodeExists:
            await store.set(path, data)


async def _create_parents(store: Store, path: str) -> None:
    names = path.split("/")
    for count in range(2, len(names)):
        try:
            await store.create("/".join(names[:count]), b"")
        except NodeExists:
            continue
