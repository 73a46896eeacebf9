"""Moving a partition to other brokers (KIP-455): what is asked, what is refused, and when it is done.

A reassignment to targets T of a partition on the brokers O goes through two phases.

* A: replicas become T ++ O without repetition, adding = replicas − O, removing = replicas − T. That is written to
  `/brokers/topics/T` before anything else happens, so another controller can go on from there. The leader epoch is bumped
  and all replicas are told; the adding ones start to fetch.
* B: once T is in the ISR and alive, leadership moves into T and the ISR shrinks to T in one write (no ISR ever names
  a broker that is not a replica: KAFKA-9672), the removed replicas are stopped and deleted, and the assignment T is written.

Cancelling is a reassignment to O. That write is conditional on the very ISR it was decided on, so a reassignment never
completes with a target that has just fallen out (KAFKA-15665), and its epoch is higher than any the removed replicas
know, so they cannot ignore the StopReplica (KAFKA-13972).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import NO_LEADER, LeaderAndIsr


class ReplicaAssignment(Struct, frozen=True):
    """A partition's replicas, preferred leader first; `replicas` includes the adding and the removing ones."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.replicas if replica not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    def reassign_to(self, target: Sequence[int]) -> ReplicaAssignment:
        origin = self.origin
        replicas = tuple(dict.fromkeys((*target, *origin)))
        return ReplicaAssignment(
            replicas,
            tuple(replica for replica in replicas if replica not in origin),
            tuple(replica for replica in replicas if replica not in target),
        )

    def without(self, broker_id: int) -> ReplicaAssignment:
        return ReplicaAssignment(
            *(tuple(replica for replica in part if replica != broker_id) for part in (self.replicas, self.adding, self.removing))
        )


NOT_ASSIGNED = ReplicaAssignment(())


def requested(current: ReplicaAssignment, target: Sequence[int] | None, is_live: Callable[[int], bool]) -> ReplicaAssignment:
    """The assignment that a request leads to; `target` None cancels.

    Raises `KafkaError` UNKNOWN_TOPIC_OR_PARTITION, NO_REASSIGNMENT_IN_PROGRESS or INVALID_REPLICA_ASSIGNMENT.
    """
    if not current.replicas:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if target is None:
        if not current.is_being_reassigned:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No reassignment of this partition is in progress.")
        return current.reassign_to(current.origin)
    _refuse(target)
    origin = current.origin
    dead = [replica for replica in target if not is_live(replica) and replica not in origin]
    if dead:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Replica assignment has brokers that are not alive: {dead}.")
    return current.reassign_to(target)


def _refuse(target: Sequence[int]) -> None:
    if not target:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Duplicate replica ids in partition reassignment: {list(target)}.")
    if any(replica < 0 for replica in target):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Invalid broker id in replica list: {list(target)}.")


def is_complete(assignment: ReplicaAssignment, isr: Sequence[int], is_live: Callable[[int], bool]) -> bool:
    """Whether phase B may begin; a cancelled reassignment has nothing to wait for."""
    return not assignment.is_being_reassigned or all(replica in isr and is_live(replica) for replica in assignment.target)


def start_state(assignment: ReplicaAssignment, state: LeaderAndIsr, is_live: Callable[[int], bool]) -> LeaderAndIsr:
    """Phase A's state: a new epoch for the same leader, unless leader or ISR members were adding replicas now dropped."""
    isr = tuple(replica for replica in state.isr if replica in assignment.replicas) or state.isr
    leader = state.leader
    if leader not in assignment.replicas:
        leader = next((replica for replica in assignment.replicas if replica in isr and is_live(replica)), NO_LEADER)
    return state.with_new_epoch(leader, isr)


def completed_state(assignment: ReplicaAssignment, state: LeaderAndIsr, is_live: Callable[[int], bool]) -> LeaderAndIsr | None:
    """Phase B's state, or None while a target is missing from the ISR or dead.

    The leader stays if it is a live target; otherwise the first live target in the ISR leads. For a cancelled
    reassignment without any live in-sync replica the partition is left without a leader, to be elected as any other.
    """
    if not is_complete(assignment, state.isr, is_live):
        return None
    targets = assignment.target
    isr = tuple(replica for replica in state.isr if replica in targets) or state.isr
    candidates = [replica for replica in targets if replica in isr and is_live(replica)]
    if state.leader in candidates:
        return state.with_new_epoch(state.leader, isr)
    return state.with_new_epoch(candidates[0] if candidates else NO_LEADER, isr)
