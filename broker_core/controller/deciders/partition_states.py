"""The states of a partition as the controller sees it, and what leads from one to another."""

from __future__ import annotations

import enum


class PartitionState(enum.Enum):
    """NON_EXISTENT: unknown or deleted. NEW: assigned, never had a leader. ONLINE: has one. OFFLINE: lost it."""

    NON_EXISTENT = "non-existent"
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"


VALID_PREVIOUS: dict[PartitionState, frozenset[PartitionState]] = {
    # An assignment was read from the store.
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    # First leader; election after a failure; a new leader for a led partition (preferred, shutdown, reassignment).
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    # The leader's broker is gone, or the topic is about to be deleted.
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    # The topic's deletion begins.
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}


def may_become(current: PartitionState, target: PartitionState) -> bool:
    return current in VALID_PREVIOUS[target]
