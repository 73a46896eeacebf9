"""How fast a copy goes and how long it takes yet, from what was copied in the last minute. Pure.

Samples are `[at_ms, done]`, oldest first, `SPACING_MS` apart and of the last `WINDOW_MS`. Unknown (None) until there are two of them, while
nothing is copied, and where nobody has looked for as long. What falls, as when a replica is begun anew, or a clock that is set back, begins
the samples anew.
"""

from __future__ import annotations

from collections.abc import Sequence

WINDOW_MS = 60_000
SPACING_MS = 5_000
Samples = list[list[int]]


def noted(samples: Sequence[Sequence[int]], at_ms: int, done: int) -> Samples:
    kept = [list(sample) for sample in samples]
    if kept and (done < kept[-1][1] or at_ms < kept[-1][0]):
        kept = []
    if not kept or at_ms - kept[-1][0] >= SPACING_MS:
        kept.append([at_ms, done])
    return [sample for sample in kept if at_ms - sample[0] <= WINDOW_MS]


def per_s(samples: Sequence[Sequence[int]], now_ms: int) -> float | None:
    if len(samples) < 2 or now_ms - samples[-1][0] > WINDOW_MS:
        return None
    (first_ms, first), (last_ms, last) = samples[0], samples[-1]
    return (last - first) * 1000 / (last_ms - first_ms) if last > first else None


def left_s(samples: Sequence[Sequence[int]], done: int, total: int | None, now_ms: int) -> float | None:
    """Seconds until all is copied, at the pace of the last minute."""
    if total is None:
        return None
    if done >= total:
        return 0.0
    pace = per_s(samples, now_ms)
    return None if pace is None else (total - done) / pace
