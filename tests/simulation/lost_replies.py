"""Replies of the store that are lost far more often than among the other faults, most of them a controller's.

The write took effect, its author cannot know, and tries again: whatever it then does has to come to the same. They have their own
dice, so that a seed's other faults strike where they did without them.
"""

from __future__ import annotations

import random
from collections import Counter

from tests.support.broker_cluster import BrokerCluster

KIND = "lost reply among many"
OPERATIONS = ("multi", "set", "create", "delete", None)
"""None: of whatever comes next."""
AT_CONTROLLER_CHANCE = 0.7


class LostReplies:
    """`counts` says how often one was ordered from a broker that ran."""

    def __init__(self, cluster: BrokerCluster, seed: int, times: int, until_ms: float) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._random = random.Random(f"{seed}/replies")
        for _ in range(times):
            cluster.world.at(self._random.uniform(0, until_ms), self._strike)

    def _strike(self) -> None:
        active = [broker_id for broker_id, broker in self._cluster.brokers.items() if broker.services.controller.is_active]
        subject, operation = self._random.choice(self._cluster.ids), self._random.choice(OPERATIONS)
        if active and self._random.random() < AT_CONTROLLER_CHANCE:
            subject = active[0]
        if self._cluster.world.is_up(f"b{subject}"):
            self.counts[KIND] += 1
            self._cluster.world.lose_store_reply(f"b{subject}", operation)
