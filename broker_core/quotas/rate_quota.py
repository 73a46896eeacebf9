"""One kind of quota on a rate: bytes produced, bytes fetched, or the share of a second that requests take (`ClientQuotaManager`)."""

from __future__ import annotations

import math

from broker_core.quotas.kept import Kept, short
from broker_core.quotas.limits import Limits, Payer
from broker_core.quotas.rate import WindowedRate, Windows, rest_ms, whole_ms


class RateQuota:
    """`most_ms` is the longest that one request makes a client wait, as far as there is one."""

    def __init__(self, windows: Windows, most_ms: float = math.inf) -> None:
        self.limits = Limits()
        self._windows = windows
        self._most_ms = most_ms
        self._rates: Kept[Payer, WindowedRate] = Kept(WindowedRate)

    def changed(self) -> None:
        """After the last limit is gone nothing is remembered."""
        if not self.limits:
            self._rates.clear()

    def record(self, user: str, client_id: str, value: float, now_ms: float) -> int:
        """Counts it, and tells how many milliseconds the client has to rest for its rate to be what it may."""
        payer, limit = self.limits.of(user, client_id)
        if limit is None:
            return 0
        rate = self._rates.of(short(payer), now_ms)
        rate.record(value, now_ms, self._windows)
        measured, window_ms = rate.measure(now_ms, self._windows)
        return whole_ms(rest_ms(measured, window_ms, limit), self._most_ms)

    def take_back(self, user: str, client_id: str, value: float, now_ms: float) -> None:
        """What was recorded just now is not taken after all."""
        payer, limit = self.limits.of(user, client_id)
        if limit is not None:
            self._rates.of(short(payer), now_ms).record(-value, now_ms, self._windows)

    def most_at_once(self, user: str, client_id: str) -> float:
        """What a client that has rested may take without having to wait; without end where it has no limit."""
        _, limit = self.limits.of(user, client_id)
        return math.inf if limit is None else limit * self._windows.whole_ms / 1000.0
