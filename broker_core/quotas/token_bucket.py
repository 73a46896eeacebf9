"""A bucket of tokens for what comes seldom and in lumps, as partitions made by one request (KIP-599).

It fills at the rate of the quota and holds what comes in all its windows (11 times a second's worth, by default). Below nothing
it is in debt, which has to be paid off before there is more; who has any token left may take as many as it likes.
"""

from __future__ import annotations

import math

from broker_core.quotas.rate import Windows


class TokenBucket:
    """Full at first. `rate` is in tokens a second and may change from one call to the next."""

    __slots__ = ("_looked_ms", "_tokens")

    def __init__(self) -> None:
        self._tokens = math.inf
        self._looked_ms = 0.0

    def tokens(self, now_ms: float, rate: float, windows: Windows) -> float:
        """What is in it now, negative while it is in debt."""
        gained = rate * max(0.0, now_ms - self._looked_ms) / 1000.0
        self._tokens = min(rate * windows.num * windows.size_ms / 1000.0, self._tokens + gained)
        self._looked_ms = now_ms
        return self._tokens

    def take(self, count: float, now_ms: float, rate: float, windows: Windows) -> None:
        self._tokens = self.tokens(now_ms, rate, windows) - count

    def rest_ms(self, now_ms: float, rate: float, windows: Windows) -> float:
        """How long until it is out of debt; without end where it never will be."""
        tokens = self.tokens(now_ms, rate, windows)
        if tokens >= 0:
            return 0.0
        return -tokens / rate * 1000.0 if rate else math.inf
