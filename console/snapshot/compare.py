"""Whether the snapshot has what its owner wrote: the names in it, read a piece at a time, against those that should be there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from console.snapshot import keys, sorting
from console.snapshot.placed import PLACED, place_of
from console.snapshot.sorting import Kind

HASHES_PER_READ = 100
INDEXES: dict[str, Callable[[str], str]] = {
    **{"topic_names": keys.topic, "trouble_topics": keys.topic, "trouble": "partition/{}".format},
    **{"group_names": keys.group, "groups_behind": keys.group},
}
"""Sorted sets of names, and the keys of what they name."""

KINDS: dict[Kind, Callable[[str], str]] = {"topic": keys.topic, "group": keys.group}


async def differences(client: Any, cluster_id: str, known: Collection[str]) -> tuple[set[str], set[str]]:
    """(keys that are missing, keys that nobody knows)."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for key in known:
        name, field = keys.place(cluster_id, key)
        wanted[name].add(field)
    names = sorted({name async for name in client.scan_iter(match=f"{keys.prefix(cluster_id)}*", count=1000)} | wanted.keys())
    hashes = [name for name in names if keys.key_at(cluster_id, name, "0") is not None]
    missing: set[str] = set()
    extra: set[str] = set()
    for start in range(0, len(hashes), HASHES_PER_READ):
        piece = hashes[start : start + HASHES_PER_READ]
        for name, fields in zip(piece, await _fields(client, piece), strict=True):
            missing |= _keys(cluster_id, name, wanted[name] - fields)
            extra |= _keys(cluster_id, name, fields - wanted[name])
    uneven = await _uneven(client, cluster_id, known)
    uneven |= await _misplaced(client, cluster_id, known)
    return missing | (uneven & set(known)), extra | (uneven - set(known)) | await _unknown_names(client, cluster_id, known)


async def _fields(client: Any, names: Iterable[str]) -> list[set[str]]:
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.hkeys(name)
    return [set(fields) for fields in await pipe.execute()]


async def _unknown_names(client: Any, cluster_id: str, known: Collection[str]) -> set[str]:
    """What only an index still names."""
    found: set[str] = set()
    for index, key in INDEXES.items():
        found |= {key(name) for name in await client.zrange(keys.named(cluster_id, index), 0, -1)}
    return found - set(known)


async def _uneven(client: Any, cluster_id: str, known: Collection[str]) -> set[str]:
    """Of the indexes that name every topic or group those that name other ones: what is written anew mends them."""
    found: set[str] = set()
    for kind, key in KINDS.items():
        names = {key_at for key_at in known if key_at.startswith(f"{kind}/")}
        for index in sorting.indexes(kind):
            name = keys.named(cluster_id, index)
            if await client.zcard(name) != len(names):
                found |= names ^ {key(member) for member in await client.zrange(name, 0, -1)}
    return found


async def _misplaced(client: Any, cluster_id: str, known: Collection[str]) -> set[str]:
    """Partitions that are placed on brokers and nobody knows, or the other way round."""
    placed = {place_of(member).key for member in await client.hkeys(keys.named(cluster_id, PLACED))}
    return placed ^ {key for key in known if key.startswith("partition/")}


def _keys(cluster_id: str, name: str, fields: Iterable[str]) -> set[str]:
    return {key for field in fields if (key := keys.key_at(cluster_id, name, field)) is not None}
