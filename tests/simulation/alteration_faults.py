"""ISR changes that the controller carries out late, or twice, or answers too late.

    late ISR change        begun after the leader has given up waiting, asked again, and perhaps been answered
    doubled ISR change     done at once, and what was made once more when much may have changed
    stalled ISR answer     done at once, answered late: the leader asks again

What a leader sends arrives once: what is done again stands for another try of it. So nothing is done again that was refused, since a leader
that was refused the first try has made no other, and may rely on that.

They have their own dice, so that a seed's other faults strike where they did without them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from broker_core.errors import ErrorCode, KafkaError
from broker_core.server.broker import Broker
from tests.simulation.control_faults import TIMEOUT_MS
from tests.support.broker_cluster import BrokerCluster

KINDS = ("late ISR change", "doubled ISR change", "stalled ISR answer")
STRIKES = 6
LEAST_MS, MOST_MS = 100.0, 4.0 * TIMEOUT_MS
LASTS_MS = 6_000.0

Alter = Callable[..., Awaitable[Any]]


class AlterationFaults:
    """`counts` says how many requests were struck, by kind."""

    def __init__(self, cluster: BrokerCluster, seed: int, until_ms: float) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._random = random.Random(f"{seed}/alterations")
        for _ in range(STRIKES):
            cluster.world.at(self._random.uniform(0, max(0.0, until_ms - LASTS_MS)), self._strike)

    @property
    def _now_ms(self) -> float:
        return self._cluster.world.scheduler.now_us / 1000

    def _strike(self) -> None:
        """From now on, for a while, whoever of the brokers that run is the controller."""
        kind, ends_ms = self._random.choice(KINDS), self._now_ms + LASTS_MS
        for broker in self._cluster.brokers.values():
            controller = broker.services.controller
            controller.alter_isrs = self._struck(broker, controller.alter_isrs, kind, ends_ms)  # type: ignore[method-assign]

    def _struck(self, broker: Broker, alter: Alter, kind: str, ends_ms: float) -> Alter:
        node = broker.node

        async def again(delay_ms: float, broker_id: int, broker_epoch: int, made: Any) -> None:
            await node.clock.sleep(delay_ms)
            try:
                await alter(broker_id, broker_epoch, made)
            except KafkaError:
                return

        async def struck(*asked: Any) -> Any:
            if self._now_ms >= ends_ms:
                return await alter(*asked)
            self.counts[kind] += 1
            delay_ms = self._random.uniform(LEAST_MS, MOST_MS)
            if kind == "late ISR change":
                await node.clock.sleep(delay_ms)
            answer = await alter(*asked)
            if kind == "doubled ISR change":
                broker_id, broker_epoch, wanted = asked
                made = {tp: change for tp, change in wanted.items() if answer[tp].error is ErrorCode.NONE}
                node.spawn(again(delay_ms, broker_id, broker_epoch, made), name="the same ISR change again")
            if kind == "stalled ISR answer":
                await node.clock.sleep(delay_ms)
            return answer

        return struck
