"""A cluster for the controller's tests: brokers that only keep what they were told, a store in memory, a clock moved by hand."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import UUID

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.controller.channels.requests import LEADER_AND_ISR_KEY, STOP_REPLICA_KEY, UPDATE_METADATA_KEY, ControlRequest
from broker_core.controller.loop import Controller
from broker_core.coordination import layout
from broker_core.coordination.registration import Registration
from broker_core.coordination.store import NoNode
from broker_core.coordination.znode_data import (
    TopicAssignment,
    decode_partition_state,
    decode_topic,
    encode_config,
    encode_isr_change,
    encode_partition_state,
    encode_topic,
)
from broker_core.model import BrokerInfo, Endpoint, LeaderAndIsr, TopicPartition
from broker_core.seams import Disk, Network, Node, TimerHandle
from tests.support.memory_store.client import MemoryStore
from tests.support.memory_store.ensemble import MemoryEnsemble

T = TypeVar("T")
SESSION_TIMEOUT_MS = 6_000
SETTLE_TURNS = 4_000
QUIET_TURNS = 60


class ManualClock:
    """Time stands still until `advance`."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._count = 0

    def now_ms(self) -> int:
        return int(self.now)

    def monotonic_ms(self) -> float:
        return self.now

    def call_later(self, delay_ms: float, callback: Callable[..., None], *args: object) -> TimerHandle:
        self._count += 1
        timer = _Timer(lambda: callback(*args))
        heapq.heappush(self._timers, (self.now + delay_ms, self._count, timer))
        return timer

    async def sleep(self, delay_ms: float) -> None:
        if delay_ms <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call_later(delay_ms, lambda: woken.done() or woken.set_result(None))
        await woken

    async def wait_for(self, awaitable: Awaitable[T], timeout_ms: float) -> T:
        task = asyncio.ensure_future(awaitable)
        expired: list[bool] = []
        timer = self.call_later(timeout_ms, lambda: expired.append(task.cancel()))
        try:
            return await task
        except asyncio.CancelledError:
            if expired:
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()

    def fire_until(self, end: float) -> bool:
        """Fires the next timer due by `end`; False when there is none."""
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self.now = max(self.now, when)
            if not timer.cancelled:
                timer.callback()
                return True
        self.now = end
        return False


class _Timer:
    def __init__(self, callback: Callable[[], Any]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class CountingEntropy:
    def __init__(self) -> None:
        self._count = 0

    def bytes(self, count: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(count, "big")

    def random(self) -> float:
        return 0.0


class FolderDisk:
    """Whole files only: all that a registration needs."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def read_bytes(self, path: str, *, limit_bytes: int) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path][:limit_bytes]

    async def write_atomic(self, path: str, data: bytes) -> None:
        self.files[path] = data


def spawn(coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(coroutine, name=name)


def make_node(clock: ManualClock, store: MemoryStore, disk: FolderDisk) -> Node:
    return Node(clock, spawn, CountingEntropy(), cast(Disk, disk), cast(Network, None), store)


class ToldBroker:
    """What control requests made of a broker, whichever controller sent them; `storage_errors` are partitions it cannot serve."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.reachable = True
        self.controller_epoch = 0
        self.requests: list[ControlRequest] = []
        self.replicas: dict[TopicPartition, dict[str, Any]] = {}
        self.metadata: dict[TopicPartition, dict[str, Any]] = {}
        self.live_brokers: list[int] = []
        self.storage_errors: set[TopicPartition] = set()
        self.found_failed: set[TopicPartition] = set()
        self.stop_error = 0

    def handle(self, request: ControlRequest) -> Any:
        self.requests.append(request)
        if request.controller_epoch < self.controller_epoch:
            return SimpleNamespace(error_code=11, topics=(), partition_errors=())
        self.controller_epoch = request.controller_epoch
        if request.api_key == LEADER_AND_ISR_KEY:
            return self._lead_or_follow(request)
        if request.api_key == STOP_REPLICA_KEY:
            return self._stop(request)
        assert request.api_key == UPDATE_METADATA_KEY
        self.metadata.update({tp: dict(part) for tp, part in request.partitions.items()})
        self.live_brokers = [broker["id_"] for broker in request.payload["live_brokers"]]
        return SimpleNamespace(error_code=0)

    def _lead_or_follow(self, request: ControlRequest) -> Any:
        topics = []
        for topic in request.payload["topic_states"]:
            rows = []
            for part in topic["partition_states"]:
                tp = TopicPartition(topic["topic_name"], part["partition_index"])
                code = 56 if tp in self.storage_errors else 0
                (self.found_failed.add if code else self.found_failed.discard)(tp)
                if code == 0 and part["leader_epoch"] > self.replicas.get(tp, {"leader_epoch": -1})["leader_epoch"]:
                    self.replicas[tp] = dict(part)
                rows.append(SimpleNamespace(partition_index=tp.partition, error_code=code))
            topics.append(SimpleNamespace(topic_id=topic["topic_id"], partition_errors=rows))
        return SimpleNamespace(error_code=0, topics=topics)

    def _stop(self, request: ControlRequest) -> Any:
        rows = []
        for tp, part in request.partitions.items():
            code = self.stop_error or (56 if tp in self.found_failed else 0)
            if part["delete_partition"] and code == 0:
                self.replicas.pop(tp, None)
            rows.append(SimpleNamespace(topic_name=tp.topic, partition_index=tp.partition, error_code=code))
        return SimpleNamespace(error_code=0, partition_errors=rows)

    def of_kind(self, api_key: int) -> list[ControlRequest]:
        return [request for request in self.requests if request.api_key == api_key]


class Broker:
    """One broker process: its session, registration and controller."""

    def __init__(self, world: World, broker_id: int, disk: FolderDisk, rack: str | None) -> None:
        self.world = world
        self.broker_id = broker_id
        self.disk = disk
        self.store = MemoryStore(world.ensemble, world.clock, session_timeout_ms=SESSION_TIMEOUT_MS)
        self.node = make_node(world.clock, self.store, disk)
        self.config = ConfigHolder(BrokerConfig.load({"broker.id": str(broker_id), **world.settings}))
        self.controller = Controller(self.node, broker_id, self.config, world)
        self.failures: list[Exception] = []
        info = BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "127.0.0.1", 9000 + broker_id),), rack, -1)
        self.registration = Registration(
            self.node,
            ["/data"],
            lambda: info,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            on_registered=lambda _: self.controller.session_renewed(),
            on_failure=self.failures.append,
        )

    async def start(self) -> None:
        await self.store.connect(SESSION_TIMEOUT_MS)
        await layout.ensure_layout(self.store)
        await self.registration.start()
        await self.controller.start()

    async def stop(self) -> None:
        """An orderly end: the session is closed."""
        await self._end()
        await self.store.close()

    async def kill(self) -> None:
        """The process dies; its session is left to time out."""
        self.store.abandon()
        await self._end()

    async def _end(self) -> None:
        await self.registration.stop()
        await self.controller.stop()


class World:
    """The brokers, the store and an operator's session. It is also the sender: requests go straight to `told`."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings
        self.clock = ManualClock()
        self.ensemble = MemoryEnsemble(self.clock.now_ms, self.clock.call_later)
        self.operator = MemoryStore(self.ensemble, self.clock, session_timeout_ms=1e12)
        self.brokers: dict[int, Broker] = {}
        self.told: dict[int, ToldBroker] = {}
        self.hung_up: list[BrokerInfo] = []

    async def send(self, info: BrokerInfo, request: ControlRequest) -> Any:
        told = self.told[info.broker_id]
        if not told.reachable:
            raise ConnectionError("unreachable")
        await asyncio.sleep(0)
        return told.handle(request)

    def hang_up(self, info: BrokerInfo) -> None:
        self.hung_up.append(info)

    async def start(self, *broker_ids: int, racks: Mapping[int, str] | None = None, storage_errors: Iterable[TopicPartition] = ()) -> None:
        """Starts brokers one after the other, so the first one is the controller; each is settled before the next."""
        if not self.operator.session_id:
            await self.operator.connect(1_000)
        for broker_id in broker_ids:
            disk = self.brokers[broker_id].disk if broker_id in self.brokers else FolderDisk()
            self.told[broker_id] = ToldBroker(broker_id)
            self.told[broker_id].storage_errors.update(storage_errors)
            self.brokers[broker_id] = Broker(self, broker_id, disk, (racks or {}).get(broker_id))
            await self.brokers[broker_id].start()
            await self.settle()

    async def die(self, *broker_ids: int) -> None:
        """Brokers are killed and their sessions expire at once."""
        for broker_id in broker_ids:
            await self.brokers[broker_id].kill()
            self.told[broker_id].reachable = False
        await self.advance(SESSION_TIMEOUT_MS + 1)

    async def close(self) -> None:
        for broker in self.brokers.values():
            await broker.stop()

    async def settle(self) -> None:
        """Lets everything run until nothing has happened for a while."""
        quiet = 0
        for _ in range(SETTLE_TURNS):
            before = self._activity()
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._activity() == before else 0
            if quiet >= QUIET_TURNS:
                return
        raise AssertionError("the world does not settle")

    def _activity(self) -> tuple[int, int, int]:
        queued = sum(broker.controller.snapshot().queue_size for broker in self.brokers.values())
        return self.ensemble.tree.zxid, sum(len(told.requests) for told in self.told.values()), queued

    async def advance(self, ms: float) -> None:
        end = self.clock.now + ms
        await self.settle()
        while self.clock.fire_until(end):
            await self.settle()
        await self.settle()

    async def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """An answer of a controller, once everything it led to has happened."""
        task = asyncio.get_running_loop().create_task(coroutine)
        await self.settle()
        return await task

    @property
    def active(self) -> Controller:
        (controller,) = [broker.controller for broker in self.brokers.values() if broker.controller.is_active]
        return controller

    async def create_topic(self, topic: str, *replicas: Sequence[int], config: Mapping[str, str] | None = None, topic_id: int = 7) -> None:
        if config is not None:
            await self.operator.create(layout.config_path("topics", topic), encode_config(config))
        await self.operator.create(layout.topic_path(topic), topic_data(replicas, topic_id))
        await self.settle()

    async def grow_topic(self, topic: str, *replicas: Sequence[int], topic_id: int = 7) -> None:
        await self.operator.set(layout.topic_path(topic), topic_data(replicas, topic_id))
        await self.settle()

    async def delete_topic(self, topic: str) -> None:
        await self.operator.create(layout.deletion_path(topic), b"")
        await self.settle()

    async def state(self, topic: str, partition: int = 0) -> LeaderAndIsr:
        tp = TopicPartition(topic, partition)
        data, stat = await self.operator.get(layout.state_path(tp))
        return decode_partition_state(tp, data, stat.version)[0]

    async def assignment(self, topic: str) -> TopicAssignment:
        return decode_topic(topic, (await self.operator.get(layout.topic_path(topic)))[0])

    async def exists(self, path: str) -> bool:
        try:
            await self.operator.get(path)
        except NoNode:
            return False
        return True

    async def set_isr(self, topic: str, isr: Sequence[int], partition: int = 0, *, notify: bool = True) -> None:
        """The leader changes the ISR by itself, as with the inter-broker protocol 2.7, and announces it."""
        tp = TopicPartition(topic, partition)
        data, stat = await self.operator.get(layout.state_path(tp))
        state, controller_epoch = decode_partition_state(tp, data, stat.version)
        changed = LeaderAndIsr(state.leader, state.leader_epoch, tuple(isr))
        await self.operator.set(layout.state_path(tp), encode_partition_state(changed, controller_epoch), stat.version)
        if notify:
            await self.operator.create(f"{layout.ISR_CHANGES}/isr_change_", encode_isr_change([tp]), sequence=True)
        await self.settle()


def topic_data(replicas: Sequence[Sequence[int]], topic_id: int) -> bytes:
    return encode_topic(TopicAssignment(UUID(int=topic_id), {p: tuple(brokers) for p, brokers in enumerate(replicas)}, {}, {}))
