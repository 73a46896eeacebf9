"""Reads one partition for one fetch: epoch checks, divergence, isolation, and the follower's acknowledgement.

Who may read how far: a follower to the log end, a consumer to the high watermark, with `read_committed` to the last stable
offset. A follower's fetch is an acknowledgement too and is recorded, unless the logs diverge (KAFKA-13141).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.metadata.cache import MetadataCache
from broker_core.model import NO_EPOCH, NO_LEADER, TopicPartition
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.replication.delayed_operations import DelayedOperations, topic_of
from broker_core.replication.following.truncation import Comparison, EpochEnd, compare_position
from broker_core.replication.leader_state import Acknowledgement
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotaManager
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import Answer, FetchClock, WantedPartition
from broker_core.replication.serving.replica_selector import Candidate, select
from broker_core.seams import Node
from broker_core.storage.log import PartitionLog

logger = logging.getLogger(__name__)

_TELL_THE_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class Limits(Struct, frozen=True):
    """What is left of a response. `clock` is set when the fetch counts as the follower's acknowledgement."""

    room_bytes: int
    min_one_batch: bool
    clock: FetchClock | None


class LocalReader:
    """`fetching.PartitionReader` over this broker's logs. `hosted` gives the partition here or raises what the client has to be told."""

    def __init__(
        self,
        node: Node,
        config: ConfigHolder,
        metadata: MetadataCache,
        delayed: DelayedOperations,
        *,
        hosted: Callable[[TopicPartition], Partition],
        quota: ReplicationQuotaManager,
    ) -> None:
        self._node = node
        self._config = config
        self._metadata = metadata
        self._delayed = delayed
        self._hosted = hosted
        self._quota = quota

    def topic_partition(self, wanted: WantedPartition) -> TopicPartition | None:
        """None while the topic id names no topic."""
        if wanted.named is not None:
            return wanted.named
        topic = topic_of(wanted, self._metadata.topic_name)
        return TopicPartition(topic, wanted.partition) if topic is not None else None

    def read(self, params: FetchParams, wanted: WantedPartition, limits: Limits) -> Answer:
        """The partition's result; what fails is told in it."""
        try:
            partition, log = self._serving(params, wanted)
            if not params.leader_only:
                preferred = self._preferred_replica(params, wanted, partition, log)
                if preferred is not None:
                    return Answer(wanted, _result(wanted, log, preferred=preferred), settled=False)
            return self._read(params, wanted, limits, partition, log)
        except KafkaError as error:
            return Answer(wanted, self._failed(wanted, error.code), settled=False)
        except Exception:
            logger.exception("a fetch failed", extra={"topic": wanted.topic, "partition": wanted.partition})
            return Answer(wanted, self._failed(wanted, ErrorCode.UNKNOWN_SERVER_ERROR), settled=False)

    def available_bytes(self, params: FetchParams, wanted: WantedPartition) -> int | None:
        """What a waiting fetch would get now, at least 1 if anything; None when it has something else to be told."""
        try:
            partition, log = self._serving(params, wanted)
        except KafkaError:
            return None
        end = params.bound(log)
        if self._is_throttled(params, partition, in_sync=self._is_member(params, partition)):
            return 0
        if wanted.fetch_offset > log.log_end_offset or _position(wanted, log) is not Comparison.MATCHES:
            return None
        if wanted.fetch_offset >= end:
            return 0
        if params.min_bytes <= 1:
            return 1
        return max(1, min(log.size_between(wanted.fetch_offset, end), wanted.max_bytes))

    def _serving(self, params: FetchParams, wanted: WantedPartition) -> tuple[Partition, PartitionLog]:
        tp = self.topic_partition(wanted)
        if tp is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {wanted.topic_id}")
        partition = self._hosted(tp)
        topic_id = partition.topic_id
        if wanted.topic_id is not topic_id and wanted.topic_id and topic_id and wanted.topic_id != topic_id:
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{tp} has the topic id {topic_id}, not {wanted.topic_id}")
        if params.leader_only:
            leader, log = partition.leading(wanted.current_leader_epoch)
            if params.from_follower and params.replica_id not in leader.followers:
                raise _unknown_replica(params, wanted)
            return partition, log
        return partition, partition.replica(wanted.current_leader_epoch)

    def _read(self, params: FetchParams, wanted: WantedPartition, limits: Limits, partition: Partition, log: PartitionLog) -> Answer:
        position = _position(wanted, log)
        if position is Comparison.OUT_OF_RANGE:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {wanted.fetch_offset} is not in the log of {partition.tp}")
        if position is Comparison.DIVERGES:
            end = log.epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset)
            return Answer(wanted, _result(wanted, log, diverging=end), settled=False)
        in_sync = self._is_member(params, partition)
        end_offset = wanted.fetch_offset if self._is_throttled(params, partition, in_sync=in_sync) else params.bound(log)
        found = log.read(wanted.fetch_offset, min(wanted.max_bytes, limits.room_bytes), end_offset, limits.min_one_batch)
        if params.from_follower and limits.clock is not None:
            self._acknowledge(params, wanted, limits.clock, partition)
        result = _result(wanted, log)
        if params.read_committed:
            result.aborted = found.aborted
        if found.records is None:
            return Answer(wanted, result, wanted.fetch_offset >= end_offset and self._stays_member(params, partition))
        result.records = [found.records]
        result.records_bytes = found.length
        if params.from_follower:
            self._quota.record(partition.tp, found.length, self._node.clock.monotonic_ms())
        return Answer(wanted, result, settled=False)

    def _acknowledge(self, params: FetchParams, wanted: WantedPartition, clock: FetchClock, partition: Partition) -> None:
        """Records the follower's position, if it names the epoch: one that does not may speak of an earlier one."""
        if wanted.current_leader_epoch == NO_EPOCH:
            return
        fetch = Acknowledgement(params.replica_id, params.replica_epoch, wanted.fetch_offset, wanted.log_start_offset, clock)
        moved = partition.record_fetch(fetch)
        self._delayed.moved(partition, moved)
        self._delayed.follower_fetched(partition.tp)

    def _is_member(self, params: FetchParams, partition: Partition) -> bool:
        if not params.from_follower:
            return True
        return partition.leader is not None and params.replica_id in partition.leader.isr.isr

    def _stays_member(self, params: FetchParams, partition: Partition) -> bool:
        """A follower outside the ISR is looked at on every fetch: each may be the one that takes it in. So is one that is being put out:
        it would be out, with nothing more to tell."""
        if not params.from_follower:
            return True
        return partition.leader is not None and params.replica_id in partition.leader.isr.smallest

    def _is_throttled(self, params: FetchParams, partition: Partition, *, in_sync: bool) -> bool:
        """Whether a follower outside the ISR has to wait for its share of the replication rate (KIP-73)."""
        if in_sync or not params.from_follower:
            return False
        return self._quota.holds_back(partition.tp, self._node.clock.monotonic_ms(), in_sync=False)

    def _preferred_replica(self, params: FetchParams, wanted: WantedPartition, partition: Partition, log: PartitionLog) -> int | None:
        kind = self._config.current.replica_selector_class
        leader = partition.leader
        if not kind or leader is None:
            return None
        now_ms = self._node.clock.monotonic_ms()
        candidates = [
            Candidate(broker, self._rack(broker), state.log_end_offset, now_ms - state.last_caught_up_ms)
            for broker, state in leader.followers.items()
            if broker in leader.isr.isr
            and self._metadata.is_alive(broker)
            and state.log_start_offset <= wanted.fetch_offset <= state.log_end_offset
        ]
        own = Candidate(leader.broker_id, self._config.current.broker_rack, log.log_end_offset, 0)
        return select(kind, candidates, own, params.rack, self._node.entropy.random())

    def _rack(self, broker_id: int) -> str | None:
        broker = self._metadata.broker(broker_id)
        return broker.rack if broker is not None else None

    def _failed(self, wanted: WantedPartition, code: ErrorCode) -> FetchPartitionResult:
        leader = self._current_leader(wanted) if code in _TELL_THE_LEADER else None
        return FetchPartitionResult(wanted.partition, code, -1, -1, -1, current_leader=leader)

    def _current_leader(self, wanted: WantedPartition) -> tuple[int, int] | None:
        """Who leads, for a client that asked the wrong broker (KIP-951); None while the partition has no leader."""
        tp = self.topic_partition(wanted)
        state = self._metadata.partition(tp) if tp is not None else None
        return (state.leader, state.leader_epoch) if state is not None and state.leader != NO_LEADER else None


def _position(wanted: WantedPartition, log: PartitionLog) -> Comparison:
    if wanted.last_fetched_epoch < 0:
        return Comparison.MATCHES
    if wanted.last_fetched_epoch == log.epochs.latest and log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
        return Comparison.MATCHES  # as below, of who has been told all: its epoch ends where the log does
    end = EpochEnd(*log.epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset))
    return compare_position(wanted.fetch_offset, wanted.last_fetched_epoch, log.log_start_offset, end)


def _unknown_replica(params: FetchParams, wanted: WantedPartition) -> KafkaError:
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER if wanted.current_leader_epoch == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
    return KafkaError(code, f"broker {params.replica_id} is no replica of {wanted.topic}-{wanted.partition} that we know of")


def _result(
    wanted: WantedPartition, log: PartitionLog, *, preferred: int = -1, diverging: tuple[int, int] | None = None
) -> FetchPartitionResult:
    return FetchPartitionResult(
        wanted.partition,
        ErrorCode.NONE,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        preferred_read_replica=preferred,
        diverging=diverging,
    )
