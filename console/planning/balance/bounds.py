"""What each broker may carry, and how far a load is from it.

A distance is in shares (what a broker would have if all had the same), weighted so that no step that helps an aim may cost one before it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from console.planning.balance.arrangement import DISK, FIGURES, REPLICAS, Arrangement, Loads
from console.planning.balance.model import FULL_SHARE, WITHIN
from console.planning.model import Aim, Host

WEIGHTS: dict[Aim, float] = {"capacity": 1e6, "replicas": 1e4, "disk": 1e2, "traffic": 1.0}
Numbers = NDArray[np.intp]
OF_FIGURES: tuple[Aim, ...] = ("replicas", "disk", "traffic")
ROUNDING = 1e-9
CAPACITY = len(FIGURES)
"""The column of `distances` behind those of the figures."""


class Bounds:
    """`least` and `most` have a row a broker and a column a figure; `capacity` is infinite where it is not known."""

    def __init__(self, arrangement: Arrangement, homeless: np.ndarray, aims: Collection[Aim]) -> None:
        """`homeless` is the weight of the replicas that have no broker yet."""
        takes = arrangement.takes
        total = arrangement.load[takes].sum(axis=0) + homeless
        parts = np.zeros((len(takes), len(FIGURES)))
        parts[takes] = 1 / max(1, takes.sum())
        parts[takes, DISK] = _disk_parts(arrangement)
        self.share = np.maximum(total / max(1, takes.sum()), 1e-9)
        shares = parts * total
        self.most, self.least = shares * WITHIN, shares / WITHIN
        self.least[:, REPLICAS], self.most[:, REPLICAS] = whole_bounds(shares[:, REPLICAS])
        self.capacity = np.array([room_of(node) for node in arrangement.nodes])
        self.weights = np.array([WEIGHTS[aim] if aim in aims else 0.0 for aim in (*OF_FIGURES, "capacity")])
        self.takes = takes

    def distances(self, load: Loads, brokers: Numbers | slice | int = slice(None)) -> Loads:
        """By figure, and of the capacity, how far loads of these brokers are outside, in shares; brokers that take nothing have none."""
        outside = np.maximum(load - self.most[brokers], 0) + np.maximum(self.least[brokers] - load, 0)
        over = np.maximum(load[..., DISK] - self.capacity[brokers], 0)
        found = np.concatenate([outside / self.share, (over / self.share[DISK])[..., None]], axis=-1)
        counted: Loads = found * np.asarray(self.takes[brokers])[..., None]
        return counted

    def cost(self, load: Loads, brokers: Numbers | slice | int = slice(None)) -> Loads:
        """The weighted distance of each of these brokers."""
        weighted: Loads = self.distances(load, brokers) @ self.weights
        return weighted


def whole_bounds(shares: Loads | float) -> tuple[Loads, Loads]:
    """The least and the most of what is counted in whole ones: a share that is none may be rounded either way."""
    least = np.minimum(np.floor(shares + ROUNDING), np.ceil(shares / WITHIN - ROUNDING))
    most = np.maximum(np.ceil(shares - ROUNDING), np.floor(shares * WITHIN + ROUNDING))
    return least, most


def room_of(node: Host) -> float:
    """How many bytes of logs it may have: those that it has, and what is free beyond what stays free. Infinite where that is not known."""
    if node.disk_bytes is None:
        return float("inf")
    if node.free_bytes is None or node.log_bytes is None:
        return FULL_SHARE * node.disk_bytes
    return max(0.0, node.log_bytes + node.free_bytes - (1 - FULL_SHARE) * node.disk_bytes)


def _disk_parts(arrangement: Arrangement) -> np.ndarray:
    """In proportion to the disks where all are known: a larger one takes more."""
    disks = [node.disk_bytes for node, takes in zip(arrangement.nodes, arrangement.takes, strict=True) if takes]
    known = [disk for disk in disks if disk]
    if len(known) < len(disks):
        return np.full(len(disks), 1 / max(1, len(disks)))
    return np.array(known) / sum(known)
