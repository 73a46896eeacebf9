"""Rows of the state feed, read from the broker's parts when an answer is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, starmap

from msgspec import Struct
from msgspec.structs import asdict

from broker_core.contract import feed
from broker_core.controller.loop import Controller
from broker_core.coordinator_runtime.wire import Reader
from broker_core.errors import CorruptData
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.group import Group
from broker_core.groups.states import GroupState
from broker_core.model import NO_EPOCH, NO_LEADER, TopicPartition
from broker_core.purgatory.timer import Timer
from broker_core.replication.follower_state import FollowerView
from broker_core.replication.manager import ReplicaManager
from broker_core.replication.partition import Partition
from broker_core.storage.folder.data_folder import DataFolder
from broker_core.storage.manager import LogManager
from broker_core.telemetry.metrics import STAGES, ApiMetrics, BrokerMetrics
from broker_core.telemetry.tally import Tally

EPOCHS_MAX = 8
GROUP_OFFSETS_MAX = 10_000
GROUP_MEMBERS_MAX = 1_000
GROUP_ASSIGNED_MAX = 10_000
"""Partitions of all assignments of a group: those are what its clients wrote, and may name millions."""


class BrokerStateSource(Struct):
    """Implements `feed.StateSource` over one broker."""

    broker_id: int
    replicas: ReplicaManager
    groups: GroupCoordinator
    controller: Controller
    logs: LogManager
    metrics: BrokerMetrics
    broker_epoch: Callable[[], int]
    _stop_watching: tuple[Callable[[], None], ...] = ()
    _tally: Tally | None = None

    def __post_init__(self) -> None:
        self._tally = Tally(self.replicas.partitions.get)
        self.replicas.delayed.watch(self._tally.changed)

    def watch(self, partition_changed: Callable[[TopicPartition], None], group_changed: Callable[[str], None]) -> None:
        self._stop_watching = (self.replicas.delayed.watch(partition_changed), self.groups.watch_changes(group_changed))

    def unwatch(self) -> None:
        stops, self._stop_watching = self._stop_watching, ()
        for stop in stops:
            stop()

    def under_min_isr(self) -> int:
        """Led partitions whose ISR is smaller than min.insync.replicas."""
        assert self._tally is not None
        self._tally.look()
        return self._tally.under_min_isr

    def broker(self) -> feed.Broker:
        assert self._tally is not None
        self._tally.look()
        metrics, delayed, timers = self.metrics, self.replicas.delayed, self.groups.timers
        folders = sorted(map(self._log_dir, self.logs.folders.all), key=_need)
        purgatories = delayed.produces, delayed.fetches, timers.rebalances, timers.heartbeats
        return feed.Broker(
            id=self.broker_id,
            epoch=self.broker_epoch(),
            controller_id=None if self.controller.controller_id == NO_LEADER else self.controller.controller_id,
            controller_epoch=self._controller_epoch(),
            is_controller=self.controller.is_active,
            controller=self.controller.ahead(),
            partitions=self.replicas.partitions.count,
            leaders=self._tally.leaders,
            under_replicated=self._tally.under_replicated,
            log_bytes=self._tally.log_bytes,
            log_dir=folders[0],
            other_log_dirs=tuple(folders[1:]),
            purgatory=feed.Purgatory(*(each.delayed for each in purgatories)),
            purgatory_expired=feed.Purgatory(*(each.expired for each in purgatories)),
            timing_wheels=_wheels({each.timer: None for each in purgatories}),
            connections=metrics.connections,
            messages_in=metrics.messages_in,
            produced_bytes=metrics.produced_bytes,
            fetched_bytes=metrics.fetched_bytes,
            idle_percent=metrics.idle_percent,
            loop_stalls=metrics.loop_stalls,
            produce_by_acks={str(acks): count for acks, count in sorted(metrics.produce_by_acks.items())},
            old_requests=tuple(feed.OldRequests(**asdict(sender), **asdict(seen)) for sender, seen in metrics.old_requests.rows()),
            requests={name: _requests(api) for name, api in sorted(metrics.apis.items())},
        )

    def _log_dir(self, folder: DataFolder) -> feed.LogDir:
        headroom = folder.headroom
        failure, full_in_ms = folder.state.failure, headroom.full_in_ms
        gone = failure is not None
        return feed.LogDir(
            path=folder.path,
            offline_since_ms=failure.at_ms if failure is not None else None,
            offline_why=str(failure) if failure is not None else None,
            free_bytes=headroom.space.free_bytes if headroom.space is not None and not gone else None,
            total_bytes=headroom.space.total_bytes if headroom.space is not None else None,
            full_in_s=None if full_in_ms is None or gone else round(full_in_ms / 1000),
            checkpoints_late_s=None if gone else self.logs.upkeep.checkpoints_late_s(folder),
            logs=folder.lost if gone else self.logs.placing.count(folder.path),
        )

    def _controller_epoch(self) -> int | None:
        """Of the newest controller heard of."""
        epoch = self.controller.epoch if self.controller.is_active else self.replicas.controller_epoch
        return None if epoch == NO_EPOCH else epoch

    def partition_keys(self) -> Iterable[TopicPartition]:
        return [partition.tp for partition in self.replicas.partitions.all()]

    def partition(self, tp: TopicPartition) -> feed.Replica | None:
        partition = self.replicas.partitions.get(tp)
        return None if partition is None else _replica(partition)

    def group_keys(self) -> Iterable[str]:
        return list(self.groups.groups())

    def group(self, group: str) -> feed.Group | None:
        found = self.groups.group(group)
        return None if found is None or found.state is GroupState.DEAD else _group(found, *self.groups.runtime.tenure_for(group))


def _need(folder: feed.LogDir) -> tuple[bool, float, float]:
    """An offline folder first, then the one that is full soonest, then the one with the smallest part free."""
    free, total = folder.free_bytes, folder.total_bytes
    room = free / total if free is not None and total else 1.0
    return folder.offline_since_ms is None, float("inf") if folder.full_in_s is None else folder.full_in_s, room


def _wheels(timers: Iterable[Timer]) -> tuple[feed.Wheel, ...]:
    """Those of all timers in one: their wheels have the same ticks, though not all have the longest."""
    found: dict[int, list[int]] = {}
    for timer in timers:
        for tick_ms, slots in timer.standing():
            found[tick_ms] = [a + b for a, b in zip(found.get(tick_ms, [0] * len(slots)), slots, strict=True)]
    return tuple(feed.Wheel(tick_ms, tuple(slots)) for tick_ms, slots in sorted(found.items()))


def _requests(api: ApiMetrics) -> feed.Requests:
    stages = feed.StagesMs(*(round(getattr(api.stages, stage).total_ms, 3) for stage in STAGES))
    p50_ms, p99_ms = api.latency.quantile_ms(0.5), api.latency.quantile_ms(0.99)
    return feed.Requests(api.requests, p50_ms, p99_ms, stages)


def _replica(partition: Partition) -> feed.Replica:
    log, leader = partition.log, partition.leader
    return feed.Replica(
        topic=partition.tp.topic,
        partition=partition.tp.partition,
        role=partition.role.value,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=tuple(partition.replicas),
        isr=tuple(leader.isr.isr) if leader is not None else None,
        followers=tuple(map(_follower, partition.follower_views())) if leader is not None else (),
        high_watermark=log.high_watermark if log is not None else None,
        log_end_offset=log.log_end_offset if log is not None else None,
        log_start_offset=log.log_start_offset if log is not None else None,
        last_stable_offset=log.last_stable_offset if log is not None else None,
        size_bytes=log.segments.size_bytes if log is not None else None,
        truncation=_truncation(partition.truncation),
        epochs=tuple(starmap(feed.LeaderEpoch, log.epochs.entries[-EPOCHS_MAX:])) if leader is not None and log is not None else (),
    )


def _truncation(cut: tuple[int, int] | None) -> feed.Cut | None:
    return feed.Cut(*cut) if cut is not None and cut[0] > cut[1] else None


def _follower(view: FollowerView) -> feed.Follower:
    return feed.Follower(
        view.broker_id,
        view.log_end_offset,
        view.log_start_offset,
        _whole(view.fetch_age_ms),
        _whole(view.caught_up_age_ms),
        view.in_isr,
        view.reason,
    )


def _whole(age_ms: float | None) -> int | None:
    return None if age_ms is None else round(age_ms)


def _group(group: Group, home: int, epoch: int | None) -> feed.Group:
    return feed.Group(
        group=group.group_id,
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol=group.protocol_name,
        generation=group.generation,
        members=tuple(_members(group)),
        offsets=tuple(
            feed.Committed(tp.topic, tp.partition, committed.commit.offset, committed.commit.commit_ms)
            for tp, committed in islice(group.offsets, GROUP_OFFSETS_MAX)
        ),
        home=home,
        epoch=epoch,
    )


def _members(group: Group) -> Iterator[feed.Member]:
    left = GROUP_ASSIGNED_MAX if group.state is GroupState.STABLE and group.protocol_type == "consumer" else 0
    for member in islice(group.members.all(), GROUP_MEMBERS_MAX):
        assignment = assigned_partitions(member.assignment, left) if left else None
        left -= sum(map(len, (assignment or {}).values()))
        yield feed.Member(member.member_id, member.client_id, member.client_host, member.instance_id, assignment)


def assigned_partitions(assignment: bytes, most: int = GROUP_ASSIGNED_MAX) -> dict[str, list[int]] | None:
    """A consumer's assignment (version i16, [topic, [partition]], …) by topic; None for what is none, or names more than `most`."""
    if not assignment:
        return {}
    found: dict[str, list[int]] = {}
    try:
        reader = Reader(assignment)
        reader.int16()
        for _ in range(reader.array_length()):
            topic, count = reader.string(), reader.array_length()
            most -= max(count, 1)
            if most < 0:
                return None
            found[topic] = [reader.int32() for _ in range(count)]
    except CorruptData:
        return None
    return found
