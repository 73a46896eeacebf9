"""Replicas by kind, so that the flow counts kinds and not replicas: alike in size, in traffic and in where they may go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from console.planning.balance.arrangement import DISK, TRAFFIC, Arrangement
from console.planning.balance.needs import Homeless

RATIOS = (1.0, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 10.0, 100.0, 1e6)
"""Of a kind the largest is at most so many times the smallest; the first ratio is taken with which the kinds are few enough."""
PLACES_MOST = 5_000
"""Kinds times brokers, where each partition is a kind of its own: variables of the linear program."""
ALONE_PLACES_MOST = 2_000
ALONE_LEAST = 20
"""For fewer no program in whole numbers is worth its time, as it has many brokers then."""
ALONE_SHARE = 0.02
"""A partition that weighs more than so much of a broker's share is alone in its kind: it moves as a whole or not at all."""
SHARED_PLACES_MOST = 20_000
SHARED_LEAST = 25
"""Partitions of a kind in the mean, where they are not alone: of two the flow would move replicas that cannot go where there is room."""
RACKS_MOST = 6
"""With more racks there are so many sets of those that are left that the flow does not look at racks; the matching does."""

Key = tuple[float, float, frozenset[int] | None, int]
"""Size and traffic, near enough, where it may go, and the partition where it is alone, else -1."""


class Kinds(NamedTuple):
    """`staying[kind][broker]` are the partitions with such a replica there, `homeless[kind]` those that need a place; `alone` says whether
    the kind is of one partition that is counted in whole replicas."""

    alone: list[bool]
    racks: list[frozenset[int] | None]
    staying: list[dict[int, list[int]]]
    homeless: list[list[Homeless]]


def kinds_of(arrangement: Arrangement, homeless: Sequence[Homeless]) -> Kinds:
    """Of all replicas on brokers that take some."""
    places = [(p, b) for p, hosts in enumerate(arrangement.hosts) for b in hosts if arrangement.takes[b]]
    sees_racks = arrangement.has_racks and len(arrangement.racks_taking) <= RACKS_MOST
    racks = [arrangement.allowed_racks(p, b) if sees_racks else None for p, b in places]
    homeless_racks = [arrangement.allowed_racks(one.partition, None) if sees_racks else None for one in homeless]
    weight = arrangement.weight
    alone = {p: p for p in _alone(arrangement)}
    for ratio in RATIOS:
        size, traffic = (_steps([float(w) for w in weight[:, figure]], ratio) for figure in (DISK, TRAFFIC))
        number: dict[Key, int] = {}
        keys = [(size[p], traffic[p], r, alone.get(p, -1)) for (p, _), r in zip(places, racks, strict=True)]
        of_places = [number.setdefault(key, len(number)) for key in keys]
        keys = [
            (size[h.partition], traffic[h.partition], r, alone.get(h.partition, -1)) for h, r in zip(homeless, homeless_racks, strict=True)
        ]
        of_homeless = [number.setdefault(key, len(number)) for key in keys]
        places_most = PLACES_MOST if ratio == 1.0 else min(SHARED_PLACES_MOST, len(weight) * len(arrangement.nodes) / SHARED_LEAST)
        if len(number) * len(arrangement.nodes) <= places_most:
            break
    found = Kinds([key[3] >= 0 for key in number], [key[2] for key in number], [{} for _ in number], [[] for _ in number])
    for (partition, broker), kind in zip(places, of_places, strict=True):
        found.staying[kind].setdefault(broker, []).append(partition)
    for one, kind in zip(homeless, of_homeless, strict=True):
        found.homeless[kind].append(one)
    return found


def _alone(arrangement: Arrangement) -> list[int]:
    """The largest, as many as there is room for."""
    sizes, brokers = arrangement.weight[:, DISK], len(arrangement.nodes)
    share = arrangement.load[arrangement.takes, DISK].sum() / max(1, arrangement.takes.sum())
    most = ALONE_PLACES_MOST // brokers
    if most < ALONE_LEAST:
        return []
    large = [int(p) for p in np.argsort(-sizes, kind="stable")[:most]]
    return [p for p in large if sizes[p] > ALONE_SHARE * share]


def _steps(values: Sequence[float], ratio: float) -> list[float]:
    """Equal for values that are within the ratio of each other, near enough."""
    if ratio == 1.0:
        return list(values)
    width = math.log(ratio)
    return [math.floor(math.log(value) / width) if value > 0 else -math.inf for value in values]
