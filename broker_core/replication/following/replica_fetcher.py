"""Replicates from one source broker: one loop, one request at a time, for its share of the partitions we follow there (spec R7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

from broker_core.client.request import BrokerChannel
from broker_core.config import ConfigHolder
from broker_core.errors import CorruptData, ErrorCode, KafkaError, ProtocolViolation
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.hot_fetch import FetchPosition, FollowerFetch, encode_fetch_request
from broker_core.protocol.hot_fetched import FetchAnswer, FetchedPartition, decode_fetch_answer
from broker_core.protocol.inter_broker import version_between_brokers
from broker_core.replication.following.fetch_session_handler import FetchRequestData, FetchSessionHandler, PartitionFetchState, Position
from broker_core.replication.following.follower import Fetched, cut_diverging, following, restart, store_fetched
from broker_core.replication.following.truncation import UNDEFINED_EPOCH, EpochEnd
from broker_core.replication.lookups import EARLIEST, LATEST
from broker_core.replication.partition import Moved, Partition
from broker_core.replication.quota import SAMPLE_MS, ReplicationQuotaManager
from broker_core.seams import Node

log = logging.getLogger(__name__)

CLIENT_ID = "replica fetcher"
_NETWORK_ERRORS = (ConnectionError, TimeoutError, OSError, ProtocolViolation)

READY_MS = 20.0
NOT_READY = (
    *(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH),
    *(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID),
)
"""Told by a leader that the controller's order has not reached, while it has reached the follower."""

T = TypeVar("T")


class Source(Struct, frozen=True):
    """Who is fetched from and how: `channel` gives an open connection or raises `ConnectionError`; `has_topic_ids`: see `MetadataCache`."""

    broker_id: int
    own_id: int
    own_epoch: Callable[[], int]
    channel: Callable[[], BrokerChannel]
    has_topic_ids: Callable[[], bool]


class ReplicaFetcher:
    """Follows partitions that `source` leads. `moved` is told what each answer changed."""

    def __init__(
        self, node: Node, config: ConfigHolder, source: Source, quota: ReplicationQuotaManager, *, moved: Callable[[Partition, Moved], None]
    ) -> None:
        self._node = node
        self._config = config
        self._source = source
        self._quota = quota
        self._moved = moved
        self._protocol = config.static.inter_broker_protocol
        self._session = FetchSessionHandler(source.has_topic_ids, version_between_brokers(self._protocol, ApiKey.FETCH))
        self._partitions: dict[TopicPartition, Partition] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._retired = False
        self._refused: dict[int, list[TopicPartition]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether it follows nothing; its last round may be under way all the same."""
        return not self._partitions

    def add(self, partition: Partition) -> None:
        """Follows a partition from its log's end, in its present leader epoch."""
        self._partitions[partition.tp] = partition
        self._session.add(partition.tp, partition.topic_id, partition.leader_epoch)
        self._wake.set()
        if self._task is None:
            self._task = self._node.spawn(self._run(), name=f"fetch from broker {self._source.broker_id}")

    def remove(self, tp: TopicPartition) -> None:
        """Stops following; an answer that is on its way is not used."""
        self._partitions.pop(tp, None)
        self._session.remove(tp)

    def note(self, tp: TopicPartition) -> None:
        """The partition can be fetched again: what it has appended is on disk."""
        self._session.note(tp)
        self._wake.set()

    def retire(self) -> None:
        """Ends with the round under way, when no partition is left to it: cutting a log must not be broken off half-way."""
        self._retired = True
        self._wake.set()

    def stop(self) -> None:
        self._retired = True  # the closed channel's error may be told instead of the cancellation
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while not self._retired:
            body = self._session.build(self._node.clock.monotonic_ms(), self._position)
            if body is None:
                await self._idle()
            elif not await self._round(body):
                await self._back_off()

    async def _back_off(self) -> None:
        """After a failure, until there is somebody to ask: a request that names thousands of partitions is not made for nobody."""
        config = self._config.current
        await self._node.clock.sleep(config.replica_fetch_backoff_ms)
        while self._partitions and not self._retired:
            try:
                return await self._source.channel().connect(config.replica_socket_timeout_ms)
            except _NETWORK_ERRORS:
                await self._node.clock.sleep(config.replica_fetch_backoff_ms)

    async def _idle(self) -> None:
        """Until a partition is added or one that waits is ready again."""
        self._wake.clear()
        ready_ms = self._session.next_ready_ms()
        if ready_ms is None:
            await self._wake.wait()
            return
        try:
            await self._node.clock.wait_for(self._wake.wait(), max(1.0, ready_ms - self._node.clock.monotonic_ms()))
        except TimeoutError:
            return

    async def _round(self, body: FetchRequestData) -> bool:
        """One request and its answer; False when no answer came."""
        try:
            answer = await self._fetch(body)
        except _NETWORK_ERRORS as error:
            log.info("fetch failed", extra={"source": self._source.broker_id, "error": repr(error)})
            self._session.failed()
            return False
        for data in answer.partitions:
            tp = self._session.resolve(data.topic, data.partition)
            if tp is not None:
                await self._take(tp, data)
        self._session.answered(answer.error_code, answer.session_id)
        self._tell_refusals()
        return answer.error_code is ErrorCode.NONE

    def _tell_refusals(self) -> None:
        """One line for all: a leader that is not yet ready refuses thousands of partitions, again and again."""
        for code, partitions in self._refused.items():
            details = {"first": str(partitions[0]), "partitions": len(partitions), "source": self._source.broker_id, "code": code}
            log.info("fetch refused", extra=details)
        self._refused.clear()

    async def _take(self, tp: TopicPartition, data: FetchedPartition) -> None:
        """Uses one partition's answer if it is still for where the log stands."""
        followed, partition = self._session.get(tp), self._partitions.get(tp)
        if followed is None or partition is None or followed.sent is None:
            return
        if followed.sent != self._position(followed):
            self._session.note(tp)
            return
        try:
            await self._use(followed, partition, data)
        except (KafkaError, CorruptData, *_NETWORK_ERRORS) as error:
            log.warning("fetched data not taken", extra={"partition": str(tp), "source": self._source.broker_id, "error": str(error)})
            self._put_off(tp)
        except Exception:
            log.exception("replication of a partition failed", extra={"partition": str(tp), "source": self._source.broker_id})
            self.remove(tp)

    async def _use(self, followed: PartitionFetchState, partition: Partition, data: FetchedPartition) -> None:
        code = data.error_code
        if code == ErrorCode.NONE:
            await self._use_data(followed, partition, data)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._start_over(followed, partition)
        elif code == ErrorCode.FENCED_LEADER_EPOCH:
            log.info("fenced by the leader, waiting for LeaderAndIsr", extra={"partition": str(followed.tp)})
            self.remove(followed.tp)
        else:
            self._refused.setdefault(int(code), []).append(followed.tp)
            self._put_off(followed.tp, self._until_ready_ms(followed) if code in NOT_READY else None)

    async def _use_data(self, followed: PartitionFetchState, partition: Partition, data: FetchedPartition) -> None:
        followed.refusals = 0
        if data.diverging is not None:
            moved = await cut_diverging(partition, followed.leader_epoch, EpochEnd(*data.diverging))
        else:
            fetched = Fetched(data.records, data.high_watermark, data.log_start_offset)
            moved = await store_fetched(partition, followed.leader_epoch, fetched, self._node.clock.now_ms())
            self._throttle(followed.tp, data, behind=partition.log is not None and data.high_watermark > partition.log.log_end_offset)
        self._session.note(followed.tp)
        self._moved(partition, moved)

    def _throttle(self, tp: TopicPartition, data: FetchedPartition, *, behind: bool) -> None:
        """Counts what a throttled replica fetched, and lets it wait if that is too much (KIP-73)."""
        now_ms = self._node.clock.monotonic_ms()
        self._quota.record(tp, len(data.records or b""), now_ms)
        if self._quota.holds_back(tp, now_ms, in_sync=not behind):
            self._session.delay(tp, now_ms + SAMPLE_MS)

    async def _start_over(self, followed: PartitionFetchState, partition: Partition) -> None:
        leader_end = await self._list_offset(followed, LATEST)
        leader_start = await self._list_offset(followed, EARLIEST)
        moved = await restart(partition, followed.leader_epoch, leader_start, leader_end)
        self._moved(partition, moved)
        self._put_off(followed.tp) if moved == Moved() else self._session.note(followed.tp)

    def _until_ready_ms(self, followed: PartitionFetchState) -> float:
        """A leader that has not heard of its role yet soon has; each further time it is given twice as long."""
        wait_ms = READY_MS * 2.0**followed.refusals
        followed.refusals += wait_ms < self._config.current.replica_fetch_backoff_ms
        return wait_ms

    def _put_off(self, tp: TopicPartition, wait_ms: float | None = None) -> None:
        most_ms = float(self._config.current.replica_fetch_backoff_ms)
        self._session.delay(tp, self._node.clock.monotonic_ms() + (most_ms if wait_ms is None else min(wait_ms, most_ms)))

    def _position(self, followed: PartitionFetchState) -> Position | None:
        """None also while a flush that failed is outstanding: a fetch would acknowledge records that are not on disk."""
        partition = self._partitions.get(followed.tp)
        own = following(partition, followed.leader_epoch) if partition is not None else None
        if own is None or not own.recovery.has_settled(own.log_end_offset):
            return None
        epoch = UNDEFINED_EPOCH if own.epochs.latest is None else own.epochs.latest
        return Position(followed.leader_epoch, own.log_end_offset, epoch, own.log_start_offset)

    async def _fetch(self, body: FetchRequestData) -> FetchAnswer:
        config = self._config.current
        request = FollowerFetch(
            self._source.own_id,
            self._source.own_epoch(),
            0 if body.more else config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            body.session_id,
            body.session_epoch,
        )
        wanted = [(followed, _row(followed, position, config.replica_fetch_max_bytes)) for followed, position in body.wanted]
        forgotten = [(followed, followed.tp.partition) for followed in body.forgotten]

        def build(correlation_id: int) -> bytes:
            return encode_fetch_request(body.version, correlation_id, CLIENT_ID, request, _by_topic(wanted), forgotten=_by_topic(forgotten))

        frame = await self._source.channel().request_raw(build, config.replica_socket_timeout_ms)
        return decode_fetch_answer(body.version, frame)

    async def _list_offset(self, followed: PartitionFetchState, timestamp: int) -> int:
        partition = {"partition_index": followed.tp.partition, "current_leader_epoch": followed.leader_epoch, "timestamp": timestamp}
        payload = {
            "replica_id": self._source.own_id,
            "isolation_level": 0,
            "topics": [{"name": followed.tp.topic, "partitions": [partition]}],
        }
        timeout_ms = self._config.current.replica_socket_timeout_ms
        version = version_between_brokers(self._protocol, ApiKey.LIST_OFFSETS)
        answer = await self._source.channel().request(ApiKey.LIST_OFFSETS, version, payload, timeout_ms)
        found = answer.topics[0].partitions[0]
        if found.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(found.error_code), f"broker {self._source.broker_id} does not tell its offsets of {followed.tp}")
        return int(found.offset)


def _row(followed: PartitionFetchState, at: Position, max_bytes: int) -> FetchPosition:
    return FetchPosition(followed.tp.partition, at.leader_epoch, at.fetch_offset, at.last_fetched_epoch, at.log_start_offset, max_bytes)


def _by_topic(rows: Sequence[tuple[PartitionFetchState, T]]) -> list[tuple[str, UUID | None, list[T]]]:
    grouped: dict[str, tuple[str, UUID | None, list[T]]] = {}
    for followed, row in rows:
        grouped.setdefault(followed.tp.topic, (followed.tp.topic, followed.topic_id, []))[2].append(row)
    return list(grouped.values())
