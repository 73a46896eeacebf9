"""A rate over the last windows, and how long it has to rest to be what it may be: Kafka's `Rate`, `SampledStat` and `QuotaUtils`.

What is recorded falls into samples of one window (`quota.window.size.seconds`), of which so many are looked at
(`quota.window.num`: all but one of them whole). The time that a rate is told over is never shorter than those whole windows, so
a client that has just come may take what a rate allows it in ten seconds at once:

    11 windows of 1 s, 100 bytes a second: 1000 bytes at once are a rate of 100; 2000 of 200, over by 100 % of 10 s: 10 s to wait
"""

from __future__ import annotations

import math
from collections import deque

from msgspec import Struct


class Windows(Struct, frozen=True):
    """How many samples count, and how long each is."""

    num: int = 11
    size_ms: float = 1000.0

    @property
    def whole_ms(self) -> float:
        """The windows that are whole."""
        return (self.num - 1) * self.size_ms


class Sample(Struct):
    began_ms: float
    last_ms: float
    total: float


class WindowedRate:
    """Units a second of what was recorded. Time never falls from one call to the next."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()

    def record(self, value: float, now_ms: float, windows: Windows) -> None:
        """`value` may be negative: what turned out not to have been taken."""
        samples = self._samples
        if not samples or now_ms - samples[-1].began_ms >= windows.size_ms:
            samples.append(Sample(now_ms, now_ms, 0.0))
            if len(samples) > windows.num + 1:
                samples.popleft()
        samples[-1].last_ms = now_ms
        samples[-1].total += value

    def measure(self, now_ms: float, windows: Windows) -> tuple[float, float]:
        """The rate a second, and the milliseconds that it is told over. A sample counts as long as some of it is in the windows."""
        samples = self._samples
        while samples and now_ms - samples[0].last_ms >= windows.num * windows.size_ms:
            samples.popleft()
        elapsed_ms = now_ms - samples[0].began_ms if samples else 0.0
        missing = windows.num - 1 - int(elapsed_ms / windows.size_ms)
        elapsed_ms = max(elapsed_ms + max(0, missing) * windows.size_ms, 1.0)
        return sum(sample.total for sample in samples) * 1000.0 / elapsed_ms, elapsed_ms


def rest_ms(rate: float, window_ms: float, limit: float) -> float:
    """How long nothing may come for the rate to be at its limit; 0 where it is not above, and without end where nothing may come at all.

    Of O a second over W, where T may be: O * W / (W + X) = T, so X = (O - T) / T * W.
    """
    if rate <= limit:
        return 0.0
    return (rate - limit) / limit * window_ms if limit else math.inf


def whole_ms(milliseconds: float, most_ms: float = math.inf) -> int:
    """As it is told to clients: rounded, and 0 where it is negative or without end, as both are in Kafka's arithmetic."""
    bounded = min(milliseconds, most_ms)
    return 0 if bounded <= 0 or math.isinf(bounded) else min(math.floor(bounded + 0.5), 2**31 - 1)
