"""Which orders of a controller a broker obeys: LeaderAndIsr and StopReplica, partition by partition (spec R11).

A request is first checked as a whole: it has to be meant for this registration of the broker (KIP-380) and come from the
newest controller seen. Then every partition stands alone; only a strictly greater leader epoch changes anything.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from uuid import UUID

from broker_core.errors import ErrorCode
from broker_core.model import LEADER_DURING_DELETE, NO_EPOCH


class Role(enum.Enum):
    """What a hosted partition is at this moment."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"
    OFFLINE = "offline"


def is_old_generation(request_broker_epoch: int, own_broker_epoch: int) -> bool:
    """Whether a request was meant for an earlier registration; -1 names none, a later one is known to the controller first."""
    return request_broker_epoch != NO_EPOCH and request_broker_epoch < own_broker_epoch


def judge_leader_and_isr(
    current_epoch: int,
    new_epoch: int,
    replicas: Sequence[int],
    broker_id: int,
    *,
    own_topic_id: UUID | None,
    new_topic_id: UUID | None,
    offline: bool,
) -> ErrorCode:
    """NONE when the order is to be carried out. `current_epoch` is -1 before the first one."""
    if offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if own_topic_id is not None and new_topic_id is not None and own_topic_id != new_topic_id:
        return ErrorCode.INCONSISTENT_TOPIC_ID
    if new_epoch <= current_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if broker_id not in replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def judge_stop_replica(current_epoch: int, new_epoch: int, *, offline: bool) -> ErrorCode:
    """NONE when the replica is to be stopped: on deletion, without an epoch, or at the present epoch or a later one."""
    if offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if new_epoch in (LEADER_DURING_DELETE, NO_EPOCH) or new_epoch >= current_epoch:
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH


def judge_client_epoch(request_epoch: int, leader_epoch: int) -> ErrorCode:
    """Fences a client or follower that follows another epoch than ours (KIP-320); -1 names none."""
    if request_epoch in (NO_EPOCH, leader_epoch):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if request_epoch < leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
