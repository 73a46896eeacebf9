"""Brokers that take one which lives for dead, all at once, while it goes on serving, fetching and writing to the store.

What a firewall between the vigils alone would do. They have their own dice, so that a seed's other faults strike where they did
without them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from broker_core.controller.vigil import QUICK_MS, Peer
from broker_core.seams import Node
from broker_core.server.broker import Broker
from tests.support.broker_cluster import BrokerCluster

KIND = "wrong suspicion"
LEAST_MS, MOST_MS = 300.0, 7_000.0
AT_CONTROLLER_CHANCE = 0.3


class WrongSuspicions:
    """`counts` says how often one struck a broker that ran."""

    def __init__(
        self, cluster: BrokerCluster, seed: int, times: int, until_ms: float, may_strike: Callable[[], bool] = lambda: True
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._may_strike = may_strike
        self._ends_ms = 0.0
        self._random = random.Random(f"{seed}/suspicions")
        for _ in range(times):
            cluster.world.at(self._random.uniform(0, until_ms), self._strike)

    @property
    def _now_ms(self) -> float:
        return self._cluster.world.scheduler.now_us / 1000

    def is_under_way(self) -> bool:
        return self._now_ms < self._ends_ms

    def _strike(self) -> None:
        active = [broker_id for broker_id, broker in self._cluster.brokers.items() if broker.services.controller.is_active]
        subject = self._random.choice(self._cluster.ids)
        if active and self._random.random() < AT_CONTROLLER_CHANCE:
            subject = active[0]
        ends_ms = self._now_ms + self._random.uniform(LEAST_MS, MOST_MS)
        if self._cluster.world.is_up(f"b{subject}") and self._may_strike():
            self.counts[KIND] += 1
            self.suspect(subject, ends_ms)

    def suspect(self, subject: int, ends_ms: float) -> None:
        """All brokers that run see that one's port refuse until then."""
        self._ends_ms = max(self._ends_ms, ends_ms)
        for witness, broker in self._cluster.brokers.items():
            name = f"b{witness}"
            if witness != subject and self._cluster.world.is_up(name) and self._cluster.world.life(name).node is broker.node:
                self._mislead(name, broker, subject, ends_ms)

    def _mislead(self, name: str, broker: Broker, subject: int, ends_ms: float) -> None:
        vigil = broker.vigil
        reach = vigil._reach

        async def misled(peer: Peer) -> float:
            if peer.info.broker_id != subject or self._now_ms >= ends_ms:
                return await reach(peer)
            peer.met = True
            vigil._note(peer, peer.refusals + 1)
            return QUICK_MS

        async def let_go(node: Node) -> None:
            """Its connection to the broker breaks."""
            peer = vigil._peers.get(subject)
            if peer is not None and peer.task is not None:
                peer.task.cancel()
                peer.task = node.spawn(vigil._watch(peer), name="misled vigil")

        vigil._reach = misled  # type: ignore[method-assign]
        self._cluster.world.spawn(name, let_go)
