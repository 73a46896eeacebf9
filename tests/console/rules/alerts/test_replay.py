"""When a rule would have fired on kept figures: as live looks would have found it, with holes."""

from __future__ import annotations

import pytest

from console.rules.alerts.figures import Condition
from console.rules.alerts.replay import Firing, replay

S = 1_000
CONDITION = Condition("group_lag", ">", 10, 60)


def firings(*values: float | None, every_s: int = 30) -> tuple[Firing, ...]:
    times = [at * every_s * S for at in range(len(values))]
    return replay(CONDITION, times, values, every_s * S).firings


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((5, 5, 5), ()),
        ((20, 20), ()),
        ((20, 20, 20), (Firing(60 * S, None),)),
        ((20, 20, 20, 5, 5, 5), (Firing(60 * S, 150 * S),)),
        ((20, 20, 20, 5, 20, 5, 20), (Firing(60 * S, None),)),
        ((20, None, 20, 20), ()),
        ((20, 20, 20, None, None, None, None), (Firing(60 * S, None),)),
    ],
    ids=["never", "too short", "at the end still", "over", "flaps", "a hole", "not known to be over"],
)
def test_it_fires_as_it_would_have_live(values: tuple[float | None, ...], found: tuple[Firing, ...]) -> None:
    assert firings(*values) == found


def test_rare_samples_are_no_gaps_and_what_is_not_known_is_counted() -> None:
    assert firings(20, 20, every_s=600) == (Firing(600 * S, None),)
    found = replay(CONDITION, (0, 1, 2), (None, 5, None), 1)
    assert (found.known, found.samples) == (1, 3)
