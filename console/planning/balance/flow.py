"""How many replicas of each kind leave and reach each broker, so that all are within their bounds and the fewest bytes are copied.

A linear program, solved by HiGHS. Its variables: `out[kind, broker]`, `into[kind, broker]`, and per broker and figure how far it stays
outside of its bounds, which costs far more than copying everything would. It knows brokers and kinds, not partitions, so its size hangs
on the number of brokers. Its figures are rounded to whole replicas, kind by kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import highspy
import numpy as np

from console.planning.balance.arrangement import DISK, REPLICAS, TRAFFIC, Arrangement
from console.planning.balance.bounds import CAPACITY, Bounds
from console.planning.balance.kinds import Kinds

OUTSIDE = np.array([1e3, 1e2, 1e1, 1e4])
"""Costs of a share outside, by figure and of the capacity, where all bytes together cost 1."""
MOVE = 1e-4
"""What any move costs besides its bytes, over all replicas together: none is made for nothing."""
PARTED_MOST = 5_000
"""Partitions times brokers, up to which it also knows that no broker has two replicas of one."""
WHOLE_MOST = 2_000
"""Up to so many variables all are asked for in whole numbers."""
GAP = 0.01
NODES_MOST = 1_000


class Flow(NamedTuple):
    """By kind and broker, in whole replicas; what comes is what goes and the homeless."""

    out: list[dict[int, int]]
    into: list[dict[int, int]]


def flow(arrangement: Arrangement, kinds: Kinds, bounds: Bounds) -> Flow:
    program = _Program(arrangement, kinds, bounds)
    values = program.solved()
    out: list[dict[int, int]] = [{} for _ in kinds.racks]
    into: list[dict[int, int]] = [{} for _ in kinds.racks]
    for kind in range(len(kinds.racks)):
        leaving, coming = program.outs[kind], program.intos[kind]
        moved = round(sum(values[column] for _, column in leaving))
        out[kind] = _whole([(b, values[column]) for b, column in leaving], moved)
        into[kind] = _whole([(b, values[column]) for b, column in coming], moved + len(kinds.homeless[kind]))
    return Flow(out, into)


def _whole(parts: list[tuple[int, float]], total: int) -> dict[int, int]:
    """Rounded so that they are `total` together: those with the largest rests get one more."""
    found = {broker: int(part + 1e-6) for broker, part in parts}
    rests = sorted(parts, key=lambda each: (-(each[1] - int(each[1] + 1e-6)), each[0]))
    for broker, _ in rests[: max(0, total - sum(found.values()))]:
        found[broker] += 1
    return {broker: count for broker, count in found.items() if count}


class _Program:
    """`outs[kind]` and `intos[kind]` are (broker, column)."""

    def __init__(self, arrangement: Arrangement, kinds: Kinds, bounds: Bounds) -> None:
        self._arrangement, self._kinds, self._bounds = arrangement, kinds, bounds
        self.outs: list[list[tuple[int, int]]] = []
        self.intos: list[list[tuple[int, int]]] = []
        self._cost: list[float] = []
        self._upper: list[float] = []
        self._lower_rows: list[float] = []
        self._upper_rows: list[float] = []
        self._entries: list[tuple[int, int, float]] = []
        self._takes = [int(broker) for broker in np.flatnonzero(arrangement.takes)]
        for homeless in kinds.homeless:
            self._row(-float(len(homeless)), -float(len(homeless)))
        self._row_of = {broker: self._figure_rows(broker) for broker in self._takes}
        for kind in range(len(kinds.racks)):
            self._flows(kind)
        self._flows_end = len(self._cost)
        if len(arrangement.copies) * len(self._takes) <= PARTED_MOST:
            self._one_of_each()
        for broker in self._takes:
            self._slacks(broker)

    def _row(self, lower: float, upper: float) -> int:
        self._lower_rows.append(lower)
        self._upper_rows.append(upper)
        return len(self._lower_rows) - 1

    def _column(self, cost: float, upper: float = np.inf) -> int:
        self._cost.append(cost)
        self._upper.append(upper)
        return len(self._cost) - 1

    def _figure_rows(self, broker: int) -> int:
        """The first of a broker's rows: one a figure, and the capacity's."""
        bounds, share = self._bounds, self._bounds.share
        load = self._arrangement.load[broker] / share
        counts = bounds.weights > 0
        lower = np.where(counts[:CAPACITY], bounds.least[broker] / share - load, -np.inf)
        upper = np.where(counts[:CAPACITY], bounds.most[broker] / share - load, np.inf)
        first = len(self._lower_rows)
        for low, high in zip(lower, upper, strict=True):
            self._row(float(low), float(high))
        self._row(-np.inf, float(bounds.capacity[broker] / share[DISK] - load[DISK]) if counts[CAPACITY] else np.inf)
        return first

    def _slacks(self, broker: int) -> None:
        for figure, signs in ((REPLICAS, (1.0, -1.0)), (DISK, (1.0, -1.0)), (TRAFFIC, (1.0, -1.0)), (CAPACITY, (-1.0,))):
            for sign in signs if self._bounds.weights[figure] else ():
                self._entries.append((self._row_of[broker] + figure, self._column(float(OUTSIDE[figure])), sign))

    def _flows(self, kind: int) -> None:
        world, share, racks = self._arrangement, self._bounds.share, self._kinds.racks[kind]
        staying, homeless = self._kinds.staying[kind], self._kinds.homeless[kind]
        partitions = [p for some in staying.values() for p in some] + [one.partition for one in homeless]
        self.outs.append([])
        for broker, some in sorted(staying.items()):
            here = world.weight[some].mean(axis=0)
            column = self._column(self._cost_of(float(here[DISK])), len(some))
            self.outs[-1].append((broker, column))
            self._loads(kind, 1.0, broker, column, -here / share)
        mean = world.weight[partitions].mean(axis=0) / share
        distinct = set(partitions)
        have = Counter(broker for partition in distinct for broker in world.hosts[partition])
        self.intos.append([])
        for broker in self._takes:
            lack = len(distinct) - have[broker]
            if lack and (racks is None or world.racks[broker] in racks):
                column = self._column(0.0, lack)
                self.intos[-1].append((broker, column))
                self._loads(kind, -1.0, broker, column, mean)

    def _cost_of(self, size: float) -> float:
        """All bytes together cost 1; what is not known is taken for the mean."""
        sizes = self._arrangement.weight[:, DISK]
        known = float(sizes[sizes > 0].mean()) if (sizes > 0).any() else 1.0
        return ((size or known) / known + MOVE) / max(1, len(sizes))

    def _loads(self, kind: int, sign: float, broker: int, column: int, weight: np.ndarray) -> None:
        first = self._row_of[broker]
        self._entries.append((kind, column, sign))
        self._entries += [(first + figure, column, float(part)) for figure, part in enumerate((*weight, weight[DISK]))]

    def _one_of_each(self) -> None:
        """No broker gets two of a partition, and no rack where they are on as many as can be: of kinds that have one partition."""
        world = self._arrangement
        by_partition: dict[int, list[int]] = {}
        for kind, (staying, homeless) in enumerate(zip(self._kinds.staying, self._kinds.homeless, strict=True)):
            found = {p for some in staying.values() for p in some} | {one.partition for one in homeless}
            if len(found) == 1:
                by_partition.setdefault(found.pop(), []).append(kind)
        for partition, kinds in by_partition.items():
            coming = [each for kind in kinds for each in self.intos[kind]]
            leaving = [each for kind in kinds for each in self.outs[kind]]
            for broker in self._takes:
                self._at_most_one([column for b, column in coming if b == broker], [], 1.0)
            hosts = world.hosts[partition]
            if world.has_racks and world.distinct_racks(hosts) == len(hosts) < len(world.racks_taking) + 1:
                for rack in sorted(world.racks_taking):
                    there = sum(world.racks[b] == rack for b in hosts)
                    gone = [column for b, column in leaving if world.racks[b] == rack]
                    self._at_most_one([column for b, column in coming if world.racks[b] == rack], gone, 1.0 - there)

    def _at_most_one(self, coming: Sequence[int], leaving: Sequence[int], most: float) -> None:
        if len(coming) > 1:
            row = self._row(-np.inf, most)
            self._entries += [(row, column, 1.0) for column in coming] + [(row, column, -1.0) for column in leaving]

    def _whole_columns(self) -> set[int]:
        """All flows where they are few, else those of kinds that are alone: of one of many it does not matter."""
        if self._flows_end <= WHOLE_MOST:
            return set(range(self._flows_end))
        flows = zip(self._kinds.alone, self.outs, self.intos, strict=True)
        return {column for alone, outs, intos in flows if alone for _, column in (*outs, *intos)}

    def solved(self) -> np.ndarray:
        columns = len(self._cost)
        rows, places, values = (np.array(each) for each in zip(*self._entries, strict=True))
        order = np.lexsort((rows, places))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, len(self._lower_rows)
        program.col_cost_, program.col_lower_, program.col_upper_ = (
            np.array(self._cost),
            np.zeros(columns),
            np.array(self._upper, dtype=float),
        )
        program.row_lower_, program.row_upper_ = np.array(self._lower_rows), np.array(self._upper_rows)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.searchsorted(places[order], np.arange(columns + 1)).astype(np.int32)
        program.a_matrix_.index_ = rows[order].astype(np.int32)
        program.a_matrix_.value_ = values[order].astype(float)
        whole = self._whole_columns()
        program.integrality_ = [
            highspy.HighsVarType.kInteger if column in whole else highspy.HighsVarType.kContinuous for column in range(columns)
        ]
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", GAP), ("mip_max_nodes", NODES_MOST)):
            solver.setOptionValue(option, value)
        solver.passModel(program)
        solver.run()
        values = np.array(solver.getSolution().col_value)
        assert len(values) == columns, f"HiGHS has no solution: {solver.modelStatusToString(solver.getModelStatus())}"
        return values
