"""The menu of faults. Each strikes one broker and is mended after a while; a broker has one at a time.

A loss of power is only ordered while every partition has its full ISR and nothing else is wrong: unflushed records are
safe as long as another member of the ISR keeps running, and only then (REPLICATION B15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from broker_core.model import TopicPartition
from tests.simulation.kernel.life import STORE
from tests.simulation.kernel.world import TORN_WITHIN_MS
from tests.simulation.scenarios import BOUNCE_MS, FAILOVER_MS, bounce, failover_at_join
from tests.support.broker_cluster import BrokerCluster

KINDS = ("kill", "torn write", "power loss", "pause", "isolate", "cut", "cut from store", "expire", "delay", "lost reply", "clock")
SCENARIOS = {"bounce": (bounce, BOUNCE_MS), "failover at join": (failover_at_join, FAILOVER_MS)}
SCENARIO_CHANCE = 0.3
"""Of a fault that strikes a healthy cluster."""

LEAST_MS, MOST_MS = 200.0, 9_000.0
DELAY_MS = 80.0
CLOCK_JUMP_MS = 100_000


class Faults:
    """`counts` says what struck. `healthy` tells whether all ISRs are full."""

    def __init__(self, cluster: BrokerCluster, healthy: Callable[[], bool], partitions: list[TopicPartition]) -> None:
        self.cluster = cluster
        self._partitions = partitions
        self.world = cluster.world
        self.counts: Counter[str] = Counter()
        self._healthy = healthy
        self._struck: dict[str, str] = {}
        self._names = [f"b{broker_id}" for broker_id in cluster.ids]

    def strike(self) -> None:
        """One fault somewhere, unless the dice hit a broker that is struck already."""
        chance = self.world.random
        name, kind = chance.choice(self._names), chance.choice(KINDS)
        other = chance.choice([each for each in self._names if each != name])
        after_ms = chance.uniform(LEAST_MS, MOST_MS)
        if chance.random() < SCENARIO_CHANCE and self._play(chance.choice(list(SCENARIOS)), chance.choice(self._partitions)):
            return
        if name in self._struck or (kind == "power loss" and (self._struck or not self._healthy())):
            return
        self.counts[kind] += 1
        self._struck[name] = kind
        mend = self._begin(kind, name, other)
        self.world.at(after_ms + (TORN_WITHIN_MS if kind == "torn write" else 0), lambda: self._end(name, mend))

    def _play(self, kind: str, tp: TopicPartition) -> bool:
        """Begins a scenario, which holds all brokers until it is over; False when it cannot be now."""
        begin, busy_ms = SCENARIOS[kind]
        if self._struck or not self._healthy() or not begin(self.cluster, tp):
            return False
        self.counts[kind] += 1
        for name in self._names:
            self._struck[name] = kind
            self.world.at(busy_ms, partial(self._end, name, partial(self.run_again, name)))
        return True

    def _begin(self, kind: str, name: str, other: str) -> Callable[[], None]:
        """Strikes; returns how it is mended."""
        world = self.world
        match kind:
            case "kill":
                world.kill(name)
            case "torn write":
                world.kill(name, torn=True)
            case "power loss":
                world.lose_power(name)
            case "pause":
                world.pause(name)
            case "isolate":
                world.isolate(name)
                return lambda: world.rejoin(name)
            case "cut":
                world.cut(name, other)
                return lambda: world.heal(name, other)
            case "cut from store":
                world.cut(name, STORE)
                return lambda: world.heal(name, STORE)
            case "expire":
                world.expire_session(name)
            case "delay":
                world.delay(name, other, DELAY_MS)
                return lambda: world.delay(name, other, 0)
            case "lost reply":
                world.lose_store_reply(name)
            case "clock":
                world.jump_clock(name, round(world.random.uniform(-CLOCK_JUMP_MS, CLOCK_JUMP_MS)))
        return lambda: self.run_again(name)

    def _end(self, name: str, mend: Callable[[], None]) -> None:
        self._struck.pop(name, None)
        mend()

    def run_again(self, name: str) -> None:
        """Starts a broker that is down, lets a paused one go on."""
        if not self.world.is_up(name):
            self.world.start(name)
        elif self.world.is_paused(name):
            self.world.resume(name)

    def mend_all(self) -> None:
        for name in self._names:
            self._struck.pop(name, None)
            self.world.rejoin(name)
            self.run_again(name)
