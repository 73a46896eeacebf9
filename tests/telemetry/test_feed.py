"""The state feed: full answers in pages, deltas, holding, stale cursors, and what it costs when nobody looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from broker_core.contract.feed import Answer, Broker, Cursor, Follower, Group, Replica
from broker_core.contract.feed import TopicPartition as Removed
from broker_core.model import TopicPartition
from broker_core.telemetry import feed as feed_module
from broker_core.telemetry.feed import EVENTS_PER_ANSWER_MAX, StateFeed
from broker_core.telemetry.feed_wire import FeedRequest
from tests.support.admin_world import AdminWorld
from tests.support.feed_rows import claim, group_claim, says

BROKER = says(1, epoch=7)
T0 = TopicPartition("t", 0)


class Source:
    """Partitions and groups by hand; `changed` and `group_changed` are set while somebody watches."""

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, Replica] = {}
        self.groups: dict[str, Group] = {}
        self.changed: Callable[[TopicPartition], None] | None = None
        self.group_changed: Callable[[str], None] | None = None

    def broker(self) -> Broker:
        return BROKER

    def partition_keys(self) -> list[TopicPartition]:
        return list(self.partitions)

    def partition(self, tp: TopicPartition) -> Replica | None:
        return self.partitions.get(tp)

    def group_keys(self) -> list[str]:
        return list(self.groups)

    def group(self, group: str) -> Group | None:
        return self.groups.get(group)

    def watch(self, partition_changed: Callable[[TopicPartition], None], group_changed: Callable[[str], None]) -> None:
        self.changed, self.group_changed = partition_changed, group_changed

    def unwatch(self) -> None:
        self.changed = self.group_changed = None

    def put(self, topic: str, partition: int, leo: int, padding: str = "") -> None:
        tp = TopicPartition(topic, partition)
        row = claim(topic, partition, 1, [1], leader=1, isr=[1], end=leo)
        self.partitions[tp] = replace(row, followers=(Follower(2, reason=padding),))
        if self.changed is not None:
            self.changed(tp)


class Watcher:
    """A client of the feed without a connection."""

    def __init__(self, feed: StateFeed) -> None:
        self.feed = feed
        self.cursor: Cursor | None = None
        self.topics: frozenset[str] | None = None
        self.last_ms = 0.0
        self.epoch = -1

    async def ask(self, max_wait_ms: int = 0, min_interval_ms: int = 50, max_bytes: int = 1 << 20) -> Answer:
        request = FeedRequest(self.cursor, self.epoch, self.topics, min_interval_ms, max_wait_ms, max_bytes)
        answer = await self.feed.answer(request, self.last_ms)
        self.cursor = answer.cursor
        return answer


@pytest_asyncio.fixture
async def parts() -> AsyncIterator[tuple[Source, Watcher, AdminWorld]]:
    world = AdminWorld(1)
    source = Source()
    feed = StateFeed(world.node, source, lambda: 7)
    yield source, Watcher(feed), world
    feed.close()
    await world.spawn.close()


Parts = tuple[Source, Watcher, AdminWorld]


async def test_first_full_then_what_changed(parts: Parts) -> None:
    source, watcher, _ = parts
    source.put("t", 0, 5)
    source.groups["g"] = group = group_claim("g", {})
    full = await watcher.ask()
    assert (full.kind, full.first, full.more) == ("full", True, False)
    assert [row.log_end_offset for row in full.partitions] == [5]
    assert full.groups == [group]
    assert full.broker == BROKER
    assert (await watcher.ask()).partitions == []
    source.put("t", 0, 6)
    source.put("t", 0, 7)
    delta = await watcher.ask()
    assert (delta.kind, [row.log_end_offset for row in delta.partitions]) == ("delta", [7])
    del source.partitions[T0], source.groups["g"]
    assert source.changed is not None and source.group_changed is not None
    source.changed(T0)
    source.group_changed("g")
    gone = await watcher.ask()
    assert (gone.removed, gone.removed_groups) == ([Removed("t", 0)], ["g"])


async def test_a_full_answer_comes_in_pages(parts: Parts) -> None:
    """What changes between the pages is told again afterwards."""
    source, watcher, _ = parts
    for index in range(10):
        source.put("t", index, 0, "x" * 100)
    first = await watcher.ask(max_bytes=300)
    assert (first.first, first.more) == (True, True)
    source.put("t", 0, 9)
    rows, pages = list(first.partitions), 1
    while first.more:
        first = await watcher.ask(max_bytes=300)
        assert (first.kind, first.first) == ("full", False)
        rows += first.partitions
        pages += 1
    assert pages > 2
    assert [row.partition for row in rows] == list(range(10))
    assert [row.log_end_offset for row in (await watcher.ask()).partitions] == [9]


async def test_a_large_delta_goes_on(parts: Parts) -> None:
    source, watcher, _ = parts
    await watcher.ask()
    for index in range(6):
        source.put("t", index, 1, "x" * 100)
    first = await watcher.ask(max_bytes=300)
    assert first.more
    second = await watcher.ask(max_bytes=3000)
    assert not second.more
    assert [row.partition for row in first.partitions + second.partitions] == list(range(6))


async def test_a_request_is_held_until_something_changes(parts: Parts) -> None:
    source, watcher, _ = parts
    await watcher.ask()
    waiting = asyncio.ensure_future(watcher.ask(max_wait_ms=20_000))
    await asyncio.sleep(0)
    assert watcher.feed.held == 1
    source.put("t", 0, 1)
    answer = await asyncio.wait_for(waiting, 60)
    assert [row.log_end_offset for row in answer.partitions] == [1]
    assert watcher.feed.held == 0


async def test_the_longest_wait_ends_without_news(parts: Parts) -> None:
    _, watcher, _ = parts
    await watcher.ask()
    assert (await asyncio.wait_for(watcher.ask(max_wait_ms=10), 60)).partitions == []


async def test_changes_wait_for_the_least_interval(parts: Parts) -> None:
    source, watcher, world = parts
    await watcher.ask()
    watcher.last_ms = world.node.clock.monotonic_ms()
    source.put("t", 0, 1)
    started_ms = watcher.last_ms
    await watcher.ask(max_wait_ms=20_000, min_interval_ms=80)
    assert world.node.clock.monotonic_ms() - started_ms >= 79


async def test_who_wants_few_answers_holds_up_nobody_else(parts: Parts) -> None:
    source, watcher, world = parts
    rare = Watcher(watcher.feed)
    await watcher.ask()
    await rare.ask()
    source.put("t", 0, 1)
    await watcher.ask()
    rare.last_ms = world.node.clock.monotonic_ms()
    held = asyncio.ensure_future(rare.ask(max_wait_ms=30_000, min_interval_ms=30_000))
    waiting = asyncio.ensure_future(watcher.ask(max_wait_ms=30_000))
    await asyncio.sleep(0)
    assert watcher.feed.held == 2
    source.put("t", 0, 2)
    answer = await asyncio.wait_for(waiting, 60)
    assert [row.log_end_offset for row in answer.partitions] == [2]
    assert not held.done()
    held.cancel()


async def test_a_filter_names_topics(parts: Parts) -> None:
    source, watcher, _ = parts
    watcher.topics = frozenset({"t"})
    source.put("t", 0, 1)
    source.put("u", 0, 1)
    assert [row.topic for row in (await watcher.ask()).partitions] == ["t"]
    source.put("u", 0, 2)
    assert (await watcher.ask()).partitions == []


async def test_stale_cursors_get_everything_again(parts: Parts) -> None:
    """Another life of the watch, another broker epoch."""
    source, watcher, _ = parts
    source.put("t", 0, 1)
    await watcher.ask()
    watcher.epoch = 6
    assert (await watcher.ask()).kind == "full"
    watcher.epoch = 7
    assert (await watcher.ask()).kind == "delta"
    assert watcher.cursor is not None
    watcher.cursor = watcher.cursor._replace(watch="another")
    assert (await watcher.ask()).kind == "full"


async def test_a_cursor_from_before_what_is_forgotten_gets_everything_again(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "CHANGES_MAX", 3)
    source, _, world = parts
    feed = StateFeed(world.node, source, lambda: 7)
    watcher, late = Watcher(feed), Watcher(feed)
    await watcher.ask()
    await late.ask()
    source.put("t", 0, 1)
    for number in range(3):
        assert source.group_changed is not None
        source.group_changed(f"tool-{number}")
        await watcher.ask()
    source.put("t", 1, 1)
    assert [row.partition for row in (await watcher.ask()).partitions] == [1]
    everything = await late.ask()
    assert (everything.kind, everything.first) == ("full", True)
    assert [row.partition for row in everything.partitions] == [0, 1]
    feed.close()


async def test_nothing_is_marked_while_nobody_looks(parts: Parts, monkeypatch: Any) -> None:
    source, watcher, _ = parts
    assert source.changed is None
    monkeypatch.setattr(feed_module, "UNWATCHED_AFTER_MS", 1)
    await watcher.ask()
    assert source.changed is not None
    watcher.feed._last_request_ms = -1e9
    watcher.feed._check_idle()
    assert source.changed is None
    assert (await watcher.ask()).kind == "full"


async def test_events_are_told_once(parts: Parts) -> None:
    _, watcher, _ = parts
    watcher.feed.add_event("stranger", "of t-0", T0)
    assert [event.text for event in (await watcher.ask()).events] == ["of t-0"]
    assert (await watcher.ask()).events == []
    for number in range(EVENTS_PER_ANSWER_MAX + 1):
        watcher.feed.add_event("stranger", str(number))
    assert len((await watcher.ask()).events) == EVENTS_PER_ANSWER_MAX
    assert len((await watcher.ask()).events) == 1
