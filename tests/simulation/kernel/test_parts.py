"""The simulated world's parts, each fault by itself: what it takes and what it leaves."""

from __future__ import annotations

import asyncio
import random

import pytest

from broker_core.coordination.store import ConnectionLoss, SessionExpired, SessionState
from broker_core.seams import FileRange, FrameConnection, Node, Peer
from tests.simulation.kernel.disk import DiskState, SimDisk
from tests.simulation.kernel.life import STORE
from tests.simulation.kernel.world import World
from tests.support.exchanges import Answered, answered


class Recorder:
    """Answers every frame with itself; `frames` are those that came, `closes` the connections that ended."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.closes = 0

    async def handle(self, frame: memoryview) -> Answered:
        self.frames.append(bytes(frame))
        return answered([frame])

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None:
        self.closes += 1


def two_nodes(seed: int = 1) -> tuple[World, Recorder]:
    recorder = Recorder()

    def accept(peer: Peer) -> Recorder:
        return recorder

    async def server(node: Node) -> None:
        await node.network.listen("server", 1, accept)

    world = World(seed)
    world.add("server", server, start=True)
    world.add("client", start=True)
    world.run_for(10)
    return world, recorder


# Disk.


def write_some(world: World) -> None:
    """8 flushed bytes and 8 that are not."""

    async def write(node: Node) -> None:
        file = node.disk.open("/log", create=True)
        file.append(b"flushed!")
        await file.fsync()
        file.append(b"not yet.")

    world.run("server", write)


def content(world: World, name: str = "server", path: str = "/log") -> bytes:
    return bytes(world.machines[name].disk.files[path].data)


def test_a_kill_keeps_what_was_written() -> None:
    world, _ = two_nodes()
    with world:
        write_some(world)
        world.kill("server")
        assert content(world) == b"flushed!not yet."


def test_a_power_loss_keeps_what_was_flushed_and_perhaps_some_more() -> None:
    left = set()
    for seed in range(40):
        world, _ = two_nodes(seed)
        with world:
            write_some(world)
            lost = world.lose_power("server")
            left.add(content(world))
            assert content(world).startswith(b"flushed!")
            assert (lost == ["/log"]) == (content(world) != b"flushed!not yet.")
    assert {b"flushed!", b"flushed!not "} <= left


def test_a_truncation_that_was_not_flushed_may_come_back() -> None:
    async def cut(node: Node) -> None:
        file = node.disk.open("/log", create=True)
        file.append(b"0123456789")
        await file.fsync()
        file.truncate(4)
        file.append(b"ab")

    left = set()
    for seed in range(40):
        world, _ = two_nodes(seed)
        with world:
            world.run("server", cut)
            world.lose_power("server")
            left.add(content(world))
    assert {b"0123456789", b"0123a", b"0123ab"} <= left


def test_an_fsync_covers_what_was_written_before_it_and_no_more() -> None:
    async def write(node: Node) -> None:
        file = node.disk.open("/log", create=True)
        file.append(b"before")
        flushing = node.spawn(file.fsync(), name="fsync")
        await node.clock.sleep(0)
        file.append(b"after")
        await flushing

    world, _ = two_nodes()
    with world:
        world.run("server", write)
        assert bytes(world.machines["server"].disk.files["/log"].durable) == b"before"


def test_a_torn_write_leaves_a_prefix_and_no_answer() -> None:
    """The node dies inside write(2): nothing after it runs, no `finally` and no `except Exception` has an effect."""
    torn = set()

    async def write(node: Node) -> None:
        file = node.disk.open("/log", create=True)
        try:
            file.append(b"0123456789")
        except Exception:
            node.disk.open("/caught", create=True)
        finally:
            node.disk.open("/finally", create=True)

    for seed in range(40):
        world, _ = two_nodes(seed)
        with world:
            world.kill("server", torn=True)
            world.life("server").loop.call_soon(lambda world=world: world.life("server").spawn(write(world.node("server")), name="write"))  # type: ignore[misc]
            world.run_for(100)
            assert not world.is_up("server")
            assert list(world.machines["server"].disk.files) == ["/log"]
            torn.add(len(content(world)))
    assert len(torn) > 5 and max(torn) <= 10


class StandingClock:
    def now_ms(self) -> int:
        return 0

    async def sleep(self, delay_ms: float) -> None:
        """At once."""


def lone_disk() -> SimDisk:
    return SimDisk(DiskState(), StandingClock(), random.Random(1), lambda kind, detail, data: None)  # type: ignore[arg-type]


async def test_after_a_failed_flush_only_the_cache_has_the_bytes() -> None:
    disk = lone_disk()
    file = disk.open("/log", create=True)
    file.append(b"before")
    await file.fsync()
    file.append(b"lost")
    disk.failing_writes.append("/log")
    with pytest.raises(OSError, match="write error"):
        await file.fsync()
    disk.heal()
    await file.fsync()
    file.append(b"after")
    assert file.pread(0, 100) == b"beforelostafter"
    await file.flush_and_drop_cache()
    assert file.pread(0, 100) == b"before\0\0\0\0after"


async def test_disk_full_and_errors_by_path() -> None:
    disk = lone_disk()
    file = disk.open("/log", create=True)
    disk.capacity_bytes = 10
    file.append(b"12345678")
    with pytest.raises(OSError, match="no space left"):
        file.append(b"90a")
    assert file.size == 8
    file.truncate(0)
    file.append(b"1234567890")
    disk.capacity_bytes = None
    disk.failing_reads.append("/log")
    with pytest.raises(OSError, match="read error"):
        file.pread(0, 1)
    disk.failing_writes.append("/log")
    with pytest.raises(OSError, match="write error"):
        file.append(b"x")
    with pytest.raises(OSError, match="write error"):
        await file.fsync()
    with disk.sound():
        assert file.pread(0, 1) == b"1"
    with pytest.raises(OSError, match="read error"):
        file.pread(0, 1)
    disk.heal()
    file.append(b"x")
    assert file.pread(10, 1) == b"x"


# Network.


def test_frames_of_one_connection_keep_their_order_over_a_cut() -> None:
    world, recorder = two_nodes()
    with world:

        async def send(node: Node) -> list[bytes]:
            connection = await node.network.connect("server", 1, timeout_ms=100)
            for number in range(200):
                connection.send(b"%d" % number)
                await node.clock.sleep(1)
            return [await connection.receive() for _ in range(200)]

        world.at(50, lambda: world.cut("client", "server"))
        world.at(120, lambda: world.heal("client", "server"))
        answers = world.run("client", send)
        assert answers == recorder.frames == [b"%d" % number for number in range(200)]


def test_frames_are_handed_on_as_they_come_and_then_the_end() -> None:
    world, _ = two_nodes()
    seen: list[bytes | str] = []
    with world:

        async def ask(node: Node) -> FrameConnection:
            connection = await node.network.connect("server", 1, timeout_ms=100)
            for number in range(3):
                connection.send(bytes([number]))
            connection.hand_on(lambda frame: seen.append(bytes(frame)), seen.append)
            return connection

        world.run("client", ask)
        assert world.run_until(lambda: len(seen) == 3, 1_000)
        world.kill("server")
        assert world.run_until(lambda: len(seen) == 4, 1_000)
        assert seen == [b"\0", b"\1", b"\2", "the connection is closed"]


def test_nobody_listening_a_cut_and_no_power_look_different() -> None:
    async def connect(node: Node) -> str:
        try:
            await node.network.connect("server", 1, timeout_ms=500)
        except (ConnectionError, TimeoutError) as error:
            return type(error).__name__
        return "connected"

    world, _ = two_nodes()
    with world:
        assert world.run("client", connect) == "connected"
        world.cut("client", "server")
        assert world.run("client", connect) == "TimeoutError"
        world.heal("client", "server")
        world.kill("server")
        assert world.run("client", connect) == "ConnectionRefusedError"
        world.start("server")
        world.run_for(10)
        assert world.run("client", connect) == "connected"
        world.lose_power("server")
        assert world.run("client", connect) == "TimeoutError"


def test_a_killed_peer_hangs_up_after_what_it_sent_and_a_powerless_one_says_nothing() -> None:
    async def talk(node: Node) -> list[bytes]:
        connection = await node.network.connect("server", 1, timeout_ms=500)
        connection.send(b"hello")
        received = []
        try:
            while True:
                received.append(await node.clock.wait_for(connection.receive(), 5_000))
        except ConnectionError:
            received.append(b"hung up")
        except TimeoutError:
            received.append(b"silence")
        return received

    world, recorder = two_nodes()
    with world:
        world.at(100, lambda: world.kill("server"))
        assert world.run("client", talk) == [b"hello", b"hung up"]
        assert recorder.closes == 0
        world.start("server")
        world.run_for(10)
        world.at(100, lambda: world.lose_power("server") and None)
        assert world.run("client", talk) == [b"hello", b"silence"]


def test_a_paused_node_takes_frames_when_it_goes_on() -> None:
    async def talk(node: Node) -> float:
        connection = await node.network.connect("server", 1, timeout_ms=500)
        connection.send(b"x")
        await connection.receive()
        return node.clock.monotonic_ms()

    world, recorder = two_nodes()
    with world:
        world.pause("server")
        world.at(3_000, lambda: world.resume("server"))
        assert world.run("client", talk) > 3_000
        assert recorder.frames == [b"x"]


def test_a_file_range_is_read_when_it_is_sent() -> None:
    class FromFile(Recorder):
        def __init__(self, node: Node) -> None:
            super().__init__()
            self.file = node.disk.open("/log", create=True)
            self.file.append(b"0123456789")

        async def handle(self, frame: memoryview) -> Answered:
            return answered([b"<", FileRange(self.file, 2, int(bytes(frame))), b">"])

    async def server(node: Node) -> None:
        handler = FromFile(node)
        await node.network.listen("server", 1, lambda peer: handler)

    async def ask(node: Node) -> list[bytes]:
        connection = await node.network.connect("server", 1, timeout_ms=500)
        connection.send(b"3")
        answers = [await connection.receive()]
        connection.send(b"30")
        with pytest.raises(ConnectionError):
            await connection.receive()
        world.life("server").disk.failing_reads.append("/log")
        connection = await node.network.connect("server", 1, timeout_ms=500)
        connection.send(b"3")
        with pytest.raises(ConnectionError):
            await connection.receive()
        return answers

    with World(1) as world:
        world.add("server", server, start=True)
        world.add("client", start=True)
        world.run_for(10)
        assert world.run("client", ask) == [b"<234>"]
        assert world.problems == []


# Store.


def session_world() -> tuple[World, list[SessionState]]:
    heard: list[SessionState] = []

    async def main(node: Node) -> None:
        node.store.add_listener(heard.append)
        await node.store.connect(1_000)
        await node.store.create("/e", b"", ephemeral=True)

    world = World(1)
    world.add("node", main, start=True)
    world.run_for(100)
    assert heard.pop() is SessionState.CONNECTED
    return world, heard


def test_a_short_pause_keeps_the_session_and_a_long_one_loses_it() -> None:
    world, heard = session_world()
    with world:
        world.pause("node")
        world.run_for(2_000)
        world.resume("node")
        world.run_for(1_000)
        assert heard == []
        world.pause("node")
        world.run_for(7_000)
        assert world.ensemble.tree.find("/e") is None
        world.resume("node")
        world.run_for(1_000)
        assert heard == [SessionState.SUSPENDED, SessionState.EXPIRED]


def test_a_cut_from_the_store_suspends_then_expires() -> None:
    async def write(node: Node) -> str:
        try:
            await node.store.set("/e", b"")
        except (ConnectionLoss, SessionExpired) as error:
            return type(error).__name__
        return "written"

    world, heard = session_world()
    with world:
        world.cut("node", STORE)
        assert world.run("node", write) == "ConnectionLoss"
        assert heard == [SessionState.SUSPENDED]
        world.heal("node", STORE)
        assert world.run("node", write) == "written"
        world.cut("node", STORE)
        world.run_for(6_500)
        assert world.ensemble.tree.find("/e") is None
        world.heal("node", STORE)
        assert world.run("node", write) == "SessionExpired"
        assert heard[-1] is SessionState.EXPIRED


def test_a_killed_nodes_session_outlives_it_by_the_timeout() -> None:
    world, heard = session_world()
    with world:
        world.kill("node")
        world.run_for(5_900)
        assert world.ensemble.tree.find("/e") is not None
        world.run_for(200)
        assert world.ensemble.tree.find("/e") is None
        assert heard == []


# Bugs of the code under test are seen.


def test_a_failed_task_and_a_failed_callback_are_problems() -> None:
    async def main(node: Node) -> None:
        node.clock.call_later(5, lambda: 1 / 0 and None)
        await node.clock.sleep(10)
        raise RuntimeError("boom")

    with World(1) as world:
        world.add("node", main, start=True)
        world.run_for(100)
        assert [("ZeroDivisionError" in problem, "boom" in problem) for problem in world.problems] == [(False, True), (True, False)]


def test_a_busy_loop_does_not_stop_time() -> None:
    async def spin(node: Node) -> None:
        while True:
            await asyncio.sleep(0)

    with World(1) as world:
        world.add("node", spin, start=True)
        world.run_for(20)
        assert world.scheduler.now_us >= 20_000
