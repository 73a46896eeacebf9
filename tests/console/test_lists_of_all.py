"""What is said of all groups and partitions comes from indexes that are kept by difference, not from the first few by name."""

from __future__ import annotations

import time
from typing import Any

from django.test import Client

from console import queries
from console.live.merging.unsafe_partitions import Troubled
from console.snapshot import write
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import AHEAD_MS
from tests.support.console_world import add_topic, cluster_state
from tests.support.feed_rows import batch, claim, group_claim
from tests.support.live_rows import partition

MANY = 700


def written(redis: Any, state: Any, now_ms: int) -> None:
    """As `live` does: only what changed."""
    pipe = redis.pipeline(transaction=True)
    write.put(pipe, "local", state.take(now_ms)[0])
    ahead_ms = time.time_ns() // 1_000_000 + AHEAD_MS
    write.beat(pipe, "local", ahead_ms, ahead_ms)
    pipe.execute()


def many_groups(redis: Any) -> Any:
    """`g000` to `g699` read orders-0; the last by name lags the most, `zz` reads clicks only."""
    state = cluster_state(1000)
    groups = [group_claim(f"g{n:03}", {"orders": {0: 90 - n // 10}}, members=0) for n in range(MANY)]
    state.apply_batch(batch(1, [], 1100, groups=[*groups, group_claim("zz", {"clicks": {0: 89}}, members=0)]), 1100)
    written(redis, state, 1200)
    return state


def test_the_most_lag_is_found_among_all_groups(redis: Any, people: dict[str, Client], kafka: Any, monkeypatch: Any) -> None:
    state = many_groups(redis)
    monkeypatch.setattr(Snapshot, "group_names", lambda _self: 1 / 0)
    shown = people["viewer"].get("/").context["groups_behind"]
    assert [group.lag for group in shown] == [69] * 10
    assert {group.group for group in shown} == {f"g{n}" for n in range(690, 700)}
    state.apply_batch(batch(1, [], 2000, groups=[group_claim("g699", {"orders": {0: 90}}, members=0)], removed_groups=["g698"]), 2000)
    written(redis, state, 2100)
    names = [group.group for group in queries.groups_behind(Snapshot("local"))]
    assert "g699" not in names and "g698" not in names and len(names) == queries.GROUPS_SHOWN


def test_read_by_looks_at_all_groups_and_tells_the_lag_here(redis: Any, people: dict[str, Client], kafka: Any) -> None:
    state = many_groups(redis)
    rows, more = queries.groups_reading(Snapshot("local"), "orders")
    assert (len(rows), more) == (queries.READERS_SHOWN, MANY + 1 - queries.READERS_SHOWN)
    assert rows[0].lag == 69
    assert [row.group for row in queries.groups_reading(Snapshot("local"), "clicks")[0]] == ["zz"]
    assert "651 more groups read it." in people["viewer"].get("/topics/orders").content.decode()
    both = group_claim("zz", {"clicks": {0: 89}, "orders": {0: 80, 1: 70}}, members=0)
    state.apply_batch(batch(1, [], 2000, groups=[both]), 2000)
    written(redis, state, 2100)
    (reader,), more = queries.groups_reading(Snapshot("local"), "clicks")
    assert (reader.group, reader.lag, reader.state, more) == ("zz", 1, "Empty", 0)
    here = {row.group: row.lag for row in Snapshot("local").readers("orders", 1000)[0]}
    assert here["zz"] == 30
    state.apply_batch(batch(1, [], 3000, groups=[group_claim("zz", {"orders": {0: 80}}, members=0)]), 3000)
    written(redis, state, 3100)
    assert queries.groups_reading(Snapshot("local"), "clicks") == ([], 0)
    state.apply_batch(batch(1, [], 4000, removed_groups=["zz"]), 4000)
    written(redis, state, 4100)
    assert "zz" not in {row.group for row in Snapshot("local").readers("orders", 1000)[0]}


def test_the_counter_of_what_is_troubled_follows(redis: Any, people: dict[str, Client], kafka: Any) -> None:
    """It stood at 0 beside six troubled cards: it was written with the page and never after."""
    state = cluster_state(1000)
    add_topic(state, "strict", 6, 1000)
    state.apply_batch(batch(1, [claim("strict", p, 1, [1, 2, 3], leader=1, isr=[1], end=9, leader_epoch=6) for p in range(6)], 1000), 1000)
    written(redis, state, 1100)
    topic = state.everything(1100)["topic/strict"]
    assert (topic.troubled, state.everything(1100)["cluster"].troubled_topics) == (6, 1)
    for path, key, field, count in (("/topics/strict", "topic/strict", "troubled", 6), ("/topics", "cluster", "troubled_topics", 1)):
        page = people["viewer"].get(path)
        assert page.context["views"][1]["count"] == count
        assert (
            f'data-key="{key}" data-field="{field}" data-as="whole" data-warn-above="0" data-level="warn">{count}</span>'
            in page.content.decode()
        )
    assert len(people["viewer"].get("/topics/strict?troubled=1").context["rows"]) == 6
    state.drop_topic("strict", 2000)
    written(redis, state, 2100)
    assert state.everything(2100)["cluster"].troubled_topics == 0


def test_troubled_is_kept_by_difference() -> None:
    troubled = Troubled()
    bad, good = partition(state="offline"), partition(state="safe")
    assert troubled.note({("a", 0): bad, ("a", 1): bad, ("b", 0): good}) == {"a"}
    assert (troubled.of("a"), troubled.of("b"), len(troubled)) == (2, 0, 1)
    assert troubled.note({("a", 0): bad}) == set()
    assert troubled.note({("a", 0): good, ("a", 1): None}) == {"a"}
    assert (troubled.of("a"), len(troubled)) == (0, 0)
