"""What the console reads of a cluster's znodes, and that it follows them (SOURCES Z1, Z4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker_core.coordination.layout import DELETE_TOPICS, config_path, deletion_path, ensure_layout, partitions_path, state_path
from broker_core.coordination.memory import MemoryEnsemble, MemoryStore
from broker_core.coordination.znode_data import TopicAssignment, encode_config, encode_partition_state, encode_topic
from broker_core.model import LeaderAndIsr, TopicPartition
from console.gateway.zookeeper import ZooKeeperView
from console.live.state import ClusterState


class StateSink:
    """Puts what was read into a state, as the owner does; `told` is set with each word."""

    def __init__(self) -> None:
        self.state = ClusterState("local")
        self.told = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        def tell(*args: Any) -> None:
            if name == "loaded":
                pass
            elif name == "partition":
                self.state.set_partition(*args)
            elif name == "topic_gone":
                self.state.drop_topic(*args, 1000)
            else:
                getattr(self.state, f"set_{name}")(*args, 1000)
            self.told.set()

        return tell

    async def until(self, seen: Any) -> None:
        async with asyncio.timeout(10):
            while not seen():
                self.told.clear()
                await self.told.wait()


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    made = MemoryStore(MemoryEnsemble())
    await made.connect(1000)
    await ensure_layout(made)
    yield made
    await made.close()


@pytest.fixture
async def sink(store: MemoryStore) -> AsyncIterator[StateSink]:
    """Of a view that runs, over an own session."""
    found = StateSink()
    reader = MemoryStore(store.ensemble)
    running = asyncio.create_task(ZooKeeperView(reader, found, dict).run())
    yield found
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await reader.close()


async def make_topic(store: MemoryStore, name: str, partitions: int, *, epoch: int = 1) -> None:
    await store.create(config_path("topics", name), encode_config({"min.insync.replicas": "2"}))
    assigned = dict.fromkeys(range(partitions), (1, 2, 3))
    await store.create(f"/brokers/topics/{name}", encode_topic(TopicAssignment(None, assigned, {}, {})))
    await store.create(partitions_path(name), b"")
    for p in range(partitions):
        await store.create(f"{partitions_path(name)}/{p}", b"")
        await store.create(state_path(TopicPartition(name, p)), encode_partition_state(LeaderAndIsr(1, epoch, (1, 2, 3)), 1))


async def test_topics_to_be_deleted_are_read_and_followed(store: MemoryStore, sink: StateSink) -> None:
    """Those there at the start, those that come, and those that are done."""
    await store.create(deletion_path("early"), b"")
    await sink.until(lambda: sink.state.deleting == {"early"})
    await store.create(deletion_path("late"), b"")
    await sink.until(lambda: sink.state.deleting == {"early", "late"})
    await store.delete(deletion_path("early"))
    await sink.until(lambda: sink.state.deleting == {"late"})


async def test_a_cluster_that_never_deleted_anything_is_followed_too(store: MemoryStore, sink: StateSink) -> None:
    await sink.until(lambda: sink.state.registered is not None)
    await store.delete(DELETE_TOPICS)
    await store.create(DELETE_TOPICS, b"")
    await store.create(deletion_path("late"), b"")
    await sink.until(lambda: sink.state.deleting == {"late"})
