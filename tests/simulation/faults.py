"""The menu of faults. Each strikes one broker and is mended after a while; a broker has one at a time.

A loss of power is only ordered while every partition has its full ISR and nothing else is wrong: unflushed records are
safe as long as another member of the ISR keeps running, and only then (spec B15). So until the session of the broker
without power has ended no other process or session ends, nor is one taken for dead: it would leave the ISRs, and the
broker that has lost its records could be all that is left in them. A disk error takes the broker's data folder offline,
and its leaders move; the broker is started again as soon as the disk is sound, or at the end.
Two kinds strike no broker: a partition is moved, and a member of the consumer group crashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from broker_core.model import TopicPartition
from broker_core.seams import Node
from tests.simulation.kernel.disk import SimDisk
from tests.simulation.kernel.life import STORE, Life
from tests.simulation.kernel.world import TORN_WITHIN_MS
from tests.simulation.members import Group
from tests.simulation.moves import Operator, all_in_sync
from tests.simulation.scenarios import ALONE_BUSY_MS, BOUNCE_MS, FAILOVER_MS, bounce, die_unfollowed, failover_at_join
from tests.support.broker_cluster import BrokerCluster

KINDS = (
    *("kill", "torn write", "power loss", "controlled shutdown", "pause", "isolate", "cut", "cut from store", "expire", "delay"),
    *("lost reply", "clock", "disk full", "write error", "read error", "reassignment", "member crash"),
)
DISK_KINDS = ("disk full", "write error", "read error")
ENDING_KINDS = ("kill", "torn write", "controlled shutdown", "expire", *DISK_KINDS)
"""Brokers leave the ISRs, at once or when it is mended."""
POWER_OUT_MS = 8_000.0
"""Its session, and what a controller takes to act on its end."""
SCENARIOS = {"bounce": (bounce, BOUNCE_MS), "failover at join": (failover_at_join, FAILOVER_MS)}
OF_TRANSACTIONS = {"die unfollowed": (die_unfollowed, ALONE_BUSY_MS)}
"""Played with partitions that transactions are kept in, where there are some."""
SCENARIO_CHANCE = 0.3
"""Of a fault that strikes a healthy cluster."""

LEAST_MS, MOST_MS = 200.0, 9_000.0
DELAY_MS = 80.0
CLOCK_JUMP_MS = 100_000
FREE_BYTES_MOST = 20_000
LOOK_EVERY_MS = 50.0
RESTART_CHANCE = 0.5
"""That a broker is started again as soon as its disk is mended."""


class Faults:
    """`counts` says what struck. `healthy` tells whether all ISRs are full and nothing moves; transactions are kept in `transactional`."""

    def __init__(
        self,
        cluster: BrokerCluster,
        healthy: Callable[[], bool],
        partitions: list[TopicPartition],
        operator: Operator,
        group: Group,
        transactional: Sequence[TopicPartition] = (),
    ) -> None:
        self.cluster = cluster
        self._partitions = partitions
        self._transactional = transactional
        self._scenarios = SCENARIOS | (OF_TRANSACTIONS if transactional else {})
        self._operator = operator
        self._group = group
        self._bad_disks: dict[str, SimDisk] = {}
        self.world = cluster.world
        self.counts: Counter[str] = Counter()
        self._healthy = healthy
        self._stopping: dict[str, Life] = {}
        self._struck: dict[str, str] = {}
        self._names = [f"b{broker_id}" for broker_id in cluster.ids]
        self._power_out_until_ms = 0.0
        self.is_misled: Callable[[], bool] = lambda: False
        """Whether brokers take a living one for dead now."""

    @property
    def _now_ms(self) -> float:
        return self.world.scheduler.now_us / 1000

    def is_power_out(self) -> bool:
        """A broker has lost what was not flushed, and may still be in ISRs."""
        return self._now_ms < self._power_out_until_ms

    def _power_may_go(self) -> bool:
        return not self._struck and not self.is_misled() and self._healthy() and all_in_sync(self.cluster)

    def strike(self) -> None:
        """One fault somewhere, unless the dice hit a broker that is struck already."""
        chance = self.world.random
        name, kind = chance.choice(self._names), chance.choice(KINDS)
        other = chance.choice([each for each in self._names if each != name])
        after_ms = chance.uniform(LEAST_MS, MOST_MS)
        if chance.random() < SCENARIO_CHANCE and self._play(chance.choice(list(self._scenarios))):
            return
        if kind in ("reassignment", "member crash"):
            self._strike_elsewhere(kind, after_ms)
            return
        if name in self._struck or (kind == "power loss" and not self._power_may_go()) or (kind in ENDING_KINDS and self.is_power_out()):
            return
        self.counts[kind] += 1
        self._struck[name] = kind
        mend = self._begin(kind, name, other)
        self.world.at(after_ms + (TORN_WITHIN_MS if kind == "torn write" else 0), lambda: self._end(name, mend))

    def _strike_elsewhere(self, kind: str, after_ms: float) -> None:
        """No broker is struck; a scenario that is being played is left alone."""
        if any(played in self._scenarios for played in self._struck.values()):
            return
        if kind == "reassignment":
            self._operator.move(self.world.random.choice(self._partitions))
        else:
            place = self.world.random.choice(sorted(self._group.members))
            if self._group.members[place].crashed:
                return
            self._group.members[place].crashed = True
            self.world.at(after_ms, lambda: self._follow(place))
        self.counts[kind] += 1

    def _follow(self, place: int) -> None:
        """Another member comes in the place of a crashed one."""
        if self._group.members[place].crashed:
            self.world.spawn("client", lambda node: self._group.take_place(node, place))

    def _play(self, kind: str) -> bool:
        """Begins a scenario, which holds all brokers until it is over; False when it cannot be now."""
        begin, busy_ms = self._scenarios[kind]
        tp = self.world.random.choice(self._transactional if kind in OF_TRANSACTIONS else self._partitions)
        if self._struck or not self._healthy() or (kind == "bounce" and not self._power_may_go()) or not begin(self.cluster, tp):
            return False
        if kind == "bounce":
            self._power_out_until_ms = self._now_ms + busy_ms
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
                self._power_out_until_ms = self._now_ms + POWER_OUT_MS
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
            case "controlled shutdown":
                self._shut_down(name)
            case _ if kind in DISK_KINDS:
                return self._break_disk(kind, name)
            case "clock":
                world.jump_clock(name, round(world.random.uniform(-CLOCK_JUMP_MS, CLOCK_JUMP_MS)))
        return lambda: self.run_again(name)

    def _shut_down(self, name: str) -> None:
        """The process ends by itself, unless it is started again before: then it is killed."""
        broker, life = self.cluster.brokers.get(int(name[1:])), self.world.life(name)
        if broker is None or broker.node is not life.node:
            self.world.kill(name)
            return

        async def stop(_: Node) -> bool:
            await broker.shutdown()
            return True

        self._stopping[name] = life
        self._kill_once_stopped(name, life, self.world.spawn(name, stop))

    def _kill_once_stopped(self, name: str, life: Life, stopped: Callable[[], bool | None]) -> None:
        if life.dead:
            return
        if stopped():
            self.counts["controlled shutdowns completed"] += 1
            self.world.kill(name)
        else:
            self.world.at(LOOK_EVERY_MS, lambda: self._kill_once_stopped(name, life, stopped))

    def _break_disk(self, kind: str, name: str) -> Callable[[], None]:
        """All of the disk, or one partition's folder."""
        disk = self.world.life(name).disk
        tp = self.world.random.choice(self._partitions)
        where = self.world.random.choice(("/data/", f"/data/{tp}/"))
        restarts = self.world.random.random() < RESTART_CHANCE
        if kind == "disk full":
            disk.capacity_bytes = disk.state.used_bytes + self.world.random.randrange(FREE_BYTES_MOST)
        elif kind == "write error":
            disk.failing_writes.append(where)
        else:
            disk.failing_reads.append(where)
        self._bad_disks[name] = disk
        return lambda: self._mend_disk(name, restarts=restarts)

    def _mend_disk(self, name: str, *, restarts: bool) -> None:
        disk = self._bad_disks[name]
        disk.heal()
        if restarts:
            del self._bad_disks[name]
            if not disk.dead:
                self.world.kill(name)
            self.run_again(name)

    def _end(self, name: str, mend: Callable[[], None]) -> None:
        self._struck.pop(name, None)
        mend()

    def run_again(self, name: str) -> None:
        """Starts a broker that is down or shutting down, lets a paused one go on."""
        stopping = self._stopping.pop(name, None)
        if stopping is not None and not stopping.dead:
            self.world.kill(name)
        if not self.world.is_up(name):
            self.world.start(name)
        elif self.world.is_paused(name):
            self.world.resume(name)

    def mend_all(self) -> None:
        for name in self._names:
            self._struck.pop(name, None)
            self.world.rejoin(name)
            if name in self._bad_disks:
                self._mend_disk(name, restarts=True)
            self.run_again(name)
        for place in sorted(self._group.members):
            self._follow(place)
