"""The rounds against a cluster that only counts: how much is asked at once, and what a broker that fails costs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from broker_core.contract import feed
from console.collector import asking
from console.collector.asking import BROKERS_AT_ONCE, Asking
from console.collector.pace import EVERY_MS, GROUPS_A_REQUEST, PARTITIONS_A_REQUEST, TOPICS_A_REQUEST, Pace
from console.gateway.answers import (
    Controller,
    Folder,
    ListedGroup,
    Metadata,
    Move,
    Node,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    TopicSettings,
)
from console.gateway.errors import ClusterUnreachable
from console.live.merging.asked_state import AskedState
from console.live.merging.questions import Questions

BROKERS = (1, 2, 3, 4)


class Simulated:
    """1 000 topics of ten partitions on four brokers, and 2 000 groups; `away` brokers answer nothing."""

    def __init__(self, topics: int = 1_000, groups: int = 2_000) -> None:
        self.away: set[int] = set()
        self.asked: Counter[tuple[str, int]] = Counter()
        self.most: Counter[str] = Counter()
        self.at_once, self.most_at_once = 0, 0
        self.settings_of: list[str] = []
        self.written = 0
        self._lock = threading.Lock()
        self._groups = [f"g{number}" for number in range(groups)]
        self.told = Metadata(
            {b: Node("127.0.0.1", b, None) for b in BROKERS},
            1,
            {
                f"t{topic}": TopicMetadata(
                    f"id-{topic}",
                    False,
                    {p: PartitionMetadata(1 + p % 4, 0, (1 + p % 4, 1 + (p + 1) % 4), (1 + p % 4,), ()) for p in range(10)},
                )
                for topic in range(topics)
            },
        )

    def _request(self, what: str, broker: int, size: int) -> None:
        with self._lock:
            self.asked[what, broker] += 1
            self.most[what] = max(self.most[what], size)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(0)
        with self._lock:
            self.at_once -= 1
        if broker in self.away:
            raise ClusterUnreachable(f"broker {broker} is away")

    def close(self) -> None:
        """Nothing was opened."""

    def metadata(self, node: int | None = None) -> Metadata:
        self._request("metadata", node or 0, 1)
        if self.away == set(BROKERS):
            raise ClusterUnreachable("nobody answers")
        return self.told

    def quorum_controller(self, node: int | None = None) -> Controller | None:
        return None

    def moves(self) -> dict[TopicPartition, Move]:
        return {}

    def settings(self, names: Sequence[str]) -> dict[str, TopicSettings]:
        self._request("settings", 0, len(names))
        self.settings_of += names
        return {name: TopicSettings({}, 1, False) for name in names}

    def offsets(self, leader: int, partitions: Iterable[TopicPartition], timestamp: int, isolation: int = 0) -> dict[TopicPartition, int]:
        asked = list(partitions)
        self._request("offsets", leader, len(asked))
        self.written += 1
        return dict.fromkeys(asked, self.written)

    def folders(self, broker: int, partitions: Iterable[TopicPartition]) -> list[Folder]:
        asked = list(partitions)
        self._request("folders", broker, len(asked))
        return [Folder("/a", None, 100, 50, dict.fromkeys(asked, 5))]

    def groups(self, broker: int) -> list[ListedGroup]:
        self._request("groups", broker, 1)
        return [ListedGroup(name, "consumer", "classic", "Stable") for name in self._groups[broker - 1 :: 4]]

    def classic_groups(self, broker: int, names: Sequence[str]) -> dict[str, feed.Group]:
        self._request("described", broker, len(names))
        return {name: feed.Group(name, "Stable", "consumer", "range", None, (), ()) for name in names}

    consumer_groups = classic_groups

    def committed(self, broker: int, names: Sequence[str]) -> dict[str, tuple[feed.Committed, ...]]:
        self._request("committed", broker, len(names))
        return {name: (feed.Committed("t0", 0, 3),) for name in names}


class Stage:
    def __init__(self, cluster: Simulated) -> None:
        self.cluster, self.state = cluster, AskedState("foreign", Questions(EVERY_MS, 0))
        self.asking: Any = Asking(cluster, self.state, EVERY_MS, lambda: None)  # type: ignore[arg-type]

    async def round(self, kind: str) -> Any:
        self.cluster.asked.clear()
        return await getattr(self.asking, f"_{kind}")(Pace(EVERY_MS[kind]))  # type: ignore[index]


@pytest.fixture(autouse=True)
def without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies between requests is `test_pace`'s."""
    monkeypatch.setattr(asking, "gap_ms", lambda requests, every_ms: 0.0)


async def test_a_large_cluster_is_asked_in_few_small_requests() -> None:
    cluster = Simulated()
    stage = Stage(cluster)
    for kind in ("metadata", "configs", "offsets", "log_dirs", "groups"):
        await stage.round(kind)
    most = {"offsets": PARTITIONS_A_REQUEST, "folders": PARTITIONS_A_REQUEST, "described": GROUPS_A_REQUEST, "committed": GROUPS_A_REQUEST}
    assert {what: cluster.most[what] for what in most} == most
    assert cluster.most["settings"] == TOPICS_A_REQUEST
    assert cluster.most_at_once <= BROKERS_AT_ONCE
    await stage.round("offsets")
    assert {broker: cluster.asked["offsets", broker] for broker in BROKERS} == {1: 9, 2: 9, 3: 6, 4: 6}
    await stage.round("groups")
    assert {broker: cluster.asked["described", broker] for broker in BROKERS} == dict.fromkeys(BROKERS, 10)
    assert {broker: cluster.asked["committed", broker] for broker in BROKERS} == dict.fromkeys(BROKERS, 10)
    stage.state.take(1)
    assert len(stage.state.values) == 10_000
    assert len(stage.state.groups.groups) == 2_000
    stage.asking.close()


async def test_what_is_written_between_two_questions_is_no_open_transaction() -> None:
    stage = Stage(Simulated(topics=1, groups=0))
    await stage.round("metadata")
    await stage.round("offsets")
    stage.state.take(1)
    assert all(value.last_stable_offset == value.high_watermark for value in stage.state.values.values())
    stage.asking.close()


async def test_a_broker_that_does_not_answer_costs_one_request_a_round() -> None:
    cluster = Simulated()
    stage = Stage(cluster)
    await stage.round("metadata")
    cluster.away = {2}
    found = await stage.round("offsets")
    assert cluster.asked["offsets", 2] == 1
    assert cluster.asked["offsets", 1] == 9
    assert found.error() == "broker 2: CLUSTER_UNREACHABLE: broker 2 is away"
    now = time.time_ns() // 1_000_000
    assert set(stage.state.silent(now)) == {2}
    cluster.away = set(BROKERS)
    with pytest.raises(ClusterUnreachable):
        await stage.round("offsets")
    with pytest.raises(ClusterUnreachable):
        await stage.round("metadata")
    stage.asking.close()


async def test_nothing_else_is_asked_while_the_metadata_cannot_be_had() -> None:
    cluster = Simulated(topics=1, groups=1)
    cluster.away = set(BROKERS)
    stage = Stage(cluster)
    task = asyncio.create_task(stage.asking.run())
    while stage.state.questions.error("metadata") is None:
        await asyncio.sleep(0.01)
    assert {what for what, _ in cluster.asked} == {"metadata"}
    cluster.away = set()
    while stage.state.questions.last_ms("groups") is None:
        await asyncio.sleep(0.01)
    assert stage.state.questions.error("metadata") is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    stage.asking.close()


async def test_what_was_changed_through_the_console_is_asked_for_at_once() -> None:
    cluster = Simulated(topics=3, groups=1)
    stage = Stage(cluster)
    task = asyncio.create_task(stage.asking.run())
    while stage.asking._taken.unsettled() or not stage.state.topics:
        await asyncio.sleep(0.01)
    cluster.settings_of.clear()
    stage.asking.hurry("configs", "t1")
    while len(cluster.settings_of) < 2:
        await asyncio.sleep(0.01)
    assert cluster.settings_of == ["t1", "t1"]
    before = cluster.asked["metadata", 1]
    stage.asking.hurry("metadata")
    while cluster.asked["metadata", 1] < before + 2:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    stage.asking.close()
