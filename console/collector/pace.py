"""How often each kind of question is asked, and how its requests are spread. Pure.

1. A round that keeps brokers busy for more than `BUSY_SHARE` of its interval makes the interval longer, up to `SLOWEST` times what it is
   at best; quick answers bring it back.
2. After a failure it is asked again after `RETRY_MS`, each time twice that, up to `RETRY_MAX_MS`; never more often than at its interval
   where that is shorter.
3. The requests of a round do not come in a burst: `gap_ms` lies between two of one broker, or less where the round would not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from broker_core.contract.live import Kind

T = TypeVar("T")
EVERY_MS: dict[Kind, int] = {"metadata": 5_000, "offsets": 10_000, "groups": 15_000, "log_dirs": 60_000, "configs": 300_000}
EVERY_S = 5
"""Of the metadata, unless the setting says otherwise; the other kinds are asked for as much more seldom as above."""
BUSY_SHARE = 0.5
SLOWEST = 10
SPREAD_SHARE = 0.8
GAP_MS = 200
RETRY_MS = 1_000
RETRY_MAX_MS = 30_000
HURRIES = 2
"""So often something is asked for at once when it was changed through the console: brokers hear of a change one after another."""
PARTITIONS_A_REQUEST = 1_000
GROUPS_A_REQUEST = 50
TOPICS_A_REQUEST = 100
PARTITIONS_LIMIT = 50_000
GROUPS_LIMIT = 10_000
"""Of one cluster; what is beyond is not looked at, and that is told."""


def intervals(every_s: int) -> dict[Kind, int]:
    """ms by kind, where the metadata is asked for every so many seconds."""
    return {kind: ms * every_s // EVERY_S for kind, ms in EVERY_MS.items()}


class Pace:
    """Of one kind."""

    def __init__(self, least_ms: int) -> None:
        self._least_ms = least_ms
        self.every_ms = least_ms
        self._failures = 0

    def answered(self, busy_ms: float) -> None:
        """A round's answers took brokers so long."""
        wanted = math.ceil(busy_ms / BUSY_SHARE / 1000) * 1000
        self.every_ms = min(max(wanted, self._least_ms), SLOWEST * self._least_ms)
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1

    def wait_ms(self, took_ms: float) -> float:
        """Until the next round, after one that began so long ago."""
        if self._failures:
            return min(RETRY_MS << min(self._failures - 1, 10), RETRY_MAX_MS)
        return max(self.every_ms - took_ms, 0)

    @property
    def is_failing(self) -> bool:
        return bool(self._failures)


def gap_ms(requests: int, every_ms: int) -> float:
    """Between two of so many requests to one broker in a round."""
    return min(GAP_MS, SPREAD_SHARE * every_ms / max(requests, 1))


def pieces(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece
