"""Which replicas go where, by the flow's figures for their kinds.

The flow knows neither that a broker has one replica of a partition at most nor, with many racks, where they are; what cannot be placed as
it says goes where it makes the least of a difference, or stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from console.planning.balance.arrangement import DISK, Arrangement
from console.planning.balance.bounds import Bounds
from console.planning.balance.flow import Flow
from console.planning.balance.kinds import Kinds
from console.planning.balance.needs import Homeless


def match(arrangement: Arrangement, kinds: Kinds, wanted: Flow, bounds: Bounds) -> list[Homeless]:
    """Carries it out; those homeless that no broker can take."""
    unplaced: list[Homeless] = []
    rooms = [_Rooms(into) for into in wanted.into]
    for homeless, room in zip(kinds.homeless, rooms, strict=True):
        for one in homeless:
            target = room.taken(arrangement, one.partition, None)
            if target is None:
                unplaced.append(one)
            else:
                arrangement.put(one.partition, [*arrangement.hosts[one.partition], target])
    for staying, out, room in zip(kinds.staying, wanted.out, rooms, strict=True):
        for broker, count in sorted(out.items()):
            _move_some(arrangement, staying[broker], broker, count, room)
    return [one for one in unplaced if not _placed(arrangement, one, bounds)]


def _move_some(arrangement: Arrangement, partitions: list[int], broker: int, count: int, room: _Rooms) -> None:
    mean = float(arrangement.weight[partitions, DISK].mean())
    for partition in sorted(partitions, key=lambda partition: _order(arrangement, partition, broker, mean)):
        if not count or not room.left:
            return
        target = room.taken(arrangement, partition, broker)
        if target is not None:
            arrangement.move(partition, broker, target)
            count -= 1


def _order(arrangement: Arrangement, partition: int, broker: int, mean: float) -> tuple[float, bool, int]:
    """Those that weigh what the flow took them for, and followers before leaders."""
    return abs(float(arrangement.weight[partition, DISK]) - mean), arrangement.hosts[partition][:1] == [broker], partition


class _Rooms:
    """For how many of a kind each broker has room; those with the most come first, and one after the other."""

    def __init__(self, into: Mapping[int, int]) -> None:
        self.left = dict(into)
        self._order = deque(sorted(into, key=lambda broker: (-into[broker], broker)))
        self._taken: list[tuple[int, int]] = []

    def taken(self, arrangement: Arrangement, partition: int, source: int | None) -> int | None:
        """The broker that the replica is to go to; None where none that has room can have it, nor gets room by another that goes on."""
        target = self._first(arrangement, partition, source)
        if target is None:
            target = self._handed_on(arrangement, partition, source)
        else:
            self._take(target)
        if target is not None:
            self._taken.append((partition, target))
        return target

    def _first(self, arrangement: Arrangement, partition: int, source: int | None) -> int | None:
        return next((target for target in self._order if arrangement.fits(partition, source, target)), None)

    def _handed_on(self, arrangement: Arrangement, partition: int, source: int | None) -> int | None:
        """The place of one that has come already and can go on to where there is room."""
        for number, (other, place) in enumerate(self._taken):
            if arrangement.fits(partition, source, place) and (target := self._first(arrangement, other, place)) is not None:
                arrangement.move(other, place, target)
                self._take(target)
                self._taken[number] = other, target
                return place
        return None

    def _take(self, target: int) -> None:
        self._order.remove(target)
        self.left[target] -= 1
        if self.left[target]:
            self._order.append(target)
        else:
            del self.left[target]


def _placed(arrangement: Arrangement, one: Homeless, bounds: Bounds) -> bool:
    """Where it costs the least, racks kept if that can be."""
    able = [b for b in range(len(arrangement.nodes)) if arrangement.may_have(one.partition, b)]
    brokers = np.array([b for b in able if arrangement.fits(one.partition, None, b)] or able, dtype=int)
    if not len(brokers):
        return False
    loads = arrangement.load[brokers]
    rises = bounds.cost(loads + arrangement.weight[one.partition], brokers) - bounds.cost(loads, brokers)
    best = int(brokers[np.lexsort((brokers, loads[:, 0], rises))[0]])
    arrangement.put(one.partition, [*arrangement.hosts[one.partition], best])
    return True
