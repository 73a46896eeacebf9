"""What a broker makes of another's port: who is dead, who is doubted meanwhile, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.controller.vigil import DOUBT_MS, DYING_MS, HASTE_MS, LASTING_MS, QUICK_MS, SLOW_MS, Peer, Vigil
from broker_core.coordination.store import Store
from broker_core.model import BrokerInfo, Endpoint
from broker_core.seams import Disk, Network, Node
from tests.support.controller_world import CountingEntropy, ManualClock, spawn
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble
from tests.support.scripted_network import ScriptedNetwork

pytestmark = pytest.mark.spec("Z4")

OTHER = BrokerInfo(2, (Endpoint("PLAINTEXT", "h", 1),), None, 20, early_failover=True)
REFUSED = ConnectionRefusedError("refused")


class Watch:
    """One broker's vigil over broker 2, whose connection has lasted."""

    def __init__(self) -> None:
        self.clock, self.network = ManualClock(), ScriptedNetwork()
        self.doubted: list[bool] = []
        store = cast(Store, MemoryStore(MemoryEnsemble()))
        node = Node(self.clock, spawn, CountingEntropy(), cast(Disk, None), cast(Network, self.network), store)
        self.vigil = Vigil(
            node, 1, ConfigHolder(BrokerConfig.load({"broker.id": "1"})), lambda _, is_doubted: self.doubted.append(is_doubted)
        )
        self.peer = Peer(OTHER)

    async def begin(self) -> None:
        self.vigil._peers[2] = self.peer
        self.peer.task = spawn(self.vigil._watch(self.peer), name="vigil over broker 2")
        await self.pass_(LASTING_MS)

    async def pass_(self, ms: float) -> None:
        end = self.clock.now + ms
        while True:
            for _ in range(10):
                await asyncio.sleep(0)
            if not self.clock.fire_until(end):
                return

    @property
    def tries(self) -> int:
        return len(self.network.addresses)


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    made = Watch()
    await made.begin()
    yield made
    await made.vigil.stop()


async def test_a_process_that_dies_is_known_to_be_dead_after_two_refusals(watch: Watch) -> None:
    """The first follows on the break at once, and clients are told that what it leads has no leader."""
    watch.network.refuse = REFUSED
    watch.network.connections[-1].break_off()
    await watch.pass_(0)
    assert (watch.tries, watch.peer.is_dead, watch.doubted) == (2, False, [True])
    await watch.pass_(QUICK_MS)
    assert (watch.tries, watch.peer.is_dead) == (3, True)
    await watch.pass_(SLOW_MS * 10)
    assert watch.tries < 15


async def test_a_port_that_dies_after_the_connection_is_asked_again_soon(watch: Watch) -> None:
    """Its listener takes one more connection and breaks that too."""
    watch.network.connections[-1].break_off()
    await watch.pass_(0)
    watch.network.connections[-1].break_off()
    watch.network.refuse = REFUSED
    await watch.pass_(DYING_MS + QUICK_MS)
    assert watch.peer.is_dead


async def test_who_hangs_up_again_and_again_is_not_asked_without_end(watch: Watch) -> None:
    watch.network.connections[-1].break_off()
    for _ in range(round(HASTE_MS / DYING_MS)):
        await watch.pass_(DYING_MS)
        watch.network.connections[-1].break_off()
    await watch.pass_(SLOW_MS)
    before = watch.tries
    watch.network.connections[-1].break_off()
    await watch.pass_(SLOW_MS - 1)
    assert (watch.tries, watch.doubted) == (before, [])


async def test_a_connection_that_was_only_closed_casts_no_doubt(watch: Watch) -> None:
    """As a broker does with those that have been idle for long."""
    watch.network.connections[-1].break_off()
    await watch.pass_(LASTING_MS)
    assert (watch.tries, watch.doubted, watch.peer.is_dead) == (2, [], False)


async def test_nobody_is_doubted_for_longer_than_the_others_take_to_agree(watch: Watch) -> None:
    """A port that refuses this broker alone leads on for all others."""
    watch.network.refuse = REFUSED
    watch.network.connections[-1].break_off()
    await watch.pass_(DOUBT_MS - 1)
    assert watch.doubted == [True]
    await watch.pass_(DOUBT_MS * 5)
    assert watch.doubted == [True, False]


async def test_who_answers_again_is_doubted_no_more(watch: Watch) -> None:
    watch.network.refuse = REFUSED
    watch.network.connections[-1].break_off()
    await watch.pass_(0)
    watch.network.refuse = None
    await watch.pass_(QUICK_MS)
    assert (watch.doubted, watch.peer.is_dead) == ([True, False], False)


async def test_a_port_that_never_answered_says_nothing() -> None:
    watch = Watch()
    watch.network.refuse = REFUSED
    await watch.begin()
    await watch.pass_(SLOW_MS * 5)
    assert (watch.peer.is_dead, watch.doubted) == (False, [])
    await watch.vigil.stop()
