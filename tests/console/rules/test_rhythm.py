"""A group's lag against its own rhythm: numbered rules, walked second by second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.rules.rhythm import CYCLES_KEPT, LEARNING_S, Cycle, Rhythm, attention, is_in_rhythm, step


def batches(work_s: int, rest_s: int, count: int) -> Iterator[float]:
    """Lag in time each second: nothing while it works, growing while it rests."""
    for _ in range(count):
        yield from (0.0 for _ in range(work_s))
        yield from (float(second) for second in range(1, rest_s + 1))


def walk(rhythm: Rhythm, lags: Iterator[float], start_s: int = 0) -> tuple[Rhythm, list[str | None], int]:
    told: list[str | None] = []
    for lag_s in lags:
        lag = int(lag_s)
        rhythm = step(rhythm, lag, lag_s, start_s * 1000)
        word = "falling_behind" if lag else "caught_up"
        wanted = attention(rhythm, lag, lag_s, word)
        rhythm = rhythm._replace(is_warned=wanted == "warn")
        told.append(wanted)
        start_s += 1
    return rhythm, told, start_s


def test_a_batch_reader_is_never_warned_of_and_soon_not_noticed_either() -> None:
    rhythm, told, now = walk(Rhythm(), batches(60, 90, 3))
    assert set(told) == {None, "notice"}
    assert is_in_rhythm(rhythm)
    assert rhythm.every_s == 150.0
    _, later, _ = walk(rhythm, batches(60, 90, 20), now)
    assert set(later) == {None}


def test_a_batch_reader_that_stays_away_is_warned_of_until_it_is_back() -> None:
    """Out at 1.5 times its usual peak and 10 s more; in again when it has caught up, with no flicker between."""
    rhythm, _, now = walk(Rhythm(), batches(60, 90, 4))
    _, told, _ = walk(rhythm, batches(60, 400, 1), now)
    first = told.index("warn") - 60 + 1
    assert first == 146
    assert set(told[60 + first :]) == {"warn"}


def test_who_never_caught_up_is_noticed_at_once_and_warned_of_later() -> None:
    _, told, _ = walk(Rhythm(), (float(second) for second in range(400)))
    assert told.index("notice") == 10
    assert told.index("warn") == LEARNING_S
    assert set(told[int(LEARNING_S) :]) == {"warn"}


def test_one_bad_day_is_not_taken_for_the_rule() -> None:
    usual = Rhythm((Cycle(150, 90), Cycle(150, 92), Cycle(7_300, 7_200)), 0)
    assert usual.usual_s == 92
    assert not is_in_rhythm(step(usual, 9, 200.0, 1000))


def test_a_rhythm_that_has_changed_is_learnt_by_its_second_cycle() -> None:
    rhythm, _, now = walk(Rhythm(), batches(60, 90, 6))
    rhythm, first, now = walk(rhythm, batches(60, 300, 1), now)
    assert "warn" in first
    _, later, _ = walk(rhythm, batches(60, 300, 4), now)
    assert "warn" not in later[720:]
    assert len(rhythm.cycles) <= CYCLES_KEPT


def test_it_is_in_again_only_below_its_usual_peak() -> None:
    """Hysteresis: a lag that wavers about the limit does not make the page flicker."""
    rhythm, _, now = walk(Rhythm(), batches(60, 100, 4))
    seen = []
    for lag_s in (150.0, 170.0, 150.0, 165.0, 110.0, 99.0, 150.0):
        rhythm = step(rhythm, 9, lag_s, now * 1000)
        seen.append(rhythm.is_out)
    assert seen == [False, True, True, True, True, False, False]


def test_what_is_not_known_teaches_nothing() -> None:
    known = Rhythm((Cycle(150, 90),), 5, 40.0)
    assert step(known, 9, None, 1000) == known
    assert attention(known, 9, None, "stalled") is None
    assert attention(known, None, None, "unknown") is None


@pytest.mark.parametrize(
    ("trend", "was_warned", "wanted"),
    [
        ("falling_behind", False, "warn"),
        ("stalled", False, "warn"),
        ("steady", False, "notice"),
        ("steady", True, "warn"),
        ("catching_up", True, "notice"),
    ],
)
def test_out_of_rhythm_it_is_the_direction_that_tells(trend: str, was_warned: bool, wanted: str) -> None:
    assert attention(Rhythm(is_out=True, is_warned=was_warned), 9, 999.0, trend) == wanted
