"""Who is preferred of each partition's replicas, so that brokers lead evenly many. Nothing is copied for it.

Leaders go from who has too many to who has too few along chains: where no replica of the first is beside one of the second, a third hands
one of its own on. The shortest chains first, until there is none: then no order of these replicas is more even.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from console.planning.balance.bounds import whole_bounds


def spread(hosts: Sequence[list[int]], fixed: np.ndarray, takes: np.ndarray) -> None:
    """Reorders `hosts` in place; `fixed` are the leaders that each broker has besides. A broker that takes nothing leads nothing."""
    lead = _Leads(hosts, fixed, takes)
    for partition, brokers in enumerate(hosts):
        if brokers and not takes[brokers[0]] and any(takes[b] for b in brokers):
            lead.give(partition, min((b for b in brokers if takes[b]), key=lambda b: (lead.counts[b], b)))
    share = lead.counts[takes].sum() / max(1, takes.sum())
    least, most = whole_bounds(share)
    lead.even(float(most), float(least))


class _Leads:
    def __init__(self, hosts: Sequence[list[int]], fixed: np.ndarray, takes: np.ndarray) -> None:
        self._hosts, self._takes = hosts, takes
        self.counts = fixed.astype(int).copy()
        self._led: list[set[int]] = [set() for _ in takes]
        self._beside: list[set[int]] = [set() for _ in takes]
        for partition, brokers in enumerate(hosts):
            if brokers:
                self.counts[brokers[0]] += 1
                self._led[brokers[0]].add(partition)
            for broker in brokers:
                self._beside[broker].add(partition)

    def give(self, partition: int, broker: int) -> None:
        brokers = self._hosts[partition]
        before = brokers[0]
        brokers.remove(broker)
        brokers.insert(0, broker)
        self._led[before].discard(partition)
        self._led[broker].add(partition)
        self.counts[before] -= 1
        self.counts[broker] += 1

    def even(self, most: float, least: float) -> None:
        for number in np.argsort(-self.counts, kind="stable"):
            broker = int(number)
            while self.counts[broker] > most and self._chain(broker, lambda b: self.counts[b] < most, down=True):
                pass
        for number in np.argsort(self.counts, kind="stable"):
            broker = int(number)
            while self._takes[broker] and self.counts[broker] < least and self._chain(broker, lambda b: self.counts[b] > least, down=False):
                pass

    def _chain(self, start: int, ends: Callable[[int], bool], *, down: bool) -> bool:
        """One leadership less (`down`) or more at `start`, and the other way at the first broker that `ends` a chain."""
        came: dict[int, tuple[int, int]] = {start: (-1, -1)}
        queue = deque([start])
        while queue:
            broker = queue.popleft()
            for partition, other in self._steps(broker, down=down):
                if other in came or not self._takes[other]:
                    continue
                came[other] = broker, partition
                if ends(other):
                    self._carry(came, other, down=down)
                    return True
                queue.append(other)
        return False

    def _steps(self, broker: int, *, down: bool) -> list[tuple[int, int]]:
        if down:
            return [(p, other) for p in sorted(self._led[broker]) for other in self._hosts[p][1:]]
        return [(p, self._hosts[p][0]) for p in sorted(self._beside[broker] - self._led[broker])]

    def _carry(self, came: dict[int, tuple[int, int]], end: int, *, down: bool) -> None:
        broker = end
        while came[broker][0] >= 0:
            before, partition = came[broker]
            self.give(partition, broker if down else before)
            broker = before
