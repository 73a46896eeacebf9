"""Rates from running totals: a short ring of (time, total) for each thing counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from broker_core.contract.feed import Broker

WINDOW_MS = 10_000
RING = 24


class Rate:
    """Per second over the last `WINDOW_MS`; None until two samples a second apart are there. A fallen total starts anew, and so does
    one over another number of things: what came with them did not arrive just now."""

    __slots__ = ("_over", "_ring")

    def __init__(self) -> None:
        self._ring: deque[tuple[int, float]] = deque(maxlen=RING)
        self._over = 1

    def add(self, at_ms: int, total: float, over: int = 1) -> None:
        if over != self._over or (self._ring and total < self._ring[-1][1]):
            self._over = over
            self._ring.clear()
        if self._ring and at_ms - self._ring[-1][0] < 450:
            return
        self._ring.append((at_ms, total))
        while len(self._ring) > 2 and at_ms - self._ring[0][0] > WINDOW_MS:
            self._ring.popleft()

    def per_s(self) -> float | None:
        if len(self._ring) < 2 or self._ring[-1][0] - self._ring[0][0] < 900:
            return None
        (first_ms, first), (last_ms, last) = self._ring[0], self._ring[-1]
        return round((last - first) * 1000 / (last_ms - first_ms), 1)

    def growth(self) -> tuple[int, int, float] | None:
        """(from, to, by how much) of the samples that are kept."""
        if self.per_s() is None:
            return None
        (first_ms, first), (last_ms, last) = self._ring[0], self._ring[-1]
        return first_ms, last_ms, last - first


class RateBook:
    """Rates by (what, whose)."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, Any], Rate] = {}

    def add(self, what: str, whose: Any, at_ms: int, total: float, over: int = 1) -> bool:
        """Notes a total over so many things; True if the rate is another one now."""
        rate = self._rates.setdefault((what, whose), Rate())
        before = rate.per_s()
        rate.add(at_ms, total, over)
        return rate.per_s() != before

    def forget(self, what: str, whose: Any) -> None:
        self._rates.pop((what, whose), None)

    def per_s(self, what: str, whose: Any) -> float | None:
        rate = self._rates.get((what, whose))
        return rate.per_s() if rate else None

    def mean(self, what: str, count: str, whose: Any) -> float | None:
        """Of one of those counted, over the same samples of both; None where none was counted."""
        spent, some = (self._growth(name, whose) for name in (what, count))
        if spent is None or some is None or spent[:2] != some[:2] or some[2] <= 0:
            return None
        return round(spent[2] / some[2], 3)

    def _growth(self, what: str, whose: Any) -> tuple[int, int, float] | None:
        rate = self._rates.get((what, whose))
        return rate.growth() if rate else None

    def add_broker(self, said: Broker, at_ms: int) -> None:
        """The totals that a broker tells of itself."""
        totals = {"produced_bytes": said.produced_bytes, "fetched_bytes": said.fetched_bytes, "messages_in": said.messages_in}
        for name, total in totals.items():
            self.add(name, said.id, at_ms, total)
        for api, numbers in said.requests.items():
            self.add(f"api/{api}", said.id, at_ms, numbers.count)
            self.add(f"spent/{api}", said.id, at_ms, numbers.stages_ms.total)
        self.add("requests", said.id, at_ms, sum(numbers.count for numbers in said.requests.values()))

    def sum(self, what: str, whose: Iterable[Any]) -> float | None:
        """Over those that tell; None when none does."""
        told = [rate for one in whose if (rate := self.per_s(what, one)) is not None]
        return round(sum(told), 1) if told else None
