"""A node with an in-memory store and a metadata cache that a test fills by hand, for admin and handlers."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from broker_core.admin.service import AdminService
from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.coordination.layout import ensure_layout, topic_path
from broker_core.coordination.znode_data import TopicAssignment, decode_topic
from broker_core.metadata.cache import MetadataCache
from broker_core.seams import Disk, Network, Node
from broker_core.server.adapters.clock import RealClock
from broker_core.server.adapters.spawn import RealSpawn
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble


class SeededEntropy:
    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def random(self) -> float:
        return self._random.random()


class AdminWorld:
    """`async with`-less on purpose: `await AdminWorld.start()` in a test, `await world.close()` in its fixture."""

    def __init__(self, broker_id: int, **settings: str) -> None:
        clock = RealClock()
        self.ensemble = MemoryEnsemble(clock.now_ms)
        self.store = MemoryStore(self.ensemble, clock)
        self.spawn = RealSpawn()
        self.node = Node(clock, self.spawn, SeededEntropy(), cast(Disk, None), cast(Network, None), self.store)
        self.config = ConfigHolder(BrokerConfig.load({"broker.id": str(broker_id), **settings}))
        self.metadata = MetadataCache("cluster")
        self.admin = AdminService(self.node, self.config, self.metadata, broker_id)

    @classmethod
    async def start(cls, broker_id: int = 1, brokers: int = 3, **settings: str) -> AdminWorld:
        world = cls(broker_id, **settings)
        await world.store.connect(5000)
        await ensure_layout(world.store)
        world.set_brokers(range(brokers))
        return world

    async def close(self) -> None:
        await self.admin.watcher.stop()
        await self.spawn.close()
        await self.store.close()

    def set_brokers(self, ids: Any, racks: dict[int, str] | None = None) -> None:
        self._update([], [_broker(broker_id, (racks or {}).get(broker_id)) for broker_id in ids])

    def lead(self, topic: str, partitions: dict[int, int], topic_id: UUID | None = None, replicas: tuple[int, ...] = (0, 1, 2)) -> None:
        """Puts a topic into the metadata cache: partition → leader (-1 none, -2 deletes it)."""
        states = [
            SimpleNamespace(
                partition_index=index, leader=leader, leader_epoch=3, isr=replicas, replicas=replicas, offline_replicas=(), zk_version=0
            )
            for index, leader in partitions.items()
        ]
        live = [_broker(broker.broker_id, broker.rack) for broker in self.metadata.live_brokers()]
        self._update([SimpleNamespace(topic_name=topic, topic_id=topic_id, partition_states=states)], live)

    async def assignment(self, topic: str) -> TopicAssignment:
        return decode_topic(topic, (await self.store.get(topic_path(topic)))[0])

    def _update(self, topics: list[Any], brokers: list[Any]) -> None:
        self.metadata.update(SimpleNamespace(controller_id=1, topic_states=topics, live_brokers=brokers), 0)


def _broker(broker_id: int, rack: str | None) -> Any:
    endpoint = SimpleNamespace(listener="PLAINTEXT", host="127.0.0.1", port=9092 + broker_id, security_protocol=0)
    return SimpleNamespace(id_=broker_id, endpoints=[endpoint], rack=rack)
