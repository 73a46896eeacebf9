"""The five states of a group and every allowed move between them, with its cause.

| state | joins | syncs | heartbeats | commits by members |
|---|---|---|---|---|
| Empty | start a rebalance | UNKNOWN_MEMBER_ID | UNKNOWN_MEMBER_ID | only from outside a generation |
| PreparingRebalance | parked until all have joined | REBALANCE_IN_PROGRESS | REBALANCE_IN_PROGRESS | of the previous generation: stored |
| CompletingRebalance | same metadata: current generation; else rebalance | parked until the leader's | NONE | REBALANCE_IN_PROGRESS |
| Stable | leader or new metadata: rebalance; else current generation | current assignment | NONE | stored |
| Dead | COORDINATOR_NOT_AVAILABLE | the same | the same | the same |

Offsets may be fetched in every state; a Dead group has none.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class GroupState(enum.Enum):
    """A state by the name that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: Mapping[tuple[GroupState, GroupState], str] = MappingProxyType(
    {
        (GroupState.EMPTY, GroupState.PREPARING_REBALANCE): "a first member joins",
        (GroupState.STABLE, GroupState.PREPARING_REBALANCE): (
            "a member joins, leaves, fails, changes its metadata or did not sync in time, or the leader joins again"
        ),
        (GroupState.COMPLETING_REBALANCE, GroupState.PREPARING_REBALANCE): (
            "a member joins, leaves, fails, changes its metadata or did not sync in time, or the assignment could not be stored"
        ),
        (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE): "all members have joined, or some by the timeout",
        (GroupState.PREPARING_REBALANCE, GroupState.EMPTY): "all members are gone",
        (GroupState.COMPLETING_REBALANCE, GroupState.STABLE): "the leader's assignment is stored",
        (GroupState.EMPTY, GroupState.DEAD): "deleted, expired or handed over",
        (GroupState.PREPARING_REBALANCE, GroupState.DEAD): "handed over",
        (GroupState.COMPLETING_REBALANCE, GroupState.DEAD): "handed over",
        (GroupState.STABLE, GroupState.DEAD): "handed over",
    }
)


def can_rebalance(state: GroupState) -> bool:
    """Whether a rebalance may start now: not while one is being prepared, and not in a dead group."""
    return (state, GroupState.PREPARING_REBALANCE) in TRANSITIONS
