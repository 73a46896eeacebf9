"""The states of a replica as the controller sees it, what leads from one to another, and who is told.

| to | told |
|---|---|
| NEW | LeaderAndIsr (is_new) to the replica |
| ONLINE | from NEW nothing; else LeaderAndIsr to the replica |
| OFFLINE | StopReplica (keep) to it; it leaves the ISR; LeaderAndIsr to the others |
| DELETION_STARTED | StopReplica (delete) to it |
| others | nobody |
"""

from __future__ import annotations

import enum

from broker_core.model import NO_LEADER, LeaderAndIsr


class ReplicaState(enum.Enum):
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    DELETION_STARTED = "deletion started"
    DELETION_SUCCESSFUL = "deletion successful"
    DELETION_INELIGIBLE = "deletion ineligible"
    NON_EXISTENT = "non-existent"


_SERVING = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})

VALID_PREVIOUS: dict[ReplicaState, frozenset[ReplicaState]] = {
    # A new partition, or a reassignment adds the replica.
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    # Its broker is up, or it has caught up in a reassignment.
    ReplicaState.ONLINE: _SERVING,
    # Its broker is down or shutting down, it is being removed, or a deletion is tried again.
    ReplicaState.OFFLINE: _SERVING,
    # The topic, or this copy of the partition, is deleted.
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    # The broker said that it is gone.
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    # The broker is down or said that it could not.
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    # All replicas of the topic are deleted, or this one was removed by a reassignment.
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}


def may_become(current: ReplicaState, target: ReplicaState) -> bool:
    return current in VALID_PREVIOUS[target]


def without_replica(state: LeaderAndIsr, broker_id: int) -> LeaderAndIsr | None:
    """The state after a replica went offline, or None if it is not in the ISR and so nothing changes.

    The last member stays in the ISR: it alone has everything that was acknowledged.
    """
    if broker_id not in state.isr:
        return None
    isr = state.isr if len(state.isr) == 1 else tuple(replica for replica in state.isr if replica != broker_id)
    return state.with_new_epoch(NO_LEADER if state.leader == broker_id else state.leader, isr)
