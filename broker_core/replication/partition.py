"""One partition that this broker hosts: its log, its role, and in a leadership what `LeaderState` knows.

Role changes wait for the disk (an epoch's start is on disk before anything is served), so they run one at a time under
`turn`, which the fetcher also takes to truncate. While one is under way the role is NONE and everything is answered with
NOT_LEADER_OR_FOLLOWER. All else is synchronous: what a method sees cannot change before it returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import NO_EPOCH, NO_LEADER, LeaderAndIsr, TopicPartition
from broker_core.records.compression import Buffer
from broker_core.replication.control_requests import LeaderOrder
from broker_core.replication.flaws import Flaws
from broker_core.replication.follower_state import FollowerView, view
from broker_core.replication.isr.high_watermark import effective_min_isr
from broker_core.replication.isr.states import PendingChange
from broker_core.replication.leader_state import Acknowledgement, LeaderState
from broker_core.replication.leadership import Role, judge_client_epoch
from broker_core.replication.serving.fetch_session import FetchClock
from broker_core.seams import Clock
from broker_core.storage.log import AppendInfo, AppendOrigin, PartitionLog
from broker_core.storage.validation.log_validator import ValidationResult

if TYPE_CHECKING:
    from uuid import UUID

ACKS_ALL = -1


class Moved(Struct, frozen=True):
    """What an event changed: offsets that others may wait for, and a change of the ISR that has to be written."""

    log_end: bool = False
    high_watermark: bool = False
    isr: bool = False
    change: PendingChange | None = None


NOTHING_MOVED = Moved()


class Surroundings(Struct, frozen=True):
    """What every partition of a broker shares."""

    broker_id: int
    clock: Clock
    config: ConfigHolder
    is_alive: Callable[[int], bool]
    flaws: Flaws


class Partition:
    """A hosted partition. `leader` is set while this broker leads it; `leader_id` names whoever does."""

    def __init__(self, tp: TopicPartition, surroundings: Surroundings) -> None:
        self.tp = tp
        self.turn = asyncio.Lock()
        self.role = Role.NONE
        self.log: PartitionLog | None = None
        self.leader: LeaderState | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.controller_epoch = NO_EPOCH
        self.replicas: tuple[int, ...] = ()
        self.adding: tuple[int, ...] = ()
        self.removing: tuple[int, ...] = ()
        self.truncation: tuple[int, int] | None = None
        """(log end before, log end after) of the last cut in the present leader epoch."""
        self.undone = False
        """The order of `leader_epoch` could not be carried out for the moment: the same one may come again."""
        self._around = surroundings
        self._changes = 0

    @property
    def topic_id(self) -> UUID | None:
        return self.log.topic_id if self.log is not None else None

    @property
    def obeyed_epoch(self) -> int:
        """The epoch that an order has to exceed."""
        return self.leader_epoch - 1 if self.undone else self.leader_epoch

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads and has no reason to doubt it."""
        return self.leader is not None and not self.leader.deposed

    @property
    def min_isr(self) -> int:
        return effective_min_isr(self._around.config.topic(self.tp.topic).min_insync_replicas, len(self.replicas))

    @property
    def under_replicated(self) -> bool:
        return self.leader is not None and len(self.leader.isr.isr) < len(self.replicas) - len(self.adding)

    @property
    def under_min_isr(self) -> bool:
        return self.leader is not None and len(self.leader.isr.isr) < self.min_isr

    def begin_change(self, order: LeaderOrder) -> int:
        """Stops serving in the old role, takes over what the order says of the assignment, and numbers the change."""
        self.role = Role.NONE
        self.leader = None
        self.leader_id = order.leader
        self.leader_epoch = order.leader_epoch
        self.controller_epoch = order.controller_epoch
        self.replicas = order.replicas
        self.adding = order.adding
        self.removing = order.removing
        self.truncation = None
        self.undone = False
        self._changes += 1
        return self._changes

    def is_latest(self, change: int) -> bool:
        """Whether no other change of role has begun since the one numbered `change`."""
        return self._changes == change

    async def lead(self, order: LeaderOrder, change: int, log: PartitionLog) -> Moved | None:
        """Becomes leader: the epoch's start is on disk before the first request is served. None when overtaken."""
        self.log = log
        epoch_start = log.log_end_offset
        # Followers cut their logs by what we answer about our epochs: an answer must not be forgotten by a crash.
        await log.side_files.assign_epoch(order.leader_epoch, epoch_start)
        if not self.is_latest(change):
            return None
        now_ms = self._around.clock.monotonic_ms()
        state = LeaderAndIsr(self._around.broker_id, order.leader_epoch, order.isr, order.zk_version)
        self.leader = LeaderState.begin(self._around.broker_id, state, order.replicas, epoch_start=epoch_start, now_ms=now_ms)
        self.role = Role.LEADER
        return Moved(log_end=True, high_watermark=self._raise_high_watermark(self.leader, log), isr=True)

    async def follow(self, change: int, log: PartitionLog) -> Moved | None:
        """Becomes follower. What has to be cut the first fetch will tell; a log without epochs is cut to what is committed."""
        self.log = log
        if log.epochs.latest is None or self._around.flaws.truncate_to_high_watermark:
            await log.truncate_to(log.high_watermark)
        if not self.is_latest(change):
            return None
        self.role = Role.FOLLOWER
        return Moved(isr=True)

    def stop(self) -> int:
        """Serves nothing until the next LeaderAndIsr; numbers the change."""
        self._changes += 1
        self.role = Role.NONE
        self.leader = None
        self.leader_id = NO_LEADER
        return self._changes

    def put_off(self) -> None:
        """The order could not be carried out, though the disk is sound: serves nothing, and obeys the same order when it comes again."""
        self.stop()
        self.undone = True

    def fail(self) -> None:
        """The disk failed: offline until the broker restarts."""
        self.stop()
        self.role = Role.OFFLINE

    def leading(self, request_epoch: int = NO_EPOCH) -> tuple[LeaderState, PartitionLog]:
        """The leadership and its log, or the error for a request that needs the leader in `request_epoch`."""
        if self.leader is not None and not self.leader.deposed and request_epoch in (NO_EPOCH, self.leader_epoch) and self.log is not None:
            return self.leader, self.log
        log = self.replica(request_epoch)
        if self.leader is None or self.leader.deposed:
            raise self._not_leader()
        return self.leader, log

    def replica(self, request_epoch: int = NO_EPOCH) -> PartitionLog:
        """The log, for a request that any replica may serve."""
        if self.role is Role.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.tp} is offline")
        if self.role is Role.NONE or self.log is None:
            raise self._not_leader()
        verdict = judge_client_epoch(request_epoch, self.leader_epoch)
        if verdict is not ErrorCode.NONE:
            raise KafkaError(verdict, f"{self.tp} is in leader epoch {self.leader_epoch}, the request in {request_epoch}")
        return self.log

    def append(
        self, data: Buffer, origin: AppendOrigin, *, acks: int, expected_epoch: int = NO_EPOCH, validated: ValidationResult | None = None
    ) -> tuple[AppendInfo, Moved]:
        """Appends to the led log. `validated`: what a client's records were found to be."""
        leader, log = self.appendable(acks, expected_epoch)
        leader.note_silent_fetches(log.log_end_offset)
        info = log.append_as_leader(data, leader.leader_epoch, origin, self._around.clock.now_ms(), validated)
        return info, Moved(log_end=not info.duplicate, high_watermark=self._raise_high_watermark(leader, log))

    def appendable(self, acks: int, expected_epoch: int = NO_EPOCH) -> tuple[LeaderState, PartitionLog]:
        """The leadership and its log; with acks=all only while the ISR has its minimum (spec R5)."""
        leader, log = self.leading(expected_epoch)
        if acks == ACKS_ALL and len(leader.isr.isr) < self.min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"{self.tp} has in-sync replicas {leader.isr.isr}, min.insync.replicas is {self.min_isr}"
            )
        return leader, log

    def record_fetch(self, fetch: Acknowledgement) -> Moved:
        """A follower's fetch was read from the log: its position counts for ISR and high watermark."""
        leader, log = self.leading()
        now_ms = self._around.clock.monotonic_ms()
        moved = leader.record_fetch(fetch, log.log_end_offset, now_ms)
        change = None
        if fetch.broker_id not in leader.isr.isr:
            alive = self._around.is_alive(fetch.broker_id)
            change = leader.propose_expand(fetch.broker_id, log.high_watermark, alive=alive, flaws=self._around.flaws)
        if not moved and change is None:
            return NOTHING_MOVED
        return Moved(high_watermark=self._raise_high_watermark(leader, log), isr=True, change=change)

    def session_ended(self, clock: FetchClock) -> None:
        """A follower no longer fetches this partition in the session of `clock`."""
        if self.leader is not None and self.log is not None:
            self.leader.drop_clock(clock, self.log.log_end_offset)

    def shrink_isr(self) -> Moved:
        """The periodic look for members that fell behind."""
        if self.leader is None or self.log is None:
            return NOTHING_MOVED
        self.leader.note_silent_fetches(self.log.log_end_offset)
        now_ms = self._around.clock.monotonic_ms()
        change = self.leader.propose_shrink(self.log.log_end_offset, now_ms=now_ms, lag_max_ms=self._lag_max_ms)
        return Moved(isr=True, change=change) if change is not None else NOTHING_MOVED

    def follower_views(self) -> list[FollowerView]:
        """What a leader knows of its followers, by broker id; empty on a follower."""
        if self.leader is None or self.log is None:
            return []
        self.leader.note_silent_fetches(self.log.log_end_offset)
        now_ms = self._around.clock.monotonic_ms()
        return [
            view(state, self.leader.isr.isr, now_ms, self._lag_max_ms, alive=self._around.is_alive(broker_id))
            for broker_id, state in sorted(self.leader.followers.items())
        ]

    def recheck_high_watermark(self) -> Moved:
        """After the ISR, the minimum or the live brokers changed (KAFKA-13091)."""
        if self.leader is None or self.log is None:
            return NOTHING_MOVED
        return Moved(high_watermark=self._raise_high_watermark(self.leader, self.log), isr=True)

    @property
    def _lag_max_ms(self) -> int:
        return self._around.config.current.replica_lag_time_max_ms

    def _raise_high_watermark(self, leader: LeaderState, log: PartitionLog) -> bool:
        offset = leader.committable(
            log.log_end_offset,
            self.min_isr,
            now_ms=self._around.clock.monotonic_ms(),
            lag_max_ms=self._lag_max_ms,
            is_alive=self._around.is_alive,
            flaws=self._around.flaws,
        )
        if not log.recovery.has_settled(offset):
            offset = log.recovery.settled_offset  # the leader's own copy counts as far as `flush.messages` has it on disk
        if offset <= log.high_watermark:
            return False
        log.update_high_watermark(offset)
        return True

    def _not_leader(self) -> KafkaError:
        return KafkaError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"broker {self._around.broker_id} does not lead {self.tp}, broker {self.leader_id} does in epoch {self.leader_epoch}",
        )
