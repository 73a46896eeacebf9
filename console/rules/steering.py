"""A steered throttle: which rate a reassignment copies at next, from what its copying does to others. Pure.

Rules, at each look:
1. Others suffer: produces on a broker that takes part take `RATIO` times as long as before the moves (and `LEAST_MS` at least), or
   longer than `LIMIT_MS`; more partitions that the job does not move are out of sync than before; or one of them lost a member of its ISR
   since the last look. The rate is halved, and then not again for `SETTLE_MS`: what is measured covers the time before, too.
2. A figure is unknown or old: the rate is held, and goes to the floor after `UNKNOWN_MS`.
3. Produces are between `CALM_RATIO` and `RATIO`: the rate is held, so that it does not swing.
4. Nobody suffers: a tenth of the way from floor to ceiling more, every `RAISE_EVERY_MS`, and not within `PAUSE_MS` of a halving.

A rate never leaves floor and ceiling. A clock that was set back counts as time passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from console.rules.partitions import brokers
from console.rules.words import THIN, counted, duration, size, whole

RATIO, CALM_RATIO = 2.0, 1.5
LEAST_MS, LIMIT_MS = 20.0, 500.0
SETTLE_MS, RAISE_EVERY_MS, PAUSE_MS, UNKNOWN_MS = 10_000, 10_000, 30_000, 30_000
RAISES = 10
HISTORY_KEPT = 20
NO_TIME = float("inf")
Steering = dict[str, Any]


class Figures(NamedTuple):
    """`produce_ms` by broker: the mean of the last seconds, None where nothing was produced; those in `silent` tell nothing now.
    `behind`: partitions that the job does not move and that are out of sync, None where that is not known; `shrunk`: their names that
    lost a member of the ISR since the last look."""

    produce_ms: Mapping[int, float | None]
    silent: Sequence[int] = ()
    behind: int | None = 0
    shrunk: Sequence[str] = ()


class Decision(NamedTuple):
    """The rate in bytes a second, and why it is that."""

    rate: int
    why: str


def begun(floor: int, ceiling: int, figures: Figures, now_ms: int) -> Steering:
    """What is kept in the job's plan from before the first move: it starts at the floor."""
    before = {str(broker): ms for broker, ms in figures.produce_ms.items()}
    why = f"Copying begins at the floor, {_rate(floor)}, and may rise to {_rate(ceiling)}."
    return {
        **{"floor": floor, "ceiling": ceiling, "before_ms": before, "behind_before": figures.behind, "why": why},
        **{"known_ms": now_ms, "looked_ms": now_ms, "changed_ms": now_ms, "lowered_ms": None},
        "history": [{"at_ms": now_ms, "rate": floor, "why": why}],
    }


def decide(steering: Mapping[str, Any], rate: int, figures: Figures, now_ms: int) -> Decision:
    """The next rate; the same one where it is held."""
    if strain := _strain(steering, figures):
        return _eased(steering, rate, strain, now_ms)
    if unknown := _unknown(figures):
        return _unsure(steering, rate, unknown, now_ms)
    if slower := _slower(steering, figures, CALM_RATIO):
        return Decision(rate, f"Held at {_rate(rate)}: {slower}.")
    return _quickened(steering, rate, now_ms)


def _eased(steering: Mapping[str, Any], rate: int, strain: str, now_ms: int) -> Decision:
    floor = steering["floor"]
    if rate <= floor:
        return Decision(floor, f"At the floor, {_rate(floor)}: {strain}.")
    if _passed(steering["lowered_ms"], now_ms) < SETTLE_MS:
        return Decision(rate, f"Held at {_rate(rate)}, to see what the last lowering does: {strain}.")
    then = max(floor, rate // 2)
    return Decision(then, f"Lowered to {_rate(then)}: {strain}.")


def _unsure(steering: Mapping[str, Any], rate: int, unknown: str, now_ms: int) -> Decision:
    floor, silent_ms = steering["floor"], _passed(steering["known_ms"], now_ms)
    if silent_ms < UNKNOWN_MS:
        return Decision(rate, f"Held at {_rate(rate)}: {unknown} not known now.")
    since = "" if silent_ms == NO_TIME else f" for {duration(silent_ms / 1000)}"
    goes = "Lowered to" if rate > floor else "At"
    return Decision(floor, f"{goes} the floor, {_rate(floor)}: {unknown} not known{since}.")


def _quickened(steering: Mapping[str, Any], rate: int, now_ms: int) -> Decision:
    floor, ceiling = steering["floor"], steering["ceiling"]
    if rate >= ceiling:
        return Decision(ceiling, f"At the ceiling, {_rate(ceiling)}: nobody is slowed down by it.")
    if _passed(steering["lowered_ms"], now_ms) < PAUSE_MS:
        return Decision(rate, f"Held at {_rate(rate)} for {duration(PAUSE_MS / 1000)} after it was lowered.")
    if _passed(steering["changed_ms"], now_ms) < RAISE_EVERY_MS:
        return Decision(rate, f"Held at {_rate(rate)}, to see what it does before it rises.")
    then = min(ceiling, rate + max(1, (ceiling - floor) // RAISES))
    return Decision(then, f"Raised to {_rate(then)}: nobody is slowed down by {_rate(rate)}.")


def kept(steering: Mapping[str, Any], rate: int, decision: Decision, figures: Figures, now_ms: int) -> Steering:
    """What is known for the next look; the newest changes of the rate only."""
    then = {**steering, "looked_ms": now_ms, "why": decision.why}
    if not _unknown(figures):
        then["known_ms"] = now_ms
    if decision.rate != rate:
        change = {"at_ms": now_ms, "rate": decision.rate, "why": decision.why}
        then |= {"changed_ms": now_ms, "history": [*steering["history"], change][-HISTORY_KEPT:]}
    if decision.rate < rate:
        then["lowered_ms"] = now_ms
    return then


def _strain(steering: Mapping[str, Any], figures: Figures) -> str:
    """Who suffers; empty where nobody is seen to."""
    if slower := _slower(steering, figures, RATIO):
        return slower
    if figures.shrunk:
        return f"{figures.shrunk[0]}, which this job does not move, has lost a member of its ISR"
    before = steering["behind_before"]
    if figures.behind is not None and before is not None and figures.behind > before:
        noun = counted(figures.behind, "partition")
        return f"{noun} that this job does not move {'is' if figures.behind == 1 else 'are'} out of sync, {whole(before)} before the moves"
    return ""


def _slower(steering: Mapping[str, Any], figures: Figures, ratio: float) -> str:
    """The broker whose produces take longest against before, where it is so many times as long or too long at all."""
    worst: tuple[float, str] = (0.0, "")
    for broker, ms in figures.produce_ms.items():
        if ms is None:
            continue
        was = steering["before_ms"].get(str(broker))
        words = f"a produce on broker {broker} takes {_ms(ms)}"
        if was and ms >= max(ratio * was, LEAST_MS):
            worst = max(worst, (ms / was, f"{words}, {ms / was:.1f} times what it took before the moves"))
        elif ms >= LIMIT_MS and not (was and was >= LIMIT_MS):
            worst = max(worst, (ms / LIMIT_MS, f"{words}, and more than {_ms(LIMIT_MS)} is too long"))
    return worst[1]


def _unknown(figures: Figures) -> str:
    if figures.silent:
        return f"the figures of {brokers(sorted(figures.silent))} are"
    return "which partitions are out of sync is" if figures.behind is None else ""


def _passed(since_ms: int | None, now_ms: int) -> float:
    return NO_TIME if since_ms is None or since_ms > now_ms else now_ms - since_ms


def _rate(rate: int) -> str:
    return f"{size(rate)}/s"


def _ms(ms: float) -> str:
    return f"{ms:.1f}{THIN}ms" if ms < 10 else f"{whole(ms)}{THIN}ms"
