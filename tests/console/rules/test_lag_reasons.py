"""Each verdict on a partition says why, and a group has caught up when its slowest partition has."""

from __future__ import annotations

import math
from collections import deque

import pytest

from broker_core.contract import feed
from broker_core.contract.groups import Group, Lag, LagStatus, Place
from console.live.merging.groups import GroupFacts, group_value
from console.rules.lag import Commit, Sample, group_words
from console.rules.lag_reasons import reason, seconds_to_close, slowest
from tests.support.live_rows import some

FALLING = [Commit(n * 1000, n * 100, 1000 - n * 50) for n in range(10)]
"""1 000 records behind, then 550: 50 a second."""
FLAT = [Commit(n * 1000, n * 100, 1000) for n in range(10)]


def lag_row(partition: int, lag: int | None, lag_s: float | None = 60.0) -> Lag:
    return some(Lag, topic="orders", partition=partition, lag=lag, lag_s=lag_s, lag_basis="record", committed=5, status="ok")


@pytest.mark.parametrize(
    ("status", "commits", "lag", "said"),
    [
        ("unknown", FLAT, None, "Where the log ends is not known."),
        ("unknown", [], 5, "Nothing is committed here."),
        ("ok", FLAT, 0, "Nothing is left to read."),
        ("ok", FLAT[:1], 7, "It has committed once, which says nothing of its direction."),
        ("ok", [Commit(0, 5, 0), Commit(1, 6, 4)], 7, "It had caught up within its last 2 commits."),
        ("ok", FALLING, 550, "Its lag has fallen at times in its last 10 commits."),
        ("stop", FLAT, 9, "No commit for longer than its last 10 commits took, and records wait."),
        ("stop", FLAT[:1], 9, "No commit for longer than 30 s, and records wait."),
        ("rewind", [Commit(0, 5000, 1), Commit(1, 7, 4)], 9, "It committed 7 after 5\u202f000: it reads again."),
        ("stall", [Commit(0, 7, 1), Commit(1, 7, 4)], 9, "Its last 2 commits all say 7, and records wait."),
        ("warn", [Commit(0, 7, 1), Commit(1, 8, 4)], 9, "Its lag has not fallen in its last 2 commits: 1 then, 4 now."),
        ("between", FLAT, 9, "It reads in batches and is between two."),
    ],
)
def test_reasons(status: LagStatus, commits: list[Commit], lag: int | None, said: str) -> None:
    assert reason(status, commits, lag) == said


@pytest.mark.parametrize(
    ("commits", "lag", "seconds"),
    [
        (FALLING, 500, 10.0),
        (FLAT, 1000, math.inf),
        ([Commit(n * 1000, n, n) for n in range(10)], 9, math.inf),
        (FALLING[:1], 1000, None),
        (FALLING[:3], 900, None),
        ([Commit(n, n, 100 - n) for n in range(10)], 90, None),
        ([Commit(0, 0, 5000), *[Commit(90_000 + n * 1000, n, 1000 - n * 100) for n in range(9)]], 200, 2.0),
    ],
)
def test_a_partitions_speed_is_that_of_its_last_minute_of_commits(commits: list[Commit], lag: int, seconds: float | None) -> None:
    assert seconds_to_close(commits, lag) == seconds


def test_the_slowest_is_the_last_to_catch_up_or_one_that_never_does() -> None:
    commits = {("orders", 0): FALLING, ("orders", 1): FALLING, ("orders", 2): FLAT, ("orders", 3): FLAT}
    rows = [lag_row(0, 500), lag_row(1, 5000)]
    assert slowest(rows, commits) == (Place("orders", 1), 100.0)
    assert slowest([*rows, lag_row(2, 10), lag_row(3, 20)], commits) == (Place("orders", 3), None)
    assert slowest([lag_row(2, 10, 3.0), lag_row(3, 0)], commits) is None, "who keeps up is not waited for"
    assert slowest([lag_row(2, None), lag_row(7, 10)], commits) is None, "of what is not known nothing is said"


def test_a_group_is_as_slow_as_its_slowest_partition() -> None:
    def value(flat: bool) -> Group:
        facts = GroupFacts("billing", 1, feed.Group("billing", "Stable", "consumer", "range", 1, (some(feed.Member, member_id="m"),), ()))
        facts.commits = {("orders", 0): deque(FALLING), ("orders", 1): deque(FLAT if flat else FALLING)}
        facts.totals.extend(Sample(n * 10_000, 6500 - n * 400) for n in range(4))
        return group_value(facts, [lag_row(0, 300), lag_row(1, 5000)], 30_000, unknown=0, is_told=True)

    found = value(flat=False)
    assert (found.trend, found.eta_s, found.slowest) == ("catching_up", 132.5, Place("orders", 1))
    assert found.sentence.endswith("is catching up (about 2\u202fmin, orders-1 last).")
    stuck = value(flat=True)
    assert (stuck.trend, stuck.eta_s, stuck.slowest) == ("catching_up", None, Place("orders", 1))
    assert stuck.sentence.endswith("is catching up, but not on orders-1.")
    assert group_words(5300, None, "catching_up", None, slowest=stuck.slowest).endswith("is catching up, but not on orders-1.")
