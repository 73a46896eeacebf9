"""What the console reads of a cluster's znodes, and that it follows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker_core.contract.live import Age
from broker_core.contract.partitions import Partition
from broker_core.coordination.layout import (
    CONTROLLER,
    DELETE_TOPICS,
    SUSPICIONS,
    broker_path,
    config_path,
    deletion_path,
    ensure_layout,
    partitions_path,
    state_path,
    suspicion_path,
)
from broker_core.coordination.store import SessionExpired
from broker_core.coordination.znode_data import (
    TopicAssignment,
    encode_broker,
    encode_config,
    encode_controller,
    encode_partition_state,
    encode_topic,
)
from broker_core.model import BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition
from console.gateway.watched import READS_AT_ONCE
from console.gateway.zookeeper import ZooKeeperView
from console.live.merging.state import ClusterState
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble

pytestmark = pytest.mark.spec("Z1", "Z4")


class StateSink:
    """Puts what was read into a state, as the owner does; `told` is set with each word."""

    def __init__(self) -> None:
        self.state = ClusterState("local")
        self.told = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        def tell(*args: Any) -> None:
            if name == "loaded":
                pass
            elif name == "store_true":
                self.state.store_was_true(*args)
            elif name == "mended":
                self.state.store_mended(*args, 1000)
            elif name == "partition":
                self.state.set_partition(*args)
            elif name == "topic_gone":
                self.state.drop_topic(*args, 1000)
            else:
                getattr(self.state, f"set_{name}")(*args, 1000)
            self.told.set()

        return tell

    async def until(self, seen: Any) -> None:
        async with asyncio.timeout(60):
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


async def test_all_partitions_of_a_change_are_followed(store: MemoryStore, sink: StateSink) -> None:
    """More than are read at once, each of them twice; a topic that comes in their midst is not lost."""
    await make_topic(store, "wide", READS_AT_ONCE * 2 + 50)
    wide = {("wide", p) for p in range(READS_AT_ONCE * 2 + 50)}

    def epochs() -> set[int | None]:
        return {value.leader_epoch for value in sink.state.take(1000)[0].values() if isinstance(value, Partition)}

    await sink.until(lambda: sink.state.partitions.facts.keys() == wide and all(f.store for f in sink.state.partitions.facts.values()))
    assert epochs() == {1}
    for epoch in (2, 3):
        for _, p in sorted(wide):
            await store.set(state_path(TopicPartition("wide", p)), encode_partition_state(LeaderAndIsr(2, epoch, (2, 3)), 1))
        if epoch == 2:
            await make_topic(store, "late", 1)
    await sink.until(lambda: {f.store[1] for tp, f in sink.state.partitions.facts.items() if f.store and tp in wide} == {3})
    await sink.until(lambda: "late" in sink.state.topics and ("late", 0) in sink.state.partitions.facts)


async def test_a_partition_without_state_is_awaited(store: MemoryStore, sink: StateSink) -> None:
    """The controller writes it a little after the assignment."""
    await store.create("/brokers/topics/slow", encode_topic(TopicAssignment(None, {0: (1, 2)}, {}, {})))
    await store.create(partitions_path("slow"), b"")
    await sink.until(lambda: "slow" in sink.state.topics)
    await store.create(f"{partitions_path('slow')}/0", b"")
    await store.create(state_path(TopicPartition("slow", 0)), encode_partition_state(LeaderAndIsr(1, 0, (1, 2)), 1))
    await sink.until(lambda: sink.state.partitions.facts[("slow", 0)].store is not None)


async def test_a_store_that_is_cut_off_is_told_of_until_it_is_back(store: MemoryStore, sink: StateSink) -> None:
    await sink.until(lambda: sink.state.registered is not None)
    for session_id in [s for s in store.ensemble.session_ids if s != store.session_id]:
        store.ensemble.expire(session_id)
    await sink.until(lambda: sink.state.store_is_away(9_000))
    await sink.until(lambda: not sink.state.store_is_away(9_000))


async def test_a_new_session_reads_everything_again(store: MemoryStore, sink: StateSink) -> None:
    await make_topic(store, "orders", 1)
    await sink.until(lambda: "orders" in sink.state.topics)
    for session_id in [s for s in store.ensemble.session_ids if s != store.session_id]:
        store.ensemble.expire(session_id)
    await store.create(deletion_path("orders"), b"")
    await sink.until(lambda: sink.state.deleting == {"orders"})


async def register(store: MemoryStore, *broker_ids: int, early: bool = True) -> dict[int, int]:
    """Their epochs."""
    epochs = {}
    for broker_id in broker_ids:
        info = BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "h", 9092),), None, -1, early_failover=early)
        await store.create(broker_path(broker_id), encode_broker(info, 1))
        found = await store.exists(broker_path(broker_id))
        assert found is not None
        epochs[broker_id] = found.czxid
    return epochs


async def test_a_broker_is_gone_once_most_and_the_controller_see_it_refuse(store: MemoryStore, sink: StateSink) -> None:
    """The list of those that say so may be made after the view has begun, as by the first broker that acts so."""
    epochs = await register(store, 1, 2, 3, 4)
    await store.create(CONTROLLER, encode_controller(2, 1))
    await sink.until(lambda: sink.state.alive() == {1, 2, 3, 4} and sink.state.controller[0] == 2)
    await store.create(SUSPICIONS, b"")
    for witness in (1, 3, 4):
        await store.create(suspicion_path(2, epochs[2], witness), b"")
    await sink.until(lambda: sink.state.alive() == {1, 3, 4})
    assert sink.state.registered[2].gone_by == (1, 3, 4)  # type: ignore[index]
    await store.set(CONTROLLER, encode_controller(1, 1))
    await sink.until(lambda: sink.state.controller[0] == 1)
    assert sink.state.alive() == {1, 3, 4}
    await store.delete(suspicion_path(2, epochs[2], 4))
    await sink.until(lambda: sink.state.alive() == {1, 2, 3, 4})


async def test_who_answers_the_controller_is_not_gone_until_another_is_it(store: MemoryStore, sink: StateSink) -> None:
    epochs = await register(store, 1, 2, 3, 4, 5)
    await store.create(CONTROLLER, encode_controller(5, 1))
    await store.create(SUSPICIONS, b"")
    for witness in (1, 2, 3):
        await store.create(suspicion_path(4, epochs[4], witness), b"")
    await store.create(deletion_path("told"), b"")
    await sink.until(lambda: sink.state.deleting == {"told"} and sink.state.controller[0] == 5)
    assert sink.state.alive() == {1, 2, 3, 4, 5}
    await store.set(CONTROLLER, encode_controller(1, 1))
    await sink.until(lambda: sink.state.alive() == {1, 2, 3, 5})


async def test_where_one_does_not_act_so_sessions_alone_decide(store: MemoryStore, sink: StateSink) -> None:
    epochs = await register(store, 1, 2, 3)
    await register(store, 4, early=False)
    await store.create(SUSPICIONS, b"")
    for witness in (1, 2, 4):
        await store.create(suspicion_path(3, epochs[3], witness), b"")
    await store.create(deletion_path("told"), b"")
    await sink.until(lambda: sink.state.deleting == {"told"} and len(sink.state.registered or ()) == 4)
    assert sink.state.alive() == {1, 2, 3, 4}


def watchless(store: MemoryStore) -> MemoryStore:
    """Its client forgets every watch: as if events were lost on the way."""
    store._watches.add_data = store._watches.add_child = lambda *_: None  # type: ignore[method-assign]
    return store


async def test_what_changed_untold_is_found_and_read_again(store: MemoryStore) -> None:
    """Versions and children are compared: a topic more, one less, a leader, a setting, a broker, a deletion."""
    for name in ("orders", "clicks"):
        await make_topic(store, name, 2)
    sink = StateSink()
    reader = watchless(MemoryStore(store.ensemble))
    view = ZooKeeperView(reader, sink, dict)
    await reader.connect(1000)
    await view._read_all()
    await view.check()
    assert not sink.state.take(1000)[1]
    await make_topic(store, "late", 1)
    await store.delete(f"{partitions_path('clicks')}/0/state")
    for path in ("clicks/partitions/0", "clicks/partitions/1/state", "clicks/partitions/1", "clicks/partitions", "clicks"):
        await store.delete(f"/brokers/topics/{path}")
    await store.set(state_path(TopicPartition("orders", 1)), encode_partition_state(LeaderAndIsr(2, 7, (2, 3)), 1))
    await store.set(config_path("topics", "orders"), encode_config({"min.insync.replicas": "1"}))
    await store.create(deletion_path("orders"), b"")
    following = asyncio.create_task(view._follow())
    await view.check()
    await sink.until(lambda: sink.state.topics.keys() == {"orders", "late"} and sink.state.deleting == {"orders"})
    await sink.until(lambda: sink.state.partitions.facts[("orders", 1)].store == (2, 7, [2, 3]))
    await sink.until(lambda: sink.state.topics["orders"].min_insync_replicas == 1)
    told = [event for event in sink.state.take(2000)[1] if event.kind == "view_mended"]
    assert len(told) == 1
    assert "without word of a change" in told[0].sentence
    await sink.until(lambda: view._watched.is_idle() and view._watched.true_ms() > 0)
    await view.check()
    assert not [event for event in sink.state.take(3000)[1] if event.kind == "view_mended"]
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await reader.close()


async def test_the_view_is_as_old_as_the_oldest_change_that_waits(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that nobody reads makes it old, however well ZooKeeper answers; in the end everything is read anew."""
    clock = [1_000_000]
    monkeypatch.setattr("console.gateway.zookeeper.now_ms", lambda: clock[0])
    sink = StateSink()
    reader = MemoryStore(store.ensemble)
    view = ZooKeeperView(reader, sink, dict)
    await reader.connect(1000)
    await view._read_all()
    await view.pulse()
    assert sink.state.parts(1_000_500).store == Age("live", 500, 1_000_000)
    await store.create(deletion_path("orders"), b"")
    await view.pulse()
    clock[0] += 20_000
    await view.pulse()
    assert sink.state.parts(clock[0]).store == Age("lost", 20_000, 1_000_000)
    assert sink.state.oldest_ms(clock[0]) == 1_000_000
    clock[0] += 60_000
    with pytest.raises(SessionExpired):
        await view.pulse()
    await reader.close()
