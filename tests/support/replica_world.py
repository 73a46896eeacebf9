"""Three replica managers with real logs on simulated machines; the test plays the controller.

    with ReplicaWorld(seed=1) as cluster:
        cluster.create("t", leader=1, isr=(1, 2, 3))
        cluster.produce(1, "a")
        cluster.settle()
        cluster.elect(leader=2, isr=(2, 3))

State znodes are real (in the simulator's store), so a leader's conditional writes meet what `elect` wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from broker_core.client.pool import ChannelPool
from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.coordination.layout import broker_path, ensure_layout, partition_path, partitions_path, state_path, topic_path
from broker_core.coordination.store import BadVersion, NodeExists
from broker_core.coordination.znode_data import decode_partition_state, encode_partition_state
from broker_core.handlers import fetch, list_offsets
from broker_core.handlers.registry import ConnectionInfo, Later, Request
from broker_core.metadata.cache import MetadataCache
from broker_core.model import LeaderAndIsr, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import decode_request
from broker_core.protocol.headers import parse_request_header
from broker_core.records.batch import Record, build_batch, iter_headers, read_records
from broker_core.replication.appending import AppendResult
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.replication.isr.alter_isr_manager import AlterIsrManager
from broker_core.replication.manager import ReplicaManager
from broker_core.replication.partition import Partition
from broker_core.seams import Node, Peer
from broker_core.server.pipeline import UNTHROTTLED_MS, respond
from broker_core.storage.log import AppendOrigin, PartitionLog
from broker_core.storage.manager import LogManager
from broker_core.telemetry.metrics import BrokerMetrics
from tests.simulation.kernel.world import World
from tests.support.exchanges import Answered, answered

PORT = 9092
TOPIC_ID = UUID(int=77)
TP = TopicPartition("t", 0)
SESSION_MS = 6_000
LAG_MAX_MS = 4_000
HANDLERS = {ApiKey.FETCH: fetch.handle, ApiKey.LIST_OFFSETS: list_offsets.handle}
T = TypeVar("T")


class MiniBroker:
    """Logs, metadata, replicas and a listener for what followers ask; registered in the store."""

    def __init__(self, node: Node, broker_id: int, overrides: dict[str, str], flaws: Flaws) -> None:
        self.node = node
        self.broker_id = broker_id
        settings = {
            "broker.id": str(broker_id),
            "log.dirs": "/data",
            "replica.lag.time.max.ms": str(LAG_MAX_MS),
            "replica.fetch.backoff.ms": "200",
            "broker.rack": f"rack{broker_id}",
            **overrides,
        }
        self.config = ConfigHolder(BrokerConfig.load(settings))
        self.logs = LogManager(node, self.config, broker_id, "cluster")
        self.metadata = MetadataCache("cluster")
        self.epoch = -1
        self.replicas = ReplicaManager(
            node,
            broker_id,
            self.config,
            self.logs,
            self.metadata,
            broker_epoch=lambda: self.epoch,
            channels=ChannelPool(node, f"broker-{broker_id}"),
            flaws=flaws,
        )
        # There is no controller to ask: leaders write their ISRs themselves.
        self.replicas.alter_isr = AlterIsrManager(node, self.replicas.delayed)
        self.replicas.delayed.on_isr_change = self.replicas.alter_isr.submit
        self.metrics = BrokerMetrics()
        self.ready = False

    async def run(self) -> None:
        self.node.disk.make_dirs("/data")
        await self.logs.start()
        await self.register()
        await self.node.network.listen(f"b{self.broker_id}", PORT, lambda peer: self)
        self.replicas.start()
        self.ready = True

    async def register(self) -> None:
        while True:
            await self.node.store.connect(SESSION_MS)
            await ensure_layout(self.node.store)
            try:
                await self.node.store.create(broker_path(self.broker_id), b"{}", ephemeral=True)
            except NodeExists:
                await self.node.clock.sleep(500)
                continue
            stat = await self.node.store.exists(broker_path(self.broker_id))
            assert stat is not None
            self.epoch = stat.czxid
            return

    async def handle(self, frame: memoryview) -> Answered:
        header = parse_request_header(frame)
        body = decode_request(header.api_key, header.api_version, frame, header.body_offset)
        peer = ConnectionInfo(1, Peer("x", 1), "PLAINTEXT")
        request = Request(header, body, header.api_version, self, peer)  # type: ignore[arg-type]
        parts = respond(header, await HANDLERS[ApiKey(header.api_key)](request), UNTHROTTLED_MS)
        assert not isinstance(parts, Later)
        return answered(parts)

    def may_follow(self, frame: memoryview) -> bool:
        return False

    def closed(self) -> None:
        """Connections hold nothing."""


class ReplicaWorld:
    """`state` is what the test's controller last wrote; `brokers` are the present lives."""

    def __init__(self, seed: int = 1, overrides: dict[str, str] | None = None, flaws: Flaws = NO_FLAWS, brokers: int = 3) -> None:
        self.world = World(seed)
        self.overrides = overrides or {}
        self.flaws = flaws
        self.brokers: dict[int, MiniBroker] = {}
        self.controller_epoch = 1
        self.speaks_ids = True
        """As a controller of 2.8 and later does: LeaderAndIsr v5, UpdateMetadata v7."""
        self.state = LeaderAndIsr(-1, -1, ())
        self.replicas: tuple[int, ...] = ()
        self.world.add("controller", start=True)
        self.world.run("controller", self._connect)
        for broker_id in range(1, brokers + 1):
            self.world.add(f"b{broker_id}", self._main(broker_id))
            self.start(broker_id)

    def __enter__(self) -> ReplicaWorld:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        problems = self.world.problems
        self.world.close()
        if kind is None:
            assert not problems, problems

    def _main(self, broker_id: int) -> Callable[[Node], Coroutine[Any, Any, None]]:
        async def main(node: Node) -> None:
            self.brokers[broker_id] = MiniBroker(node, broker_id, self.overrides, self.flaws)
            await self.brokers[broker_id].run()

        return main

    async def _connect(self, node: Node) -> None:
        await node.store.connect(60_000)
        await ensure_layout(node.store)

    # Machines.

    def start(self, broker_id: int) -> None:
        self.brokers.pop(broker_id, None)
        self.world.start(f"b{broker_id}")
        assert self.world.run_until(lambda: broker_id in self.brokers and self.brokers[broker_id].ready)

    def kill(self, broker_id: int) -> None:
        self.world.kill(f"b{broker_id}")

    def up(self) -> list[int]:
        return [broker_id for broker_id in sorted(self.brokers) if self.world.is_up(f"b{broker_id}")]

    def settle(self, ms: float = 3_000) -> None:
        self.world.run_for(ms)

    def until(self, condition: Callable[[], bool], timeout_ms: float = 60_000) -> None:
        assert self.world.run_until(condition, timeout_ms), "it did not come to that"

    def on(self, broker_id: int, function: Callable[[MiniBroker], Coroutine[Any, Any, T]]) -> T:
        broker = self.brokers[broker_id]
        return self.world.run(f"b{broker_id}", lambda node: function(broker))

    # The controller's part.

    def create(
        self, leader: int = 1, isr: tuple[int, ...] = (1, 2, 3), replicas: tuple[int, ...] = (1, 2, 3), *, withheld: bool = False
    ) -> None:
        """`withheld`: its metadata is told to nobody yet."""
        self.replicas = replicas
        self.state = LeaderAndIsr(leader, 0, isr)

        async def write(node: Node) -> None:
            for path in (topic_path(TP.topic), partitions_path(TP.topic), partition_path(TP)):
                await node.store.create(path, b"")
            await node.store.create(state_path(TP), encode_partition_state(self.state, self.controller_epoch))

        self.world.run("controller", write)
        self.announce(withheld=withheld)

    def elect(self, leader: int, isr: tuple[int, ...], tell: tuple[int, ...] | None = None) -> None:
        """Writes the next leader epoch over whatever the znode holds, and tells the brokers (all that are up)."""

        async def write(node: Node) -> None:
            while True:
                data, stat = await node.store.get(state_path(TP))
                found, _ = decode_partition_state(TP, data, stat.version)
                new = LeaderAndIsr(leader, found.leader_epoch + 1, isr)
                try:
                    written = await node.store.set(state_path(TP), encode_partition_state(new, self.controller_epoch), version=stat.version)
                except BadVersion:
                    continue
                self.state = LeaderAndIsr(leader, new.leader_epoch, isr, written.version)
                return

        self.world.run("controller", write)
        self.announce(tell)

    def stored(self) -> LeaderAndIsr:
        async def read(node: Node) -> LeaderAndIsr:
            data, stat = await node.store.get(state_path(TP))
            return decode_partition_state(TP, data, stat.version)[0]

        return self.world.run("controller", read)

    def announcements(self) -> list[str]:
        return self.world.run("controller", lambda node: node.store.children("/isr_change_notification"))

    def announce(self, tell: tuple[int, ...] | None = None, *, withheld: bool = False) -> None:
        """UpdateMetadata and LeaderAndIsr to those named, else to all replicas that run."""
        for broker_id in tell if tell is not None else self.up():
            if not self.world.is_paused(f"b{broker_id}"):
                self.tell_metadata(broker_id, withheld=withheld)
                self.order(broker_id)

    def tell_metadata(self, broker_id: int, alive: list[int] | None = None, *, withheld: bool = False) -> int:
        """`withheld`: of the brokers alone, the topic is not told yet."""
        request = self._metadata(self.up() if alive is None else alive)
        if withheld:
            request.topic_states.clear()

        async def tell(broker: MiniBroker) -> int:
            return int(broker.replicas.update_metadata(request)["error_code"])

        return self.on(broker_id, tell)

    def order(self, broker_id: int, *, broker_epoch: int = -1, state: LeaderAndIsr | None = None) -> dict[str, Any]:
        """LeaderAndIsr with the present state; the answer."""
        request = self._order(state or self.state, broker_epoch)
        return self.on(broker_id, lambda broker: broker.replicas.become_leader_or_follower(request))

    def begin_order(self, broker_id: int, state: LeaderAndIsr) -> Callable[[], dict[str, Any] | None]:
        """Like `order` without waiting for the answer."""
        broker, request = self.brokers[broker_id], self._order(state, -1)
        return self.world.spawn(f"b{broker_id}", lambda node: broker.replicas.become_leader_or_follower(request))

    def _order(self, state: LeaderAndIsr, broker_epoch: int) -> SimpleNamespace:
        row = SimpleNamespace(
            partition_index=TP.partition,
            controller_epoch=self.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            partition_epoch=state.zk_version,
            replicas=self.replicas,
        )
        topic = self._topic(row)
        return SimpleNamespace(
            controller_id=0, controller_epoch=self.controller_epoch, broker_epoch=broker_epoch, topic_states=[topic], live_leaders=[]
        )

    def _topic(self, row: SimpleNamespace) -> SimpleNamespace:
        ids = {"topic_id": TOPIC_ID} if self.speaks_ids else {}
        return SimpleNamespace(topic_name=TP.topic, partition_states=[row], **ids)

    def stop_replica(self, broker_id: int, *, delete: bool, leader_epoch: int) -> dict[str, Any]:
        row = SimpleNamespace(partition_index=TP.partition, leader_epoch=leader_epoch, delete_partition=delete)
        topic = SimpleNamespace(topic_name=TP.topic, partition_states=[row])
        request = SimpleNamespace(controller_id=0, controller_epoch=self.controller_epoch, broker_epoch=-1, topic_states=[topic])
        return self.on(broker_id, lambda broker: broker.replicas.stop_replicas(request))

    def _metadata(self, alive: list[int]) -> SimpleNamespace:
        endpoint = SimpleNamespace(listener="PLAINTEXT", port=PORT, security_protocol=0)
        brokers = [
            SimpleNamespace(id_=broker_id, rack=f"rack{broker_id}", endpoints=[SimpleNamespace(**vars(endpoint), host=f"b{broker_id}")])
            for broker_id in alive
        ]
        row = SimpleNamespace(
            partition_index=TP.partition,
            leader=self.state.leader,
            leader_epoch=self.state.leader_epoch,
            isr=self.state.isr,
            replicas=self.replicas,
            zk_version=self.state.zk_version,
        )
        topic = self._topic(row)
        return SimpleNamespace(
            controller_id=0, controller_epoch=self.controller_epoch, broker_epoch=-1, live_brokers=brokers, topic_states=[topic]
        )

    # Clients.

    def produce(self, broker_id: int, *values: str, acks: int = -1, timeout_ms: float = 5_000) -> AppendResult:
        """One batch; the partition's result."""
        return self.on(broker_id, lambda broker: append(broker, values, acks, timeout_ms))

    def send(self, broker_id: int, *values: str, acks: int = -1, timeout_ms: float = 5_000) -> Callable[[], AppendResult | None]:
        """Like `produce` without waiting: the result is there once the returned call gives one."""
        broker = self.brokers[broker_id]
        return self.world.spawn(f"b{broker_id}", lambda node: append(broker, values, acks, timeout_ms))

    def partition(self, broker_id: int) -> Partition:
        partition = self.brokers[broker_id].replicas.partitions.get(TP)
        assert partition is not None
        return partition

    def log(self, broker_id: int) -> PartitionLog:
        log = self.brokers[broker_id].logs.get(TP)
        assert log is not None
        return log

    def values(self, broker_id: int) -> list[str]:
        """All records in a replica's log."""
        return log_values(self.log(broker_id))

    def leo(self, broker_id: int) -> int:
        return self.log(broker_id).log_end_offset

    def hw(self, broker_id: int) -> int:
        return self.log(broker_id).high_watermark

    def isr(self, broker_id: int) -> tuple[int, ...]:
        leader = self.partition(broker_id).leader
        assert leader is not None
        return leader.isr.isr

    def caught_up(self) -> bool:
        """Whether every running replica holds what the leader holds, and all know it to be committed."""
        end = self.leo(self.state.leader)
        return all(self.leo(broker_id) == self.hw(broker_id) == end for broker_id in self.up() if broker_id in self.replicas)


def batch(values: tuple[str, ...]) -> bytes:
    return build_batch([Record(index, 1, None, value.encode(), ()) for index, value in enumerate(values)], timestamp_ms=1)


async def append(broker: MiniBroker, values: tuple[str, ...], acks: int, timeout_ms: float) -> AppendResult:
    return await append_batch(broker, batch(values), acks, timeout_ms)


async def append_batch(broker: MiniBroker, data: bytes, acks: int = -1, timeout_ms: float = 5_000) -> AppendResult:
    """What a client is told in the end."""
    begun = await broker.replicas.appending.begin({TP: data}, acks=acks, timeout_ms=timeout_ms, origin=AppendOrigin.CLIENT)
    if begun.replicated is not None:
        await begun.replicated
    return begun.finished()[TP]


def log_values(log: PartitionLog) -> list[str]:
    values: list[str] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 20, log.log_end_offset, True)
        assert found.records is not None
        values.extend(decode_values(found.records.file.pread(found.records.position, found.records.length)))
        offset = found.next_offset
    return values


def decode_values(data: bytes) -> list[str]:
    return [(record.value or b"").decode() for position, header in iter_headers(data) for record in read_records(data, position, header)]
