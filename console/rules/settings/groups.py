"""Which settings stand together in a form. Pure; by name, so that settings of other brokers than ours find their place, too."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """`parts` are parts of names: the first group that has one of a name's is its."""

    name: str
    title: str
    parts: tuple[str, ...]


GROUPS = (
    Group("throttles", "Throttles and quotas", ("throttled", "quota")),
    Group(
        "replication", "Replication and leaders", ("insync", "unclean", "replica", "leader.", "leader_", "election", "controller", "epoch")
    ),
    Group("timestamps", "Timestamps", ("timestamp",)),
    Group("cleaning", "Compaction and cleaning", ("clean", "compact", "delete.retention", "dirty")),
    Group("retention", "Retention", ("retention", "file.delete", "segment.delete", "expiration")),
    Group("compression", "Compression and formats", ("compression", "format", "downconversion", "protocol.version")),
    Group("sizes", "Sizes, segments and flushing", ("segment", ".roll", "index", "flush", "preallocate", "max.message", "message.max")),
    Group("groups", "Consumer groups and offsets", ("group.", "offsets.")),
    Group("transactions", "Transactions and producers", ("transaction", "producer")),
    Group("network", "Connections and threads", ("listener", "socket", "connection", "thread", "queued", "request", "advertised", "host")),
    Group("security", "Security", ("ssl", "sasl", "security", "authorizer", "principal", "delegation", "password")),
    Group("zookeeper", "ZooKeeper", ("zookeeper",)),
    Group("topics", "Topics", ("topic", "num.partitions")),
    Group("tiered", "Tiered storage", ("remote", "local.retention", "log.local")),
    Group("highwater", "This broker’s own limits", ("highwater",)),
)
OTHERS = Group("others", "Others", ("",))
_FIRST = (
    "highwater.",
    "zookeeper.",
    "remote.",
    "local.retention",
    "log.local",
    "ssl.",
    "sasl.",
    "listener.",
    "offsets.",
    "group.",
    "transaction",
)
"""What begins so belongs to one thing, whatever else the name says."""


def group_of(name: str) -> Group:
    """The group that a setting stands in."""
    begins = next((start for start in _FIRST if name.startswith(start)), None)
    if begins is not None:
        return next(group for group in GROUPS if any(begins.startswith(part) or part.startswith(begins) for part in group.parts))
    return next((group for group in GROUPS if any(part in name for part in group.parts)), OTHERS)


ORDER = {group.name: place for place, group in enumerate((*GROUPS, OTHERS))}
SHOWN_FIRST = ("retention", "replication", "cleaning", "sizes", "compression", "timestamps")


def place_of(name: str) -> tuple[int, int]:
    """Where a group stands on the page: what is changed most often comes first."""
    return (SHOWN_FIRST.index(name) if name in SHOWN_FIRST else len(SHOWN_FIRST), ORDER[name])
