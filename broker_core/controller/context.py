"""What the controller knows of the cluster: brokers, assignments, leadership, and where each replica stands.

Only the controller's task changes it. It is read from the store at failover; after that the store is written first and the
context follows. Sets here are for membership; whatever walks one sorts it first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct, field

from broker_core.controller.deciders.partition_states import PartitionState
from broker_core.controller.deciders.reassignment import NOT_ASSIGNED, ReplicaAssignment
from broker_core.controller.deciders.replica_states import ReplicaState
from broker_core.model import BrokerInfo, LeaderAndIsr, TopicPartition

EPOCH_DURING_DELETE = -2
"""Leader epoch of a StopReplica for a topic being deleted: it overrides any other."""
NO_LEADER_EPOCH = -1


class Replica(NamedTuple):
    """One partition's copy on one broker."""

    topic: str
    partition: int
    broker_id: int

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Leadership(NamedTuple):
    """A partition's state, and the epoch of the controller that wrote it."""

    state: LeaderAndIsr
    controller_epoch: int


class ControllerContext(Struct):
    """`brokers` holds the live ones and those in `shutting_down`; `epoch_version` fences every write."""

    epoch: int
    epoch_version: int
    brokers: dict[int, BrokerInfo] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    """The same the other way round."""
    assignments: dict[str, dict[int, ReplicaAssignment]] = field(default_factory=dict)
    leadership: dict[TopicPartition, Leadership] = field(default_factory=dict)
    being_reassigned: set[TopicPartition] = field(default_factory=set)
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: dict[Replica, ReplicaState] = field(default_factory=dict)
    offline_dirs: dict[int, set[TopicPartition]] = field(default_factory=dict)
    queued_for_deletion: set[str] = field(default_factory=set)
    deletion_started: set[str] = field(default_factory=set)
    ineligible_for_deletion: set[str] = field(default_factory=set)
    uncreated: dict[TopicPartition, None] = field(default_factory=dict)
    """Assigned partitions that wait in line for their first leader; neither they nor their replicas have a state yet."""
    withheld: dict[TopicPartition, None] = field(default_factory=dict)
    """New partitions that brokers' metadata is not told of, leader or not, while others of their topic are in `uncreated`: all that is
    new of a topic appears there at once."""
    leaderless: dict[TopicPartition, None] = field(default_factory=dict)
    """Partitions none of whose replicas was online when they were to get their first leader."""
    stopping: dict[str, int] = field(default_factory=dict)
    """By topic the replicas in DELETION_STARTED: their brokers have not answered yet."""
    inter_broker_listener: str | None = None
    deleted: dict[str, int] = field(default_factory=dict)
    """By topic the replicas in DELETION_SUCCESSFUL."""

    def is_live(self, broker_id: int) -> bool:
        return broker_id in self.brokers and broker_id not in self.shutting_down

    def is_online(self, broker_id: int, tp: TopicPartition, *, or_shutting_down: bool = False) -> bool:
        """Whether the broker is live and its copy of the partition not in a failed folder."""
        alive = broker_id in self.brokers if or_shutting_down else self.is_live(broker_id)
        return alive and tp not in self.offline_dirs.get(broker_id, ())

    def live_ids(self) -> list[int]:
        return [broker_id for broker_id in self.all_ids() if broker_id not in self.shutting_down]

    def all_ids(self) -> list[int]:
        """Ids of live and shutting-down brokers, sorted."""
        return sorted(self.brokers)

    def assignment(self, tp: TopicPartition) -> ReplicaAssignment:
        return self.assignments.get(tp.topic, {}).get(tp.partition, NOT_ASSIGNED)

    def set_assignment(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        self.assignments.setdefault(tp.topic, {})[tp.partition] = assignment

    def partitions(self) -> list[TopicPartition]:
        """All of them in the order of `rank`."""
        return [tp for topic in sorted(self.assignments, key=self.rank) for tp in self.partitions_of(topic)]

    def rank(self, topic: str) -> tuple[bool, int, str]:
        """Small topics come before large ones, and last what is being deleted: where brokers are told of thousands of partitions, the
        clients of a topic of three do not wait for those of one with ten thousand."""
        return self.is_being_deleted(topic), len(self.assignments.get(topic, ())), topic

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for partition in sorted(self.assignments.get(topic, {}))]

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        return [Replica(tp.topic, tp.partition, broker_id) for tp in partitions for broker_id in self.assignment(tp).replicas]

    def replicas_of_topic(self, topic: str) -> list[Replica]:
        return self.replicas_of(self.partitions_of(topic))

    def replicas_on(self, broker_ids: Iterable[int]) -> list[Replica]:
        """Those of partitions without a state are left out: they have none either."""
        wanted = set(broker_ids)
        known = [tp for tp in self.partitions() if tp not in self.uncreated]
        return [replica for replica in self.replicas_of(known) if replica.broker_id in wanted]

    def in_state(self, topic: str, state: ReplicaState) -> list[Replica]:
        return [replica for replica in self.replicas_of_topic(topic) if self.replica_state(replica) is state]

    def replica_state(self, replica: Replica) -> ReplicaState:
        return self.replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def set_replica_state(self, replica: Replica, state: ReplicaState | None) -> None:
        """None where the replica is no more."""
        before = self.replica_states.get(replica)
        for counted, counts in ((ReplicaState.DELETION_STARTED, self.stopping), (ReplicaState.DELETION_SUCCESSFUL, self.deleted)):
            change = (state is counted) - (before is counted)
            if change:
                counts[replica.topic] = counts.get(replica.topic, 0) + change
        if state is None:
            self.replica_states.pop(replica, None)
        else:
            self.replica_states[replica] = state

    def partition_state(self, tp: TopicPartition) -> PartitionState:
        return self.partition_states.get(tp, PartitionState.NON_EXISTENT)

    def all_deleted(self, topic: str) -> bool:
        """Whether all of the topic's replicas are in DELETION_SUCCESSFUL."""
        replicas = sum(len(assignment.replicas) for assignment in self.assignments.get(topic, {}).values())
        return self.deleted.get(topic, 0) == replicas

    def is_reassigning(self, topic: str) -> bool:
        """Whether one of the topic's partitions is being reassigned."""
        return bool(self.being_reassigned) and any(tp in self.being_reassigned for tp in self.partitions_of(topic))

    def is_being_deleted(self, topic: str) -> bool:
        """Whether the topic is deleted and no longer served.

        One that has to wait for a reassignment is served until that is over: without a leader, and unknown to the brokers,
        its partitions would never catch up and the deletion would wait for ever.
        """
        return topic in self.queued_for_deletion and not self.is_reassigning(topic)

    def topics_being_deleted(self) -> frozenset[str]:
        """Those of which `is_being_deleted` holds, for whoever asks about thousands of replicas."""
        return frozenset(topic for topic in self.queued_for_deletion if self.is_being_deleted(topic))

    def partitions_led_by_nobody(self) -> list[TopicPartition]:
        """Partitions whose leader is not online, those being deleted left out."""
        return [
            tp
            for tp, leadership in sorted(self.leadership.items())
            if not self.is_being_deleted(tp.topic) and not self.is_online(leadership.state.leader, tp)
        ]

    def partitions_with_leadership(self) -> list[TopicPartition]:
        return [tp for tp in sorted(self.leadership) if not self.is_being_deleted(tp.topic)]

    def is_told(self, tp: TopicPartition) -> bool:
        """Whether brokers' metadata is told of the partition. A leaderless one is: clients count those there are.

        Those of a topic being deleted are told all the same: where the state znode became unreadable before this term, the brokers
        know a leader that the controller does not, and would keep the partition for ever.
        """
        if self.is_being_deleted(tp.topic):
            return True
        return tp not in self.withheld and (tp in self.leadership or tp in self.leaderless)

    def still_led_by(self, broker_id: int) -> list[TopicPartition]:
        """Partitions with more than one replica that the broker leads."""
        return [
            tp
            for tp in self.partitions_with_leadership()
            if self.leadership[tp].state.leader == broker_id and len(self.assignment(tp).replicas) > 1
        ]

    def stop_epoch(self, tp: TopicPartition) -> int:
        """The leader epoch a StopReplica for the partition carries."""
        if self.is_being_deleted(tp.topic):
            return EPOCH_DURING_DELETE
        leadership = self.leadership.get(tp)
        return NO_LEADER_EPOCH if leadership is None else leadership.state.leader_epoch

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They and their replicas are no more."""
        for tp in partitions:
            for replica in self.replicas_of((tp,)):
                self.replica_states.pop(replica, None)
            self.leadership.pop(tp, None)
            self.partition_states.pop(tp, None)
            self.being_reassigned.discard(tp)
            self.uncreated.pop(tp, None)
            self.withheld.pop(tp, None)
            self.leaderless.pop(tp, None)
            self.assignments.get(tp.topic, {}).pop(tp.partition, None)

    def set_topic_id(self, topic: str, topic_id: UUID) -> None:
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def remove_topic(self, topic: str) -> None:
        self.forget(self.partitions_of(topic))
        self.assignments.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        self.stopping.pop(topic, None)
        self.deleted.pop(topic, None)
        for names in (self.queued_for_deletion, self.deletion_started, self.ineligible_for_deletion):
            names.discard(topic)

    def offline_count(self) -> int:
        """Partitions without a leader, those whose deletion has begun left out."""
        return sum(
            1 for tp, state in self.partition_states.items() if state is PartitionState.OFFLINE and tp.topic not in self.deletion_started
        )

    def imbalance_count(self) -> int:
        """Partitions not led by their preferred replica; while one is moved, until the new preferred one is in the ISR."""
        return sum(1 for tp in self.partitions_with_leadership() if not self._is_balanced(tp))

    def _is_balanced(self, tp: TopicPartition) -> bool:
        assignment, state = self.assignment(tp), self.leadership[tp].state
        if not assignment.replicas:
            return True
        preferred = assignment.replicas[0]
        return preferred not in state.isr if preferred in assignment.adding else state.leader == preferred
