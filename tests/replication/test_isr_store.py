"""Writing and announcing ISR changes."""

from __future__ import annotations

import pytest

from broker_core.coordination.layout import ISR_CHANGES, broker_path, state_path
from broker_core.coordination.store import ConnectionLoss
from broker_core.coordination.znode_data import decode_isr_change, decode_partition_state, encode_partition_state
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.replication.isr.isr_store import (
    IsrAnnouncer,
    Newcomer,
    Outcome,
    Refused,
    Withdrawn,
    Written,
    write_isr,
)
from broker_core.seams import Node
from tests.simulation.kernel.life import STORE
from tests.simulation.kernel.world import World

TP = TopicPartition("t", 0)


class StoreWorld:
    """One leader's node and the znode of one partition, written by controller epoch 4."""

    def __init__(self) -> None:
        self.world = World(1)
        self.world.add("b1", start=True)
        self.world.run("b1", self._prepare)
        self.wanted = True

    async def _prepare(self, node: Node) -> None:
        await node.store.connect(6_000)
        parents = ("/brokers", "/brokers/ids", "/brokers/topics", "/brokers/topics/t", "/brokers/topics/t/partitions")
        for path in (*parents, "/brokers/topics/t/partitions/0", ISR_CHANGES):
            await node.store.create(path, b"")
        await node.store.create(state_path(TP), encode_partition_state(LeaderAndIsr(1, 3, (1, 2)), 4))

    def write(self, isr: tuple[int, ...], version: int, newcomer: Newcomer | None = None) -> Outcome:
        proposal = LeaderAndIsr(1, 3, isr, version)

        async def run(node: Node) -> Outcome:
            return await write_isr(node, TP, proposal, 4, newcomer=newcomer, still_wanted=lambda: self.wanted)

        return self.world.run("b1", run)

    def overwrite(self, state: LeaderAndIsr) -> None:
        self.world.run("b1", lambda node: node.store.set(state_path(TP), encode_partition_state(state, 5)))

    def stored(self) -> tuple[LeaderAndIsr, int]:
        async def read(node: Node) -> tuple[LeaderAndIsr, int]:
            data, stat = await node.store.get(state_path(TP))
            return decode_partition_state(TP, data, stat.version)

        return self.world.run("b1", read)

    def announced(self) -> list[list[TopicPartition]]:
        async def read(node: Node) -> list[list[TopicPartition]]:
            names = await node.store.children(ISR_CHANGES)
            return [decode_isr_change((await node.store.get(f"{ISR_CHANGES}/{name}"))[0]) for name in names]

        return self.world.run("b1", read)


@pytest.fixture
def store() -> StoreWorld:
    return StoreWorld()


def test_a_conditional_write(store: StoreWorld) -> None:
    assert store.write((1,), 0) == Written((1,), 1)
    assert store.stored() == (LeaderAndIsr(1, 3, (1,), 1), 4)


def test_another_leader_or_controller_has_written(store: StoreWorld) -> None:
    store.overwrite(LeaderAndIsr(2, 4, (2,)))
    assert store.write((1,), 0) == Refused()
    assert store.stored()[0].leader == 2


def test_our_own_earlier_write_is_taken_over(store: StoreWorld) -> None:
    store.overwrite(LeaderAndIsr(1, 3, (1, 2, 3)))
    assert store.write((1,), 0) == Written((1, 2, 3), 1)


def test_a_lost_reply(store: StoreWorld) -> None:
    store.world.lose_store_reply("b1", "set")
    assert store.write((1,), 0) == Written((1,), 1)


def test_a_deleted_partition(store: StoreWorld) -> None:
    store.world.run("b1", lambda node: node.store.delete(state_path(TP)))
    assert store.write((1,), 0) == Refused()


def test_no_answer_until_nobody_wants_it(store: StoreWorld) -> None:
    store.world.cut("b1", STORE)
    store.world.at(30_000, lambda: setattr(store, "wanted", False))
    store.world.at(40_000, lambda: store.world.heal("b1", STORE))
    assert store.write((1,), 0) == Withdrawn()


def test_a_newcomer_is_registered_as_it_said(store: StoreWorld) -> None:
    """KAFKA-15221, KAFKA-14140."""
    assert store.write((1, 2, 3), 0, Newcomer(3, 7)) == Withdrawn()

    async def register(node: Node) -> int:
        await node.store.create(broker_path(3), b"")
        stat = await node.store.exists(broker_path(3))
        assert stat is not None
        return stat.czxid

    epoch = store.world.run("b1", register)
    assert store.write((1, 2, 3), 0, Newcomer(3, epoch - 1)) == Withdrawn()
    assert store.stored()[0].isr == (1, 2)
    assert store.write((1, 2, 3), 0, Newcomer(3, epoch)) == Written((1, 2, 3), 1)


@pytest.mark.spec("R4")
def test_announcements_are_batched(store: StoreWorld) -> None:
    tps = [TopicPartition("t", number) for number in range(3)]

    async def note(node: Node) -> IsrAnnouncer:
        announcer = IsrAnnouncer(node)
        for tp in tps:
            announcer.note(tp)
        return announcer

    announcer = store.world.run("b1", note)
    store.world.run_for(200)
    assert store.announced() == [tps], "clients wait for it"
    assert announcer.pending == 0
    store.world.life("b1").loop.call_soon(announcer.note, tps[0])
    store.world.run_for(200)
    assert len(store.announced()) == 1, "not at once"
    store.world.run_for(400)
    assert store.announced() == [tps, tps[:1]]


def test_constant_changes_are_announced_twice_a_second(store: StoreWorld) -> None:
    announcer = store.world.run("b1", make)
    for _ in range(100):
        store.world.life("b1").loop.call_soon(announcer.note, TP)
        store.world.run_for(50)
    assert 9 <= len(store.announced()) <= 11


def test_an_announcement_that_failed_is_made_later(store: StoreWorld) -> None:
    announcer = store.world.run("b1", make)
    store.world.life("b1").loop.call_soon(announcer.note, TP)
    store.world.cut("b1", STORE)
    store.world.run_for(20_000)
    assert announcer.pending in (0, 1)

    async def reconnect(node: Node) -> int:
        return await node.store.connect(6_000)

    store.world.heal("b1", STORE)
    store.world.run_for(1_000)
    store.world.run("b1", reconnect)
    store.world.run_for(10_000)
    assert store.announced() == [[TP]]


async def make(node: Node) -> IsrAnnouncer:
    return IsrAnnouncer(node)


@pytest.mark.parametrize("applied", [True, False])
def test_a_newcomer_that_died_while_the_reply_was_lost(store: StoreWorld, monkeypatch: pytest.MonkeyPatch, applied: bool) -> None:
    """Whoever may be elected counts: the leader must not go on with the ISR it had if the store has the newcomer in it."""

    async def register(node: Node) -> int:
        await node.store.create(broker_path(3), b"")
        stat = await node.store.exists(broker_path(3))
        assert stat is not None
        return stat.czxid

    async def die(node: Node) -> None:
        await node.clock.sleep(100)
        await node.store.delete(broker_path(3))

    async def lost(path: str, data: bytes, version: int = -1) -> None:
        raise ConnectionLoss(path)

    epoch = store.world.run("b1", register)
    if applied:
        store.world.lose_store_reply("b1", "set")
    else:
        monkeypatch.setattr(store.world.life("b1").store, "set", lost)
    store.world.spawn("b1", die)
    assert store.write((1, 2, 3), 0, Newcomer(3, epoch)) == (Written((1, 2, 3), 1) if applied else Withdrawn())
