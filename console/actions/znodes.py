"""A look at a znode of a cluster."""

from __future__ import annotations

from msgspec import Struct

from console.errors import Invalid
from console.gateway import znodes
from console.models import Cluster
from console.queries import NotFound
from console.rules.znodes import check_path, shown


class Znode(Struct, frozen=True):
    """`text` is what it holds without secrets, `note` what of it is not shown; times in ms since 1970."""

    path: str
    text: str
    note: str
    size: int
    version: int
    is_ephemeral: bool
    created_ms: int
    changed_ms: int
    children: list[str]
    read_at_ms: int


def look(cluster: Cluster, path: str) -> Znode:
    """`NotFound` where there is none; `Invalid` where no ZooKeeper of the cluster is known; `GatewayError` where it does not answer."""
    path = check_path(path)
    if not cluster.zookeeper:
        raise Invalid("path", f"No ZooKeeper of {cluster.name} is known: it has none, or none was given when it was registered.")
    found = znodes.read(cluster.zookeeper, path)
    if found is None:
        raise NotFound(f"There is no znode {path}.")
    held, stat = shown(path, found.data), found.stat
    return Znode(
        path,
        held.text,
        held.note,
        len(found.data),
        stat.version,
        bool(stat.ephemeral_owner),
        stat.ctime_ms,
        stat.mtime_ms,
        found.children,
        found.read_at_ms,
    )
