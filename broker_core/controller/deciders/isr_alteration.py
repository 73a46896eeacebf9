"""Whether the controller writes an ISR that a leader asks for (KIP-497, KIP-704, KIP-841, KIP-903; KafkaController.processAlterPartition).

| asked in, against what the controller knows | answer |
|---|---|
| a later leader or partition epoch | NOT_CONTROLLER: there is a newer controller, or this one will soon know |
| an earlier leader epoch | FENCED_LEADER_EPOCH |
| the state is like that already, at this partition epoch or a later one | the state: the answer to an earlier try was lost |
| an earlier partition epoch | INVALID_UPDATE_VERSION |
| not by the leader; an ISR without it, not a part of the replicas, or with one twice | INVALID_REQUEST |
| recovering with more than the leader in it, or recovering again | INVALID_REQUEST |
| with a member that is not live, or takes in one that is registered otherwise by now | INELIGIBLE_REPLICA |
| otherwise | it is written |

Kafka's controller leaves the third row from below to the leaders, and the epochs of who joins to KRaft.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from broker_core.errors import ErrorCode
from broker_core.model import NO_EPOCH, LeaderAndIsr


class Alteration(Struct, frozen=True):
    """What a leader asks for. `partition_epoch` is the version of the state that it knows; `broker_epochs` are those that members' fetches
    named, where they are told."""

    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    recovering: bool = False
    broker_epochs: Mapping[int, int] = {}


class Judged(Struct, frozen=True):
    """`state` is the partition's where `error` is NONE: as it is, or with `write` as it shall be."""

    error: ErrorCode
    state: LeaderAndIsr | None = None
    write: bool = False


def judge(
    wanted: Alteration,
    current: LeaderAndIsr,
    *,
    leader: int,
    replicas: Collection[int],
    live_epochs: Mapping[int, int],
    late_ones: bool = False,
) -> Judged:
    """`leader` asks; `live_epochs` are those of the live brokers that do not shut down. `late_ones` is a flaw: requests from the past are
    obeyed."""
    partition_epoch = current.zk_version if late_ones else wanted.partition_epoch
    if partition_epoch > current.zk_version or wanted.leader_epoch > current.leader_epoch:
        return Judged(ErrorCode.NOT_CONTROLLER)
    if wanted.leader_epoch < current.leader_epoch:
        return Judged(ErrorCode.FENCED_LEADER_EPOCH)
    if leader == current.leader and (wanted.isr, wanted.recovering) == (current.isr, current.recovering):
        return Judged(ErrorCode.NONE, current)
    if partition_epoch < current.zk_version:
        return Judged(ErrorCode.INVALID_UPDATE_VERSION)
    error = _fault(wanted, current, leader, replicas, live_epochs)
    if error is not ErrorCode.NONE:
        return Judged(error)
    return Judged(ErrorCode.NONE, replace(current, isr=wanted.isr, recovering=wanted.recovering), write=True)


def _fault(wanted: Alteration, current: LeaderAndIsr, leader: int, replicas: Collection[int], live_epochs: Mapping[int, int]) -> ErrorCode:
    """Of a change to the very state that its leader knows."""
    if leader != current.leader or not _is_isr(wanted.isr, leader, replicas):
        return ErrorCode.INVALID_REQUEST
    if wanted.recovering and (len(wanted.isr) > 1 or not current.recovering):
        return ErrorCode.INVALID_REQUEST
    eligible = all(_may_be_in(member, wanted, current, live_epochs) for member in wanted.isr)
    return ErrorCode.NONE if eligible else ErrorCode.INELIGIBLE_REPLICA


def _is_isr(isr: tuple[int, ...], leader: int, replicas: Collection[int]) -> bool:
    return leader in isr and len(set(isr)) == len(isr) and all(member in replicas for member in isr)


def _may_be_in(member: int, wanted: Alteration, current: LeaderAndIsr, live_epochs: Mapping[int, int]) -> bool:
    """A fetch that was sent before a reboot takes nobody in (KAFKA-15221); who is in already has left by an election, or has not."""
    if member not in live_epochs:
        return False
    named = wanted.broker_epochs.get(member, NO_EPOCH)
    return named in (NO_EPOCH, live_epochs[member]) or member in current.isr
