"""Who leads: the four elections as pure functions (spec R8; kafka.controller.Election).

The order is the assignment's, never the log's length. Every election bumps the leader epoch by one. `Election.recipients`
are the brokers that are sent the LeaderAndIsr.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from broker_core.controller.context import ControllerContext
from broker_core.model import INITIAL_LEADER_EPOCH, LeaderAndIsr, TopicPartition


class Strategy(enum.Enum):
    """Why a leader is chosen."""

    OFFLINE = "OfflinePartition"
    PREFERRED = "PreferredReplicaPartition"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartition"

    def told(self, *, unclean: bool) -> str:
        """As Kafka writes it in what it says of an election that failed."""
        allowed = f"({str(unclean).lower()})" if self is Strategy.OFFLINE else ""
        return f"{self.value}LeaderElectionStrategy{allowed}"


class Election(Struct, frozen=True):
    """`unclean`: the leader was not in the ISR, so acknowledged records may be lost."""

    state: LeaderAndIsr
    recipients: tuple[int, ...]
    unclean: bool = False


def first_leader(context: ControllerContext, tp: TopicPartition) -> Election | None:
    """A new partition: its first live replica leads, all live ones are in the ISR; None while none lives."""
    live = _online(context, tp)
    if not live:
        return None
    return Election(LeaderAndIsr(live[0], INITIAL_LEADER_EPOCH, live), live)


def elect(
    context: ControllerContext, tp: TopicPartition, state: LeaderAndIsr, strategy: Strategy, *, unclean: bool = False, marked: bool = False
) -> Election | None:
    """The outcome, or None where nobody may lead; `unclean` matters to the offline election only, and so does whether the state is
    `marked` by one as recovering."""
    if strategy is Strategy.OFFLINE:
        return _offline(context, tp, state, unclean, marked)
    return _ELECTIONS[strategy](context, tp, state)


def _offline(context: ControllerContext, tp: TopicPartition, state: LeaderAndIsr, unclean: bool, marked: bool) -> Election | None:
    live = _online(context, tp)
    in_sync = [replica for replica in live if replica in state.isr]
    if in_sync:
        isr = tuple(replica for replica in state.isr if context.is_online(replica, tp))
        return Election(state.with_new_epoch(in_sync[0], isr), live)
    if unclean and live:
        elected = state.with_new_epoch(live[0], (live[0],))
        return Election(replace(elected, recovering=marked or state.recovering), live, unclean=True)
    return None


def _preferred(context: ControllerContext, tp: TopicPartition, state: LeaderAndIsr) -> Election | None:
    replicas = context.assignment(tp).replicas
    if not replicas or replicas[0] not in state.isr or not context.is_online(replicas[0], tp):
        return None
    return Election(state.with_new_epoch(replicas[0], state.isr), replicas)


def _controlled_shutdown(context: ControllerContext, tp: TopicPartition, state: LeaderAndIsr) -> Election | None:
    alive = tuple(r for r in context.assignment(tp).replicas if context.is_online(r, tp, or_shutting_down=True))
    staying = [replica for replica in alive if replica in state.isr and replica not in context.shutting_down]
    if not staying:
        return None
    isr = tuple(replica for replica in state.isr if replica not in context.shutting_down)
    return Election(state.with_new_epoch(staying[0], isr), alive)


_ELECTIONS: dict[Strategy, Callable[[ControllerContext, TopicPartition, LeaderAndIsr], Election | None]] = {
    Strategy.PREFERRED: _preferred,
    Strategy.CONTROLLED_SHUTDOWN: _controlled_shutdown,
}


def has_live_in_sync_replica(context: ControllerContext, tp: TopicPartition, state: LeaderAndIsr) -> bool:
    """Whether a clean election can succeed; only otherwise does the topic's unclean setting matter."""
    return any(replica in state.isr for replica in _online(context, tp))


def _online(context: ControllerContext, tp: TopicPartition) -> tuple[int, ...]:
    return tuple(replica for replica in context.assignment(tp).replicas if context.is_online(replica, tp))
