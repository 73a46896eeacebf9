"""Coordinators of several brokers over one set of offsets logs: real logs on a simulated disk, replication by word of mouth."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.messages import JoinRequest, JoinResult, Protocol, SyncRequest, SyncResult
from broker_core.groups.records import OffsetCommit
from broker_core.metadata.cache import MetadataCache
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.records.batch import iter_headers, read_records
from broker_core.seams import Node
from broker_core.storage.log import AppendInfo, AppendOrigin, PartitionLog
from tests.simulation.kernel.world import World

PARTITIONS = 4
SESSION_MS = 10_000
REBALANCE_MS = 60_000
Scenario = Callable[["OffsetsCluster"], Coroutine[Any, Any, None]]


def simulate(scenario: Scenario, **settings: str) -> None:
    """Runs a scenario in virtual time on one loop; tasks that failed fail the test."""

    async def run(node: Node) -> None:
        cluster = OffsetsCluster(node, settings)
        await cluster.start()
        await scenario(cluster)
        cluster.close()

    with World(seed=1) as world:
        world.add("b", start=True)
        world.run("b", run, timeout_ms=90 * 86_400_000)
        assert not world.problems


def refusal(coordinator: GroupCoordinator, group_id: str) -> ErrorCode:
    """NONE if the broker answers for the group."""
    try:
        coordinator.describe(group_id)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


class SharedReplicas:
    """The replica manager of one broker, and those its parts too: every record is everywhere as soon as `cluster.hold` is not set."""

    def __init__(self, cluster: OffsetsCluster, broker_id: int) -> None:
        self.cluster = cluster
        self.broker_id = broker_id
        self.listeners: list[Callable[[TopicPartition, str, int], None]] = []
        self.appending = self.partitions = self.roles = self

    def add_listener(self, listener: Callable[[TopicPartition, str, int], None]) -> None:
        self.listeners.append(listener)

    def tell(self, partition: int, role: str, epoch: int) -> None:
        for listener in self.listeners:
            listener(TopicPartition(CONSUMER_OFFSETS, partition), role, epoch)

    def append_now(self, tp: TopicPartition, data: bytes, origin: AppendOrigin, expected_leader_epoch: int) -> AppendInfo:
        assert origin is AppendOrigin.COORDINATOR
        if self.cluster.append_error is not None:
            raise KafkaError(self.cluster.append_error)
        if self.cluster.leaders.get(tp.partition) != (self.broker_id, expected_leader_epoch):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = self.cluster.logs[tp.partition]
        return log.append_as_leader(data, expected_leader_epoch, origin, self.cluster.node.clock.now_ms())

    async def wait_replicated(self, tp: TopicPartition, last_offset: int, timeout_ms: float) -> None:
        if self.cluster.hold:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.cluster.held.append(waiter)
            await waiter

    def leader_log(self, tp: TopicPartition) -> PartitionLog:
        if self.cluster.leaders.get(tp.partition, (-1, -1))[0] != self.broker_id:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.cluster.logs[tp.partition]


class OffsetsCluster:
    """`hold` keeps appends unreplicated until `release`; `append_error` makes them fail."""

    def __init__(self, node: Node, settings: dict[str, str]) -> None:
        self.node = node
        self.config = ConfigHolder(BrokerConfig.load({"group.initial.rebalance.delay.ms": "0", **settings}))
        self.metadata = MetadataCache("cluster")
        self.logs: dict[int, PartitionLog] = {}
        self.leaders: dict[int, tuple[int, int]] = {}
        self.session_ms = SESSION_MS
        self.hold = False
        self.held: list[asyncio.Future[None]] = []
        self.append_error: ErrorCode | None = None
        self.replicas = {broker_id: SharedReplicas(self, broker_id) for broker_id in (1, 2)}
        self.brokers = {broker_id: self.coordinator(broker_id) for broker_id in (1, 2)}

    def coordinator(self, broker_id: int) -> GroupCoordinator:
        made = GroupCoordinator(self.node, self.config, cast(Any, self.replicas[broker_id]), self.metadata)
        made.start()
        return made

    async def start(self) -> None:
        """All partitions are led by broker 1."""
        self.describe({CONSUMER_OFFSETS: PARTITIONS, "t": 4, "u": 1})
        for partition in range(PARTITIONS):
            folder = f"/data/{CONSUMER_OFFSETS}-{partition}"
            self.node.disk.make_dirs(folder)
            self.logs[partition] = await PartitionLog.open(
                self.node,
                folder,
                TopicPartition(CONSUMER_OFFSETS, partition),
                lambda: self.config.topic(CONSUMER_OFFSETS),
                recovery_point=0,
                log_start_offset=0,
                clean=True,
            )
            self.elect(partition, 1)
        await self.settle()

    def close(self) -> None:
        for coordinator in self.brokers.values():
            coordinator.close()

    async def settle(self) -> None:
        await self.node.clock.sleep(50)

    def describe(self, topics: dict[str, int], *, deleted: tuple[TopicPartition, ...] = (), brokers: tuple[int, ...] = (1, 2)) -> None:
        """Tells the metadata cache of topics (name to number of partitions, all led by broker 1)."""
        states = [(name, index, 1) for name, count in topics.items() for index in range(count)]
        states += [(tp.topic, tp.partition, -2) for tp in deleted]
        self.metadata.update(
            SimpleNamespace(
                controller_id=1,
                live_brokers=[SimpleNamespace(id_=broker, endpoints=[endpoint(broker)], rack=None) for broker in brokers],
                topic_states=[
                    SimpleNamespace(
                        topic_name=name,
                        partition_states=[
                            SimpleNamespace(
                                partition_index=index,
                                leader=leader,
                                leader_epoch=0,
                                isr=[1],
                                replicas=[1],
                                offline_replicas=[],
                                zk_version=0,
                            )
                        ],
                    )
                    for name, index, leader in states
                ],
            ),
            0,
        )

    def elect(self, partition: int, broker_id: int) -> None:
        """The partition gets a new leader and epoch; every broker is told, the old leader first."""
        old, epoch = self.leaders.get(partition, (-1, -1))
        self.leaders[partition] = (broker_id, epoch + 1)
        for other, replicas in self.replicas.items():
            if other != broker_id and (other == old or old == -1):
                replicas.tell(partition, "follower", epoch + 1)
        self.replicas[broker_id].tell(partition, "leader", epoch + 1)

    def release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """All held appends are replicated, or fail."""
        self.hold = False
        for waiter in self.held:
            if error is ErrorCode.NONE:
                waiter.set_result(None)
            else:
                waiter.set_exception(KafkaError(error))
        self.held.clear()

    def records(self, partition: int) -> list[tuple[bytes | None, bytes | None]]:
        """Keys and values of a partition's log."""
        log, offset, found = self.logs[partition], 0, []
        while offset < log.log_end_offset:
            part = log.read(offset, 1 << 20, log.log_end_offset, True)
            assert part.records is not None
            data = part.records.file.pread(part.records.position, part.length)
            for position, header in iter_headers(data):
                found += [(record.key, record.value) for record in read_records(data, position, header)]
            offset = part.next_offset
        return found

    # -- clients --------------------------------------------------------------------------------------------------------

    def begin(self, awaitable: Awaitable[Any]) -> asyncio.Task[Any]:
        return asyncio.ensure_future(awaitable)

    async def join(
        self, group_id: str, member_id: str = "", *, instance_id: str | None = None, broker: int = 1, **fields: Any
    ) -> JoinResult:
        request = {
            "group_id": group_id,
            "member_id": member_id,
            "instance_id": instance_id,
            "client_id": "client",
            "client_host": "/127.0.0.1",
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": (Protocol("range", bytes.fromhex("0000 00000001 0001 74 ffffffff")),),
            "requires_member_id": False,
        } | fields
        return await self.brokers[broker].join(JoinRequest(**request))

    async def sync(
        self, group_id: str, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, *, broker: int = 1
    ) -> SyncResult:
        return await self.brokers[broker].sync(
            SyncRequest(group_id, member_id, None, generation, None, None, tuple((assignments or {}).items()))
        )

    async def stable(self, group_id: str) -> JoinResult:
        """A group of one member that has its assignment."""
        joined = await self.join(group_id)
        assert joined.error is ErrorCode.NONE
        synced = await self.sync(group_id, joined.member_id, joined.generation, {joined.member_id: b"all"})
        assert (synced.error, synced.assignment) == (ErrorCode.NONE, b"all")
        return joined

    async def commit(
        self,
        group_id: str,
        offsets: dict[TopicPartition, int],
        *,
        member_id: str = "",
        generation: int = -1,
        broker: int = 1,
        **fields: Any,
    ) -> dict[TopicPartition, ErrorCode]:
        now_ms = self.node.clock.now_ms()
        commits = {
            tp: OffsetCommit(offset, -1, fields.get("metadata", ""), now_ms, fields.get("expire_ms")) for tp, offset in offsets.items()
        }
        return await self.brokers[broker].commit_offsets(group_id, member_id, None, generation, commits)

    def fetch(self, group_id: str, *, broker: int = 1, require_stable: bool = False) -> dict[TopicPartition, int]:
        fetched = self.brokers[broker].fetch_offsets(group_id, None, require_stable=require_stable)
        return {tp: one.offset for tp, one in fetched.items()}


def endpoint(broker_id: int) -> SimpleNamespace:
    return SimpleNamespace(listener="PLAINTEXT", host="127.0.0.1", port=9090 + broker_id, security_protocol=0)
