"""Which rate a steered throttle has next."""

from __future__ import annotations

from typing import Any

import pytest

from console.rules.steering import HISTORY_KEPT, Decision, Figures, begun, decide, kept

MIB = 2**20
FLOOR, CEILING = 10 * MIB, 110 * MIB
NOW = 1_000_000
CALM = Figures({1: 10.0, 2: 20.0})
SLOW = Figures({1: 10.0, 2: 48.0})


def steering(**more: Any) -> dict[str, Any]:
    """Measured before the moves: calm; nothing was changed for a long time."""
    return {**begun(FLOOR, CEILING, CALM, NOW), "known_ms": NOW, "changed_ms": 0, **more}


def test_it_begins_at_the_floor_and_rises_by_steps_to_the_ceiling() -> None:
    found, rate, rates = begun(FLOOR, CEILING, CALM, 0), FLOOR, []
    for now_ms in range(2_000, 150_000, 2_000):
        decision = decide(found, rate, CALM, now_ms)
        found = kept(found, rate, decision, CALM, now_ms)
        if decision.rate != rate:
            rates.append((now_ms, decision.rate // MIB))
        rate = decision.rate
    assert rates == [(10_000 * n, 10 + 10 * n) for n in range(1, 11)]
    assert found["why"] == "At the ceiling, 110\u202fMiB/s: nobody is slowed down by it."
    assert [change["rate"] // MIB for change in found["history"]] == list(range(10, 120, 10))


def test_it_is_halved_where_produces_take_twice_as_long_and_says_whose() -> None:
    decision = decide(steering(), 80 * MIB, SLOW, NOW)
    assert decision == Decision(
        40 * MIB, "Lowered to 40.0\u202fMiB/s: a produce on broker 2 takes 48\u202fms, 2.4 times what it took before the moves."
    )


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        (Figures({1: None, 2: 510.0}), "takes 510\u202fms"),
        (Figures({1: 10.0}, behind=2), "2 partitions that this job does not move are out of sync, 0 before the moves"),
        (Figures({1: 10.0}, shrunk=["orders-3"]), "orders-3, which this job does not move, has lost a member of its ISR"),
        (Figures({1: 90.0, 2: None}, silent=[2]), "a produce on broker 1 takes 90\u202fms, 9.0 times"),
    ],
)
def test_what_else_halves_it(figures: Figures, why: str) -> None:
    decision = decide(steering(), 80 * MIB, figures, NOW)
    assert decision.rate == 40 * MIB
    assert why in decision.why


def test_too_long_at_all_counts_without_a_figure_from_before() -> None:
    idle = begun(FLOOR, CEILING, Figures({1: None}), 0)
    assert decide(idle, 80 * MIB, Figures({1: 499.0}), NOW).rate >= 80 * MIB
    assert decide(idle, 80 * MIB, Figures({1: 501.0}), NOW).rate == 40 * MIB


def test_what_was_too_long_before_the_moves_is_not_their_doing() -> None:
    slow = {**begun(FLOOR, CEILING, Figures({1: 600.0}, behind=3), 0), "changed_ms": 0}
    assert decide(slow, 80 * MIB, Figures({1: 610.0}, behind=3), NOW).rate == 90 * MIB


def test_a_few_milliseconds_are_no_strain_whatever_they_were() -> None:
    assert decide({**begun(FLOOR, CEILING, Figures({1: 1.0}), 0)}, 80 * MIB, Figures({1: 19.0}), NOW).rate == 90 * MIB


def test_it_is_not_halved_again_before_the_effect_is_seen_nor_below_the_floor() -> None:
    lowered = steering(lowered_ms=NOW, changed_ms=NOW)
    held = decide(lowered, 40 * MIB, SLOW, NOW + 9_999)
    assert (held.rate, held.why.partition(":")[0]) == (40 * MIB, "Held at 40.0\u202fMiB/s, to see what the last lowering does")
    assert decide(lowered, 40 * MIB, SLOW, NOW + 10_000).rate == 20 * MIB
    assert decide(lowered, 15 * MIB, SLOW, NOW + 10_000).rate == FLOOR
    assert decide(lowered, FLOOR, SLOW, NOW + 10_000).why.startswith("At the floor, 10.0\u202fMiB/s: a produce on broker 2")


def test_after_a_lowering_it_waits_before_it_rises() -> None:
    lowered = steering(lowered_ms=NOW, changed_ms=NOW)
    assert decide(lowered, 40 * MIB, CALM, NOW + 29_999).rate == 40 * MIB
    assert decide(lowered, 40 * MIB, CALM, NOW + 30_000).rate == 50 * MIB


def test_between_calm_and_strain_it_is_held() -> None:
    held = decide(steering(), 40 * MIB, Figures({2: 32.0}), NOW)
    assert (held.rate, "1.6 times" in held.why) == (40 * MIB, True)


@pytest.mark.parametrize(
    ("figures", "what"),
    [
        (Figures({1: 10.0, 2: None}, silent=[2]), "the figures of broker 2 are not known"),
        (Figures({1: 10.0}, behind=None), "which partitions are out of sync is not known"),
    ],
)
def test_what_is_unknown_holds_it_and_brings_it_to_the_floor_in_the_end(figures: Figures, what: str) -> None:
    assert decide(steering(), 80 * MIB, figures, NOW + 29_999) == Decision(80 * MIB, f"Held at 80.0\u202fMiB/s: {what} now.")
    fallen = decide(steering(), 80 * MIB, figures, NOW + 30_000)
    assert fallen == Decision(FLOOR, f"Lowered to the floor, 10.0\u202fMiB/s: {what} for 30\u202fs.")
    assert decide(steering(), FLOOR, figures, NOW + 30_000).why.startswith("At the floor")


def test_what_is_unknown_does_not_count_as_known() -> None:
    unknown = Figures({1: None}, silent=[1])
    assert kept(steering(), FLOOR, Decision(FLOOR, "."), unknown, NOW + 5_000)["known_ms"] == NOW
    assert kept(steering(), FLOOR, Decision(FLOOR, "."), CALM, NOW + 5_000)["known_ms"] == NOW + 5_000


def test_a_clock_that_is_set_back_holds_nothing_up() -> None:
    assert decide(steering(lowered_ms=NOW + 10**9), 80 * MIB, SLOW, NOW).rate == 40 * MIB


def test_the_history_is_bounded() -> None:
    found = steering()
    for n in range(100):
        found = kept(found, FLOOR, Decision(FLOOR + n + 1, str(n)), CALM, NOW + n)
    assert len(found["history"]) == HISTORY_KEPT
    assert found["history"][-1]["why"] == "99"
