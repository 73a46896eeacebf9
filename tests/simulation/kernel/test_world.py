"""The simulator itself: a toy cluster of echo nodes under every fault, and the same seed giving the same run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.coordination.store import ConnectionLoss, NodeExists, SessionExpired, SessionState
from broker_core.seams import FileRange, Node, Peer
from tests.simulation.kernel.disk import Inode
from tests.simulation.kernel.life import STORE
from tests.simulation.kernel.world import World
from tests.support.exchanges import Answered, answered

PORT = 9092
LOG = "/data/log"


class Echo:
    """Writes each frame to the log, flushes it, answers with it read back from the file."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.file = node.disk.open(LOG, create=True)

    async def handle(self, frame: memoryview) -> Answered:
        position = self.file.append(frame)
        await self.file.fsync()
        return answered([b"echo ", FileRange(self.file, position, len(frame))])

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None:
        """The next connection uses the same file."""


async def echo_main(node: Node) -> None:
    node.disk.make_dirs("/data")
    echo = Echo(node)

    def accept(peer: Peer) -> Echo:
        return echo

    host = node.disk.read_bytes("/name", limit_bytes=100).decode()
    await node.network.listen(host, PORT, accept)

    def on_session(state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            node.spawn(register(node, host), name="register")

    node.store.add_listener(on_session)
    await register(node, host)


async def register(node: Node, host: str) -> None:
    while True:
        try:
            await node.store.connect(1_000)
            await node.store.create(f"/{host}", b"", ephemeral=True)
            return
        except NodeExists:
            await node.clock.sleep(500)
        except (ConnectionLoss, SessionExpired):
            await node.clock.sleep(100)


async def ask(node: Node, host: str, frame: bytes) -> bytes:
    connection = await node.network.connect(host, PORT, timeout_ms=500)
    try:
        connection.send(frame)
        return await node.clock.wait_for(connection.receive(), 1_000)
    finally:
        connection.close()


def echo_world(seed: int) -> World:
    world = World(seed)
    for name in ("b1", "b2", "b3"):
        world.add(name, echo_main)
        world.machines[name].disk.files["/name"] = named(name)
        world.start(name)
    world.add("client", start=True)
    world.run_for(100)
    return world


def named(name: str) -> Inode:
    """A flushed file that holds the node's name."""
    inode = Inode(0)
    inode.data[:] = inode.durable[:] = name.encode()
    inode.clean_bytes = len(name)
    return inode


async def ask_all(node: Node) -> list[str]:
    outcomes = []
    for number in range(60):
        host = f"b{1 + int(node.entropy.random() * 3)}"
        try:
            answer = await ask(node, host, b"frame %d " % number + node.entropy.bytes(20))
            outcomes.append(f"{host} {answer!r}")
        except (ConnectionError, TimeoutError) as error:
            outcomes.append(f"{host} {type(error).__name__}")
            await node.clock.sleep(200)
    return outcomes


def trouble(world: World) -> None:
    """One random fault, and its end some time later."""
    name = world.random.choice(["b1", "b2", "b3"])
    if not world.is_up(name) or world.is_paused(name):
        return
    after_ms = world.random.uniform(100, 9_000)
    match world.random.choice(["kill", "torn", "power", "pause", "cut", "store", "expire", "delay", "lost reply"]):
        case "kill":
            world.kill(name)
        case "torn":
            world.kill(name, torn=True)
        case "power":
            world.lose_power(name)
        case "pause":
            world.pause(name)
            world.at(after_ms, lambda: world.resume(name) if world.is_up(name) else None)
        case "cut":
            world.cut("client", name)
            world.at(after_ms, lambda: world.heal("client", name))
        case "store":
            world.cut(name, STORE)
            world.at(after_ms, lambda: world.heal(name, STORE))
        case "expire":
            world.expire_session(name)
        case "delay":
            world.delay("client", name, 50)
            world.at(after_ms, lambda: world.delay("client", name, 0))
        case "lost reply":
            world.lose_store_reply(name)
    world.at(after_ms + 2_000, lambda: None if world.is_up(name) else world.start(name) and None)


def run_trouble(seed: int) -> tuple[World, list[str]]:
    world = echo_world(seed)
    for number in range(40):
        world.at(300 * number, lambda: trouble(world))
    outcomes = world.run("client", ask_all)
    for name in ("b1", "b2", "b3"):
        if world.is_paused(name):
            world.resume(name)
        world.heal(name, STORE)
        world.heal(name, "client")
        if not world.is_up(name):
            world.start(name)
    world.run_for(20_000)
    return world, outcomes


def test_a_quiet_world_answers_and_registers() -> None:
    with echo_world(1) as world:
        assert world.run("client", lambda node: ask(node, "b2", b"hello")) == b"echo hello"
        world.run_for(1_000)
        assert sorted(world.ensemble.tree.children("/")) == ["b1", "b2", "b3"]
        assert not world.problems


def test_all_faults_end_in_a_healthy_world() -> None:
    for seed in range(8):
        world, outcomes = run_trouble(seed)
        with world:
            assert not world.problems
            assert len(outcomes) == 60
            assert sorted(world.ensemble.tree.children("/")) == ["b1", "b2", "b3"]
            for name in ("b1", "b2", "b3"):
                assert world.run("client", lambda node, name=name: ask(node, name, b"end")) == b"echo end"  # type: ignore[misc]


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    digests = []
    for seed in (5, 5, 6):
        world, _ = run_trouble(seed)
        with world:
            digests.append(world.trace.digest())
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_the_same_seed_gives_the_same_run_in_another_process(hash_seed: str) -> None:
    program = "from tests.simulation.kernel.test_world import run_trouble; print(run_trouble(9)[0].trace.digest())"
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
    printed = subprocess.run([sys.executable, "-c", program], env=environment, cwd=root, capture_output=True, text=True, check=True)
    world, _ = run_trouble(9)
    with world:
        assert printed.stdout.strip() == world.trace.digest()
