"""Control requests that take long on a broker, and answers that are held back beyond the controller's time-out.

    slow control request   begun late: by then it may have been sent again, or a newer controller may have been heard of
    stalled reply          done at once, answered late: the sender has closed the connection and asks again

They have their own dice, so that a seed's other faults strike where they did without them. A struck broker serves everything
else as always.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from broker_core.server.broker import Broker
from tests.support.broker_cluster import BrokerCluster

KINDS = ("slow control request", "stalled reply")
TIMEOUT_MS = 3_000
"""`controller.socket.timeout.ms` of the simulated cluster."""
STRIKES = 4
LEAST_MS, MOST_MS = 100.0, 3.0 * TIMEOUT_MS
LASTS_MS = 8_000.0

Orders = Callable[..., Awaitable[Any]]


class ControlFaults:
    """`counts` says how many requests were held back, by kind."""

    def __init__(self, cluster: BrokerCluster, seed: int, until_ms: float) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._random = random.Random(f"{seed}/control")
        for _ in range(STRIKES):
            cluster.world.at(self._random.uniform(0, max(0.0, until_ms - LASTS_MS)), self._strike)

    @property
    def _now_ms(self) -> float:
        return self._cluster.world.scheduler.now_us / 1000

    def _strike(self) -> None:
        """From now on, for a while, a broker's LeaderAndIsr and StopReplica are held back. The broker that runs then is struck: one
        that is started again meanwhile is not."""
        broker_id, kind = self._random.choice(self._cluster.ids), self._random.choice(KINDS)
        broker = self._cluster.brokers.get(broker_id)
        if broker is None:
            return
        ends_ms = self._now_ms + LASTS_MS
        roles = broker.services.replicas.roles
        for name in ("lead_and_follow", "stop"):
            setattr(roles, name, self._held_back(broker, getattr(roles, name), kind, ends_ms))

    def _held_back(self, broker: Broker, orders: Orders, kind: str, ends_ms: float) -> Orders:
        async def held_back(*args: Any) -> Any:
            clock = broker.node.clock
            if self._now_ms >= ends_ms:
                return await orders(*args)
            self.counts[kind] += 1
            delay_ms = self._random.uniform(LEAST_MS, MOST_MS)
            if kind == "slow control request":
                await clock.sleep(delay_ms)
            answer = await orders(*args)
            if kind == "stalled reply":
                await clock.sleep(delay_ms)
            return answer

        return held_back
