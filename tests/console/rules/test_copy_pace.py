"""How long a copy takes yet: from the last minute, and unknown rather than wrong."""

from __future__ import annotations

from console.rules.copy_pace import left_s, noted, per_s


def samples(*pairs: tuple[int, int]) -> list[list[int]]:
    found: list[list[int]] = []
    for at_ms, done in pairs:
        found = noted(found, at_ms, done)
    return found


def test_it_is_unknown_until_two_samples_are_there_and_while_nothing_is_copied() -> None:
    one = samples((0, 0))
    assert (per_s(one, 0), left_s(one, 0, 100, 0)) == (None, None)
    still = samples((0, 50), (5_000, 50))
    assert (per_s(still, 5_000), left_s(still, 50, 100, 5_000)) == (None, None)
    assert left_s(samples((0, 0), (5_000, 50)), 50, None, 5_000) is None


def test_it_is_that_of_the_last_minute() -> None:
    slow_then_quick = samples(*((n * 10_000, n) for n in range(10)), *((100_000 + n * 10_000, 10 + n * 1_000) for n in range(8)))
    assert per_s(slow_then_quick, 170_000) == 100.0
    assert left_s(slow_then_quick, 7_010, 8_010, 170_000) == 10.0


def test_it_is_never_negative() -> None:
    assert left_s(samples((0, 0), (5_000, 120)), 120, 100, 5_000) == 0.0


def test_few_samples_are_kept_and_a_copy_that_begins_anew_forgets_them() -> None:
    assert len(samples(*((n * 1_000, n) for n in range(1_000)))) <= 13
    assert samples((0, 10), (5_000, 20), (10_000, 5)) == [[10_000, 5]]
    assert samples((9_000, 10), (5_000, 20)) == [[5_000, 20]]


def test_what_nobody_looked_at_for_a_minute_has_no_pace() -> None:
    found = samples((0, 0), (5_000, 50))
    assert left_s(found, 50, 100, 65_000) == 5.0
    assert left_s(found, 50, 100, 65_001) is None
