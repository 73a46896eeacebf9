"""Whether a group's lag is one to look at, judged against the group's own rhythm: a reader that works in batches falls behind and
catches up again and again, and an alarm each time would be worse than none.

1. A group has caught up when its lag is 0 or under `KEEPING_UP_S` in time. From one catching-up to the next is a cycle; its peak is the
   longest lag in time within it. The last `CYCLES_KEPT` are remembered.
2. The rhythm is known after `CYCLES_KNOWN` cycles. The usual peak is the second largest of those remembered (of two: the larger), so
   that one bad day is not taken for the rule, and a rhythm that has changed is learnt by its second cycle.
3. With a known rhythm a lag is *out* when it exceeds `OUT_SHARE` of the usual peak and `KEEPING_UP_S` more, and *in* again when it is
   back under the usual peak (hysteresis) or caught up.
4. Without a known rhythm it is out from `LEARNING_S` on, and in again when it is caught up.
5. Attention: none while caught up, or in a known rhythm; `notice` while the rhythm is not known yet and the lag is not out; out:
   `warn` where the group falls behind or stalls, and from then on until it catches up, `notice` where it does neither.
6. What was learnt outlives who learnt it. The cycle under way goes on where nobody looked for `KEEPING_UP_S` at most; after more the group
   may have caught up unseen, so the next cycle begins with its next catching-up.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from console.rules.lag import KEEPING_UP_S

CYCLES_KEPT = 6
CYCLES_KNOWN = 2
OUT_SHARE = 1.5
LEARNING_S = 300.0
KEPT_STEP_S = 10.0
"""So finely the peak of a cycle under way is kept: not each second anew."""
WORSE = ("falling_behind", "stalled")


class Cycle(NamedTuple):
    length_s: float
    peak_s: float


class Rhythm(NamedTuple):
    """What is remembered of a group: cycles, oldest first; when it last had caught up; the peak since; and the last judgement."""

    cycles: tuple[Cycle, ...] = ()
    caught_up_ms: int | None = None
    peak_s: float = 0.0
    is_out: bool = False
    is_warned: bool = False

    @property
    def is_known(self) -> bool:
        return len(self.cycles) >= CYCLES_KNOWN

    @property
    def usual_s(self) -> float:
        """Rule 2; 0 while nothing is known."""
        peaks = sorted(cycle.peak_s for cycle in self.cycles)
        return 0.0 if not peaks else peaks[-2] if len(peaks) > CYCLES_KNOWN else peaks[-1]

    @property
    def every_s(self) -> float | None:
        """The usual length of a cycle (the median), while the rhythm is known."""
        lengths = sorted(cycle.length_s for cycle in self.cycles)
        return lengths[len(lengths) // 2] if self.is_known else None


def step(rhythm: Rhythm, lag: int, lag_s: float | None, now_ms: int) -> Rhythm:
    """After a look at the group, once a second; `lag_s` is None where lag in time is not known (nothing is learnt then)."""
    if lag == 0 or (lag_s is not None and lag_s < KEEPING_UP_S):
        return _caught_up(rhythm, now_ms)
    if lag_s is None:
        return rhythm
    peak_s = max(rhythm.peak_s, lag_s)
    return rhythm._replace(peak_s=peak_s, is_out=_is_out(rhythm, lag_s))


def _caught_up(rhythm: Rhythm, now_ms: int) -> Rhythm:
    cycles = rhythm.cycles
    if rhythm.peak_s and rhythm.caught_up_ms is not None:
        cycles = (*cycles, Cycle((now_ms - rhythm.caught_up_ms) / 1000, rhythm.peak_s))[-CYCLES_KEPT:]
    began = now_ms if rhythm.peak_s or rhythm.caught_up_ms is None else rhythm.caught_up_ms
    return Rhythm(cycles, began)


def _is_out(rhythm: Rhythm, lag_s: float) -> bool:
    """Rules 3 and 4."""
    if not rhythm.is_known:
        return rhythm.is_out or lag_s >= LEARNING_S
    if rhythm.is_out:
        return lag_s > rhythm.usual_s
    return lag_s > OUT_SHARE * rhythm.usual_s + KEEPING_UP_S


def is_in_rhythm(rhythm: Rhythm) -> bool:
    """The lag is one that this group always has."""
    return rhythm.is_known and not rhythm.is_out


def attention(rhythm: Rhythm, lag: int | None, lag_s: float | None, trend: str) -> Literal["notice", "warn"] | None:
    """Rule 5: None, `notice` or `warn`."""
    if not lag or lag_s is None or lag_s < KEEPING_UP_S or is_in_rhythm(rhythm):
        return None
    if rhythm.is_out and (trend in WORSE or (rhythm.is_warned and trend != "catching_up")):
        return "warn"
    return "notice"


# --- rule 6


def to_keep(rhythm: Rhythm) -> Rhythm | None:
    """None of a group that was never behind."""
    if not rhythm.cycles and not rhythm.peak_s:
        return None
    return rhythm._replace(peak_s=rhythm.peak_s // KEPT_STEP_S * KEPT_STEP_S)


def taken_up(kept: Rhythm, away_ms: int) -> Rhythm:
    """One that was kept, last written `away_ms` ago."""
    goes_on = kept.caught_up_ms is not None and away_ms <= KEEPING_UP_S * 1000
    return kept if goes_on else kept._replace(caught_up_ms=None, peak_s=0.0)
