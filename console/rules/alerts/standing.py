"""How a rule stands on one target: ok, pending since, firing since; and whether that is known. Pure: times are ms since 1970.

1. It holds: pending, and firing once it has held for `for_ms`, as far as is known without a gap.
2. It does not hold: ok at once where it was pending; where it was firing, once it has not held for `CLEAR_MS`: what flaps fires once.
3. Unknown: nothing changes but that; a time that is not known counts neither as held nor as not held, so waiting begins anew.
4. So does it where nobody looked for `GAP_MS`, or the clock was set back.
5. While something else explains it (`unless`), nothing begins to fire; what fires goes on, and may end.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["ok", "pending", "firing"]
CLEAR_MS = 60_000
GAP_MS = 60_000
"""Four looks: a worker that is late by less changes nothing."""


class Standing(NamedTuple):
    """`since_ms`: pending or firing since; `clear_ms`: firing, and not held since; `known_ms`: when it was last known."""

    state: State = "ok"
    since_ms: int | None = None
    clear_ms: int | None = None
    known_ms: int | None = None
    is_known: bool = True


OK = Standing()


def step(before: Standing, holds: bool | None, now_ms: int, for_ms: int, *, explained: bool = False, gap_ms: int = GAP_MS) -> Standing:
    """How it stands now; `holds` is None where that is not known. Looks further apart than `gap_ms` have a gap between them."""
    if holds is None:
        return before._replace(is_known=False)
    without_gap = before.is_known and before.known_ms is not None and 0 <= now_ms - before.known_ms <= gap_ms
    if before.state == "firing":
        return _of_firing(before, holds, now_ms, without_gap=without_gap)
    if not holds:
        return Standing(known_ms=now_ms)
    kept = before.since_ms if before.state == "pending" and without_gap else None
    since_ms = now_ms if kept is None else kept
    fires = now_ms - since_ms >= for_ms and not explained
    return Standing("firing" if fires else "pending", now_ms if fires else since_ms, None, now_ms)


def _of_firing(before: Standing, holds: bool, now_ms: int, *, without_gap: bool) -> Standing:
    since_ms = min(before.since_ms or now_ms, now_ms)
    if holds:
        return Standing("firing", since_ms, None, now_ms)
    clear_ms = before.clear_ms if before.clear_ms is not None and without_gap else now_ms
    if now_ms - clear_ms >= CLEAR_MS:
        return Standing(known_ms=now_ms)
    return Standing("firing", since_ms, clear_ms, now_ms)
