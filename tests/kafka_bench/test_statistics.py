from __future__ import annotations

import pytest

from tests.kafka_bench.statistics import paired_ratios, percentile, spread


def test_the_median_stands_between_the_least_and_the_greatest() -> None:
    found = spread([3.0, 1.0, 100.0])
    assert found is not None
    assert (found.middle, found.least, found.most, found.count) == (3.0, 1.0, 100.0, 3)
    assert spread([]) is None


@pytest.mark.parametrize(("share", "value"), [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0), (0.0, 1.0)])
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(share: float, value: float) -> None:
    assert percentile([float(number) for number in range(1, 1001)], share) == value


def test_the_only_value_is_every_percentile() -> None:
    assert percentile([7.0], 0.999) == 7.0


def test_ratios_are_of_rounds_that_both_have() -> None:
    assert paired_ratios({0: 3.0, 1: 8.0, 3: 1.0}, {0: 2.0, 1: 4.0, 2: 9.0, 3: 0.0}) == [1.5, 2.0]
