"""How often a cluster is asked, and in how many requests."""

from __future__ import annotations

import pytest

from console.collector.pace import EVERY_MS, GAP_MS, PARTITIONS_A_REQUEST, RETRY_MAX_MS, SLOWEST, Pace, gap_ms, intervals, pieces


@pytest.mark.parametrize(
    ("busy_ms", "every_ms"), [(0, 5_000), (2_400, 5_000), (2_501, 6_000), (10_000, 20_000), (1_000_000, 5_000 * SLOWEST)]
)
def test_who_answers_slowly_is_asked_less_often(busy_ms: float, every_ms: int) -> None:
    pace = Pace(5_000)
    pace.answered(busy_ms)
    assert pace.every_ms == every_ms
    pace.answered(10)
    assert pace.every_ms == 5_000


def test_all_kinds_follow_the_setting() -> None:
    assert intervals(5) == EVERY_MS
    assert intervals(1) == {"metadata": 1_000, "offsets": 2_000, "groups": 3_000, "log_dirs": 12_000, "configs": 60_000}


def test_the_next_round_begins_an_interval_after_the_last_began() -> None:
    pace = Pace(5_000)
    pace.answered(10)
    assert [pace.wait_ms(took) for took in (0, 1_200, 9_000)] == [5_000, 3_800, 0]


def test_who_does_not_answer_is_asked_ever_more_seldom_until_it_does() -> None:
    pace, waits = Pace(5_000), []
    for _ in range(8):
        pace.failed()
        waits.append(pace.wait_ms(0))
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, RETRY_MAX_MS, RETRY_MAX_MS, RETRY_MAX_MS]
    assert pace.every_ms == 5_000  # what is stale is not judged by it
    pace.answered(10)
    assert not pace.is_failing
    assert pace.wait_ms(0) == 5_000


def test_a_large_cluster_is_asked_over_the_whole_interval() -> None:
    partitions = [(f"t{number // 10}", number % 10) for number in range(10_000)]
    requests = list(pieces(partitions, PARTITIONS_A_REQUEST))
    assert [len(some) for some in requests] == [1_000] * 10
    assert [tp for some in requests for tp in some] == partitions
    for count in (1, 10, 40, 1_000):
        assert count * gap_ms(count, EVERY_MS["offsets"]) <= 0.8 * EVERY_MS["offsets"]
    assert gap_ms(1, 10_000) == gap_ms(40, 10_000) == GAP_MS
    assert gap_ms(400, 10_000) == 20
