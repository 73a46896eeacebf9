"""What was learnt of groups' rhythms, from one owner of the live state to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from console.live.merging.state import ClusterState
from console.live.owner.kept_rhythms import ABSENT_LIMIT, Learnt
from console.live.owner.predecessor import kept_rhythms
from console.rules.rhythm import Cycle, Rhythm
from console.snapshot import compare, keys, write
from console.snapshot.connect import async_client
from tests.support.console_world import cluster_state
from tests.support.feed_rows import batch, claim, group_claim

ALL = [1, 2, 3]
USUAL = Rhythm((Cycle(120, 88), Cycle(120, 89)), 5_000)


def live(state: ClusterState, seconds: range) -> Iterator[dict[str, Any]]:
    """What changes each second under a reader that works for 30 s and rests for 90 s."""
    for second in seconds:
        now, end = 2_000 + second * 1000, 110 + second * 10
        worked = second if second % 120 < 30 else second - second % 120 + 29
        group = group_claim("billing", {"orders": {0: 110 + worked * 10}}, commit_ms=2_000 + worked * 1000)
        state.apply_batch(batch(1, [claim("orders", 0, 1, ALL, leader=1, isr=ALL, end=end + 10)], now, groups=[group]), now)
        for quiet in (2, 3):
            state.apply_batch(batch(quiet, [], now), now)
        state.tick(now)
        yield dict(state.take(now)[0])


def stored(redis: Any, values: dict[str, Any], now_ms: int) -> None:
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", values)
    write.beat(pipe, "local", now_ms, now_ms)
    pipe.execute()


async def recalled(now_ms: int) -> dict[str, Rhythm]:
    client = async_client()
    try:
        return await kept_rhythms(client, "local", now_ms)
    finally:
        await client.aclose()


@pytest.mark.parametrize("ends", [480, 540], ids=["while it works", "while it rests"])
async def test_a_restart_does_not_turn_the_page_yellow(redis: Any, ends: int) -> None:
    first = cluster_state(1_000, {"orders": 1})
    for values in live(first, range(ends)):
        stored(redis, {key: value for key, value in values.items() if key.startswith("rhythm/")}, 0)
    stored(redis, {}, 2_000 + ends * 1000)
    second = cluster_state(1_000, {"orders": 1}, rhythms=await recalled(2_000 + (ends + 5) * 1000))
    levels = [values["cluster"].verdict.level for values in live(second, range(ends + 5, ends + 300))]
    assert set(levels) == {"ok"}
    assert second.groups.values["billing"].rhythm_s == pytest.approx(120, abs=2)


async def test_what_is_kept_is_read_as_it_was_written(redis: Any) -> None:
    under_way = Rhythm((Cycle(120, 88.5),), 5_000, 47.0, is_out=True, is_warned=True)
    learnt = Learnt({"a/ü b": under_way})
    stored(redis, dict(learnt.take_changes()), 100_000)
    assert await recalled(104_000) == {"a/ü b": under_way._replace(peak_s=40.0)}
    assert await recalled(111_000) == {"a/ü b": under_way._replace(caught_up_ms=None, peak_s=0.0)}, "it may have caught up unseen"


@pytest.mark.parametrize("text", ["", "7", "{}", "[[[1]]]", "[null]", '{"cycles": null}'])
async def test_what_cannot_be_read_is_learnt_anew(redis: Any, text: str) -> None:
    redis.hset(keys.named("local", "rhythms"), "billing", text)
    assert await recalled(1_000) == {}


async def test_nothing_is_kept_of_who_was_never_behind_and_nothing_is_announced_twice() -> None:
    learnt = Learnt({})
    learnt.note("idle", Rhythm((), 5_000))
    learnt.note("billing", USUAL)
    assert dict(learnt.take_changes()) == {"rhythm/billing": USUAL}
    for peak_s in (0.0, 3.0, 9.9):
        learnt.note("billing", USUAL._replace(peak_s=peak_s))
        assert not dict(learnt.take_changes())
    learnt.note("billing", USUAL._replace(peak_s=10.1))
    assert dict(learnt.take_changes())


def test_a_group_that_nobody_names_for_a_while_keeps_its_rhythm() -> None:
    state = cluster_state(1_000, {"orders": 1})
    for _ in live(state, range(480)):
        pass
    known = state.groups.groups["billing"].rhythm
    now = 600_000
    state.apply_batch(batch(1, [], now, removed_groups=["billing"]), now)
    assert not [key for key, value in state.take(now)[0].items() if key.startswith("rhythm/") and value is None]
    assert "rhythm/billing" in state.everything(now)
    state.apply_batch(batch(2, [], now, groups=[group_claim("billing", {"orders": {0: 0}})]), now)
    assert state.groups.groups["billing"].rhythm == known


def test_groups_that_are_gone_for_good_are_forgotten_in_their_turn() -> None:
    learnt = Learnt({f"g{n}": USUAL for n in range(ABSENT_LIMIT)})
    dict(learnt.take_changes())
    learnt.put_by("one more", USUAL)
    assert dict(learnt.take_changes()) == {"rhythm/one%20more": USUAL, "rhythm/g0": None}
    assert len(learnt.everything()) == ABSENT_LIMIT


async def test_the_comparison_with_the_snapshot_knows_rhythms(redis: Any) -> None:
    stored(redis, dict.fromkeys(("rhythm/billing", "rhythm/gone"), USUAL), 0)
    client = async_client()
    try:
        assert await compare.differences(client, "local", ["rhythm/billing", "rhythm/new"]) == ({"rhythm/new"}, {"rhythm/gone"})
    finally:
        await client.aclose()
