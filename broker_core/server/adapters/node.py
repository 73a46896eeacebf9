"""Puts the real adapters together."""

from __future__ import annotations

from broker_core.coordination.store import Store
from broker_core.seams import Node
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.disk import RealDisk
from broker_core.server.adapters.entropy import OsEntropy
from broker_core.server.adapters.network import RealNetwork
from broker_core.server.adapters.spawn import RealSpawn


def real_node(store: Store) -> Node:
    """A node on the running loop; its `spawn`, `network` and `disk` are closed by whoever made it."""
    return Node(RealClock(), RealSpawn(), OsEntropy(), RealDisk(), RealNetwork(), store)
