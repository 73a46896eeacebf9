"""Who has what while a plan is made: brokers by number, their loads, and what a replica's move would change.

Loads are rows of `load`, by the figures of `FIGURES`; partitions that may not be moved are in them and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from console.planning.model import Goal, Host, Standing

Loads = NDArray[np.float64]
"""A row a broker."""
FIGURES = ("replicas", "disk", "traffic")
REPLICAS, DISK, TRAFFIC = range(3)


class Arrangement:
    """`hosts[p]` are the brokers that have partition `p`, by number, the preferred leader first."""

    def __init__(self, nodes: Sequence[Host], copies: Sequence[Standing], goal: Goal) -> None:
        named = {broker for copy in copies for broker in copy.replicas} - {node.broker_id for node in nodes}
        strangers = [Host(broker_id=broker, rack=None, is_online=False, replicas=0, preferred=0) for broker in named]
        self.nodes = sorted([*nodes, *strangers], key=lambda node: node.broker_id)
        self.number = {node.broker_id: number for number, node in enumerate(self.nodes)}
        self.copies = list(copies)
        self.takes = np.array([node.is_online and _is_meant(node.broker_id, goal) for node in self.nodes], dtype=bool)
        self.racks = _numbered([node.rack for node in self.nodes])
        self.racks_taking = frozenset(rack for rack, takes in zip(self.racks, self.takes, strict=True) if takes)
        self._unused: dict[frozenset[int], frozenset[int]] = {}
        self.has_racks = any(node.rack is not None for node in self.nodes)
        self.weight = np.array([(1.0, copy.size_bytes or 0, copy.bytes_per_s or 0.0) for copy in self.copies]).reshape(-1, len(FIGURES))
        self.hosts = [[self.number[broker] for broker in copy.replicas] for copy in self.copies]
        self._failed = {p: {self.number[b] for b in copy.failed if b in self.number} for p, copy in enumerate(self.copies) if copy.failed}
        self.load = self._loads()

    def _loads(self) -> Loads:
        """What brokers say of themselves, or at least what these partitions weigh there."""
        told = np.array([(node.replicas, node.log_bytes or 0, node.bytes_per_s or 0.0) for node in self.nodes], dtype=float)
        own = np.zeros_like(told)
        for number, hosts in enumerate(self.hosts):
            own[hosts] += self.weight[number]
        loads: Loads = np.maximum(told, own)
        return loads

    def put(self, partition: int, after: Sequence[int]) -> None:
        before = self.hosts[partition]
        for broker in before:
            if broker not in after:
                self.load[broker] -= self.weight[partition]
        for broker in after:
            if broker not in before:
                self.load[broker] += self.weight[partition]
        self.hosts[partition] = list(after)

    def move(self, partition: int, source: int, target: int) -> None:
        self.put(partition, [target if broker == source else broker for broker in self.hosts[partition]])

    def distinct_racks(self, hosts: Iterable[int]) -> int:
        return len({self.racks[broker] for broker in hosts})

    def racks_possible(self, replicas: int) -> int:
        """In how many racks so many replicas can be."""
        return min(replicas, len(self.racks_taking))

    def allowed_racks(self, partition: int, source: int | None) -> frozenset[int] | None:
        """Where the replica on `source`, or one more where it is None, may go so that no rack is lost or missed; None: anywhere."""
        if not self.has_racks:
            return None
        hosts = self.hosts[partition]
        used = frozenset(self.racks[broker] for broker in hosts if broker != source)
        replicas = len(hosts) + (source is None)
        wanted = min(self.racks_possible(replicas), len(used) + 1 if source is None else self.distinct_racks(hosts))
        if len(used) >= wanted:
            return None
        return self._unused.setdefault(used, self.racks_taking - used)

    def may_have(self, partition: int, target: int) -> bool:
        """Whether the broker takes one, has none yet, and has no folder offline with an old one."""
        return bool(self.takes[target]) and target not in self.hosts[partition] and target not in self._failed.get(partition, ())

    def fits(self, partition: int, source: int | None, target: int) -> bool:
        if not self.may_have(partition, target):
            return False
        allowed = self.allowed_racks(partition, source)
        return allowed is None or self.racks[target] in allowed


def _is_meant(broker: int, goal: Goal) -> bool:
    return broker not in goal.away and (not goal.to or broker in goal.to)


def _numbered(racks: Sequence[str | None]) -> list[int]:
    """One number a rack; a broker that names none is a rack of its own."""
    known: dict[str, int] = {}
    return [known.setdefault(f"rack {rack}" if rack is not None else f"broker {place}", len(known)) for place, rack in enumerate(racks)]
