"""What rounding and matching left outside the bounds is mended by single moves and swaps, and what need not have moved is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from console.planning.balance.arrangement import DISK, FIGURES, Arrangement
from console.planning.balance.bounds import Bounds

LOOKED_AT = 48
"""Replicas of a broker that are tried at a time."""
TARGETS = 64
PARTNERS, PARTNERS_LEAST = 16, 4
PARTNERS_IN_ALL = 800
"""Other brokers that are tried for each: fewer where there are many, of which some fit better anyway."""
TRIED_MOVES = 16
STEPS_PER_BROKER = 40
LEAST_GAIN = 1e-7


class Polish:
    """`origins[p]` are the brokers that have the partition before the plan: to go back there costs nothing."""

    def __init__(self, arrangement: Arrangement, bounds: Bounds, origins: Sequence[Sequence[int]], fixed: Iterable[int] = ()) -> None:
        self._arrangement, self._bounds = arrangement, bounds
        self._origins = [frozenset(each) for each in origins]
        self._fixed = set(fixed)
        self._on: list[set[int]] = [set() for _ in arrangement.nodes]
        for partition, hosts in enumerate(arrangement.hosts):
            if partition not in self._fixed:
                for broker in hosts:
                    self._on[broker].add(partition)
        self._partners = max(PARTNERS_LEAST, min(PARTNERS, PARTNERS_IN_ALL // len(arrangement.nodes)))
        sizes = arrangement.weight[:, DISK]
        self._mean_size = float(sizes.mean()) + 1.0 if len(sizes) else 1.0

    def run(self) -> None:
        self._mend()
        self._take_back()

    def _mend(self) -> None:
        """The broker that is furthest outside first, until no step helps any of them."""
        arrangement, bounds = self._arrangement, self._bounds
        stuck: set[int] = set()
        for _ in range(STEPS_PER_BROKER * len(arrangement.nodes)):
            costs = bounds.cost(arrangement.load)
            costs[list(stuck)] = 0
            worst = int(costs.argmax())
            if costs[worst] <= LEAST_GAIN:
                return
            if self._relieved(worst):
                stuck.clear()
            else:
                stuck.add(worst)

    def _relieved(self, broker: int) -> bool:
        arrangement, bounds = self._arrangement, self._bounds
        figure = self._outside(broker)
        if arrangement.load[broker, figure] > bounds.most[broker, figure] or arrangement.load[broker, DISK] > bounds.capacity[broker]:
            return self._sends(broker, figure, self._lightest(figure)) or self._swaps(broker, figure)
        donors = [int(donor) for donor in np.argsort(-arrangement.load[:, figure], kind="stable") if donor != broker][: self._partners]
        return any(self._sends(donor, figure, np.array([broker])) for donor in donors) or self._swaps(broker, figure)

    def _lightest(self, figure: int) -> np.ndarray:
        """Those brokers that carry the least of it, as many as are tried at a time."""
        takes = np.flatnonzero(self._arrangement.takes)
        return takes[np.argsort(self._arrangement.load[takes, figure], kind="stable")[:TARGETS]]

    def _outside(self, broker: int) -> int:
        distances = self._bounds.distances(self._arrangement.load[broker], broker) * self._bounds.weights
        worst = int(distances.argmax())
        return DISK if worst == len(FIGURES) else worst

    def _sends(self, source: int, figure: int, targets: np.ndarray) -> bool:
        """The move that gains the most for what it copies."""
        arrangement, bounds = self._arrangement, self._bounds
        tried = self._tried(source, figure)
        if not tried:
            return False
        weights, loads = arrangement.weight[tried], arrangement.load[targets]
        left = bounds.cost(arrangement.load[source] - weights, np.full(len(tried), source))
        rises = bounds.cost(loads + weights[:, None, :], targets) - bounds.cost(loads, targets)
        gains = float(bounds.cost(arrangement.load[source], source)) - left[:, None] - rises
        worths = np.where(gains > LEAST_GAIN, gains, 0) / self._copied(tried, targets)
        for place in np.argsort(-worths, axis=None, kind="stable")[:TRIED_MOVES]:
            partition, target = tried[place // len(targets)], int(targets[place % len(targets)])
            if worths.flat[place] > 0 and arrangement.fits(partition, source, target):
                self._move(partition, source, target)
                return True
        return False

    def _swaps(self, broker: int, figure: int) -> bool:
        """One replica of the broker for one of another that is far on the other side: where a figure has to stay as it is."""
        arrangement, bounds = self._arrangement, self._bounds
        order = np.argsort(arrangement.load[:, figure], kind="stable")
        over = arrangement.load[broker, figure] > bounds.share[figure]
        partners = [int(b) for b in (order if over else order[::-1]) if arrangement.takes[b] and b != broker][: self._partners]
        return any(self._swapped(broker, partner, figure) for partner in partners)

    def _swapped(self, broker: int, partner: int, figure: int) -> bool:
        arrangement, bounds = self._arrangement, self._bounds
        mine, theirs = self._tried(broker, figure), self._tried(partner, figure)
        if not mine or not theirs:
            return False
        shift = arrangement.weight[theirs][None, :, :] - arrangement.weight[mine][:, None, :]
        pair = np.array([broker, partner])
        after = bounds.cost(arrangement.load[broker] + shift, np.full(shift.shape[:2], broker))
        after = after + bounds.cost(arrangement.load[partner] - shift, np.full(shift.shape[:2], partner))
        gains = float(bounds.cost(arrangement.load[pair], pair).sum()) - after
        copied = self._copied(mine, pair[1:]) + self._copied(theirs, pair[:1]).T
        worths = np.where(gains > LEAST_GAIN, gains, 0) / copied
        for place in np.argsort(-worths, axis=None, kind="stable")[:TRIED_MOVES]:
            one, other = mine[place // len(theirs)], theirs[place % len(theirs)]
            if worths.flat[place] > 0 and self._may_swap(one, broker, other, partner):
                self._move(one, broker, partner)
                self._move(other, partner, broker)
                return True
        return False

    def _may_swap(self, one: int, broker: int, other: int, partner: int) -> bool:
        return one != other and self._arrangement.fits(one, broker, partner) and self._arrangement.fits(other, partner, broker)

    def _tried(self, broker: int, figure: int) -> list[int]:
        """Those that weigh about what is too much, and the smallest: a broker may have thousands."""
        arrangement, bounds = self._arrangement, self._bounds
        some = np.fromiter(self._on[broker], dtype=int, count=len(self._on[broker]))
        if not len(some):
            return []
        some.sort()
        wanted = abs(arrangement.load[broker, figure] - bounds.share[figure])
        weights = arrangement.weight[some, figure]
        near = some[np.argsort(np.abs(weights - wanted), kind="stable")[: LOOKED_AT // 2]]
        small = some[np.argsort(arrangement.weight[some, DISK], kind="stable")[: LOOKED_AT // 4]]
        spread = some[np.argsort(weights, kind="stable")][:: max(1, len(some) // (LOOKED_AT // 4))]
        return list(dict.fromkeys(int(p) for p in np.concatenate([near, small, spread])))

    def _copied(self, partitions: Sequence[int], targets: np.ndarray) -> np.ndarray:
        """What the moves cost: their bytes where they do not go home, and a little; a row a partition, a column a target."""
        homes = np.array([[target in self._origins[partition] for target in targets.tolist()] for partition in partitions])
        return np.where(homes, 0, self._arrangement.weight[partitions, DISK][:, None]) + self._mean_size / 10

    def _move(self, partition: int, source: int, target: int) -> None:
        self._arrangement.move(partition, source, target)
        self._on[source].discard(partition)
        self._on[target].add(partition)

    def _take_back(self) -> None:
        """The largest first, again and again, as one that goes home may make room for another."""
        arrangement, bounds = self._arrangement, self._bounds
        changed = True
        while changed:
            changed = False
            moved = [p for p, hosts in enumerate(arrangement.hosts) if not self._origins[p].issuperset(hosts)]
            for partition in sorted(moved, key=lambda p: (-arrangement.weight[p, DISK], p)):
                homes = [b for b in self._origins[partition] if b not in arrangement.hosts[partition] and arrangement.takes[b]]
                for new in [b for b in arrangement.hosts[partition] if b not in self._origins[partition]]:
                    home = next((home for home in sorted(homes) if self._costs_nothing(partition, new, home, bounds)), None)
                    if home is not None:
                        homes.remove(home)
                        self._move(partition, new, home)
                        changed = True

    def _costs_nothing(self, partition: int, new: int, home: int, bounds: Bounds) -> bool:
        arrangement = self._arrangement
        if not arrangement.fits(partition, new, home):
            return False
        pair, weight = np.array([new, home]), arrangement.weight[partition]
        then = arrangement.load[pair] + np.array([-weight, weight])
        return float(bounds.cost(then, pair).sum()) <= float(bounds.cost(arrangement.load[pair], pair).sum()) + LEAST_GAIN / 10
