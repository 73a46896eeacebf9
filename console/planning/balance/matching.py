"""Which replicas go where, by the flow's figures for their kinds.

The flow knows neither that a broker has one replica of a partition at most nor, with many racks, where they are; what cannot be placed as
it says goes where it makes the least of a difference, or stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from console.planning.balance.arrangement import Arrangement
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
    for partition in sorted(partitions, key=lambda partition: _order(arrangement, partition, broker)):
        if not count or not room.left:
            return
        target = room.taken(arrangement, partition, broker)
        if target is not None:
            arrangement.move(partition, broker, target)
            count -= 1


def _order(arrangement: Arrangement, partition: int, broker: int) -> tuple[bool, float, int]:
    """Followers before leaders, small before large."""
    return arrangement.hosts[partition][:1] == [broker], float(arrangement.weight[partition, 1]), partition


class _Rooms:
    """For how many of a kind each broker has room; those with the most come first, and one after the other."""

    def __init__(self, into: Mapping[int, int]) -> None:
        self.left = dict(into)
        self._order = deque(sorted(into, key=lambda broker: (-into[broker], broker)))

    def taken(self, arrangement: Arrangement, partition: int, source: int | None) -> int | None:
        """The broker that the replica goes to; None where none that has room can have it."""
        for place, target in enumerate(self._order):
            if arrangement.fits(partition, source, target):
                self._take(place, target)
                return target
        return None

    def _take(self, place: int, target: int) -> None:
        del self._order[place]
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
