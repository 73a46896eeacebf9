"""The simulated world: nodes, their machines, one network, one coordination store, one seed.

    world = World(seed=7)
    world.add("b1", main)                   # `async def main(node: Node)` runs at every start of the node
    world.start("b1")
    world.run_for(1_000)                    # virtual milliseconds
    answer = world.run("client", coroutine_function)
    world.kill("b1"); world.start("b1"); world.cut("b1", "b2"); ...
    assert not world.problems
    world.close()

Everything that happens is decided by the seed and by the order of calls on the world: `trace.digest()` tells two runs
apart. A client is a node like any other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from broker_core.seams import Node
from tests.simulation.kernel.disk import DiskState
from tests.simulation.kernel.life import STORE, SUSPEND_AFTER, Life
from tests.simulation.kernel.network import Fabric
from tests.simulation.kernel.scheduler import Scheduler
from tests.simulation.kernel.trace import Trace
from tests.support.memory_store.ensemble import MemoryEnsemble

T = TypeVar("T")
Main = Callable[[Node], Coroutine[Any, Any, None]]

RUN_TIMEOUT_MS = 120_000.0
TORN_WITHIN_MS = 1_000.0


async def _idle(node: Node) -> None:
    """The main of a node that only acts when it is told to."""


class Machine:
    """What outlives a node's process: its name, its program, its disk, its lives so far."""

    def __init__(self, name: str, number: int, main: Main) -> None:
        self.name = name
        self.number = number
        self.main = main
        self.disk = DiskState()
        self.lives: list[Life] = []
        self.wall_offset_ms = 0
        self.paused_at_us = 0
        self.power_lost_zxid = 0
        """The store's last transaction before the machine last lost its power."""

    @property
    def life(self) -> Life | None:
        return self.lives[-1] if self.lives and not self.lives[-1].dead else None


class World:
    def __init__(self, seed: int | str) -> None:
        self.seed = str(seed)
        self.trace = Trace()
        self.scheduler = Scheduler(self.seed, self.trace)
        self.fabric = Fabric(self.scheduler, self.seed)
        self.ensemble = MemoryEnsemble(self.scheduler.wall_ms, self.scheduler.call_later_ms)
        self.machines: dict[str, Machine] = {}
        self.random = random.Random(f"{seed}/world")
        """For scenarios: which fault comes next, and when."""

    # Nodes.

    def add(self, name: str, main: Main = _idle, *, start: bool = False) -> None:
        self.machines[name] = Machine(name, len(self.machines), main)
        if start:
            self.start(name)

    def start(self, name: str) -> Node:
        """Boots the node on what its disk holds."""
        machine = self.machines[name]
        assert machine.life is None, f"{name} runs already"
        for life in machine.lives:
            life.powered = True
        life = Life(name, len(machine.lives), machine.number, self.fabric, self.ensemble, machine.disk, self.seed)
        life.clock.offset_ms = machine.wall_offset_ms
        machine.lives.append(life)
        life.note("start", "")
        life.loop.call_soon(lambda: life.spawn(machine.main(life.node), name=f"{name} main"))
        return life.node

    def life(self, name: str) -> Life:
        life = self.machines[name].life
        assert life is not None, f"{name} is down"
        return life

    def node(self, name: str) -> Node:
        return self.life(name).node

    def is_up(self, name: str) -> bool:
        return self.machines[name].life is not None

    def is_paused(self, name: str) -> bool:
        return self.is_up(name) and self.life(name).loop.paused

    # Faults.

    def kill(self, name: str, *, torn: bool = False) -> None:
        """SIGKILL. With `torn` it strikes inside the node's next append, or after `TORN_WITHIN_MS` without one."""
        life = self.life(name)
        if not torn:
            self._end(life, "kill")
            return
        life.disk.kill_in_append = lambda: self._end(life, "kill torn")
        self.scheduler.call_later_ms(TORN_WITHIN_MS, lambda: None if life.dead else self._end(life, "kill"))

    def lose_power(self, name: str) -> list[str]:
        """The machine stops and its unflushed bytes go; returns the paths that lost some."""
        life = self.life(name)
        self._end(life, "power loss", power_lost=True)
        self.machines[name].power_lost_zxid = self.ensemble.tree.zxid
        return self.machines[name].disk.lose_power(life.disk.chance)

    def _end(self, life: Life, kind: str, *, power_lost: bool = False) -> None:
        life.note(kind, "")
        life.die(power_lost=power_lost)

    def pause(self, name: str) -> None:
        """SIGSTOP: its system still takes what arrives, and its session's timeout runs."""
        life = self.life(name)
        life.note("pause", "")
        life.loop.paused = True
        self.machines[name].paused_at_us = self.scheduler.now_us
        self.ensemble.lose_contact(life.store.session_id)

    def resume(self, name: str) -> None:
        life = self.life(name)
        life.note("resume", "")
        life.loop.paused = False
        paused_ms = (self.scheduler.now_us - self.machines[name].paused_at_us) / 1000
        if paused_ms > life.store.session_timeout_ms * SUSPEND_AFTER or not self.ensemble.regain_contact(life.store.session_id):
            life.loop.call_soon(self._reconnect, life)

    def cut(self, one: str, other: str, *, both_ways: bool = True) -> None:
        """Nothing passes between two nodes, or a node and `STORE`, until `heal`."""
        self.trace.record(self.scheduler.now_us, "world", "cut", f"{one} {other} {both_ways}")
        self.fabric.cut(one, other)
        if both_ways:
            self.fabric.cut(other, one)
        if STORE in (one, other):
            self._cut_from_store(self.machines[one if other == STORE else other])

    def heal(self, one: str, other: str) -> None:
        self.trace.record(self.scheduler.now_us, "world", "heal", f"{one} {other}")
        self.fabric.heal(one, other)
        self.fabric.heal(other, one)
        if STORE in (one, other):
            life = self.machines[one if other == STORE else other].life
            if life is not None:
                life.loop.call_soon(self._reconnect, life)

    def isolate(self, name: str) -> None:
        """Cuts a node off from all others and from the store."""
        for other in [*self.machines, STORE]:
            if other != name:
                self.cut(name, other)

    def rejoin(self, name: str) -> None:
        for other in [*self.machines, STORE]:
            if other != name:
                self.heal(name, other)

    def delay(self, one: str, other: str, delay_ms: float) -> None:
        """Adds to the latency between two places, both ways; 0 takes it back."""
        self.trace.record(self.scheduler.now_us, "world", "delay", f"{one} {other} {delay_ms}")
        self.fabric.delay(one, other, delay_ms)
        self.fabric.delay(other, one, delay_ms)

    def _cut_from_store(self, machine: Machine) -> None:
        life = machine.life
        if life is None:
            return
        self.ensemble.lose_contact(life.store.session_id)
        self.scheduler.call_later_ms(
            life.store.session_timeout_ms * SUSPEND_AFTER,
            lambda: life.loop.call_soon(life.store.disconnect) if self.fabric.is_cut(STORE, life.name) else None,
        )

    def _reconnect(self, life: Life) -> None:
        if not self.fabric.is_cut(STORE, life.name):
            life.store.disconnect()
            life.store.reconnect()

    def expire_session(self, name: str) -> None:
        self.life(name).note("expire", "")
        self.ensemble.expire(self.life(name).store.session_id)

    def lose_store_reply(self, name: str, kind: str | None = None) -> None:
        self.life(name).note("lose reply", str(kind))
        self.life(name).store.lose_reply(kind)

    def jump_clock(self, name: str, offset_ms: int) -> None:
        """Sets how wrong the node's wall clock is, from now on and in later lives."""
        self.machines[name].wall_offset_ms = offset_ms
        life = self.machines[name].life
        if life is not None:
            life.note("clock", str(offset_ms))
            life.clock.offset_ms = offset_ms

    # Time.

    def at(self, delay_ms: float, action: Callable[[], None]) -> None:
        """Does something to the world later, outside of any node."""
        self.scheduler.call_later_ms(delay_ms, action)

    def run_for(self, duration_ms: float) -> None:
        self.scheduler.run_until(lambda: False, self.scheduler.now_us + round(duration_ms * 1000))

    def run_until(self, condition: Callable[[], bool], timeout_ms: float = RUN_TIMEOUT_MS) -> bool:
        """True once the condition holds; False when virtual time ran out first."""
        return self.scheduler.run_until(condition, self.scheduler.now_us + round(timeout_ms * 1000))

    def spawn(self, name: str, function: Callable[[Node], Coroutine[Any, Any, T]]) -> Callable[[], T | None]:
        """Starts `function(node)` on a node; the result is there once the returned call gives something else than None."""
        life = self.life(name)
        started: list[asyncio.Task[T]] = []
        life.loop.call_soon(lambda: started.append(life.spawn(function(life.node), name=f"{name} scenario")))
        return lambda: started[0].result() if started and started[0].done() else None

    def run(self, name: str, function: Callable[[Node], Coroutine[Any, Any, T]], timeout_ms: float = RUN_TIMEOUT_MS) -> T:
        """Runs `function(node)` on a node until it is done and gives its result, or raises what it raised."""
        life = self.life(name)
        started: list[asyncio.Task[T]] = []

        def begin() -> None:
            started.append(life.loop.create_task(function(life.node), name=f"{name} scenario"))

        life.loop.call_soon(begin)
        if not self.run_until(lambda: bool(started) and started[0].done(), timeout_ms):
            last = "\n".join(list(self.trace.lines)[-20:])
            raise TimeoutError(f"not done on {name} within {timeout_ms} virtual ms; the last events:\n{last}")
        return started[0].result()

    # The end.

    @property
    def lives(self) -> list[Life]:
        return [life for machine in self.machines.values() for life in machine.lives]

    @property
    def problems(self) -> list[str]:
        """Tasks that failed and callbacks that raised, in all lives of all nodes."""
        return [f"{life.name}#{life.generation}: {problem}" for life in self.lives for problem in life.problems]

    def close(self) -> None:
        for life in self.lives:
            if not life.dead:
                life.die()
            life.bury()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
