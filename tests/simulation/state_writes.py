"""What must hold of a partition's state in the coordination store, checked at each write of it, whoever made it.

A leader changes its ISR, the controller elects, takes brokers out that died or shut down, moves replicas. After each of
them (spec A): the leader is in the ISR (*LeaderInIsr*), the ISR is a part of the replicas (KAFKA-9672), epochs never
fall and an epoch keeps its leader, a leader of that epoch counts on every member (its maximal ISR holds the ISR), and every
member holds all that was ever committed (*StrongIsr*; `Ledger`).
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.coordination.layout import state_path, topic_path
from broker_core.coordination.store import WatchEvent
from broker_core.coordination.znode_data import decode_partition_state, decode_topic
from broker_core.model import NO_LEADER, LeaderAndIsr, TopicPartition
from tests.simulation.ledger import Ledger
from tests.support.broker_cluster import BrokerCluster


class StateWrites:
    """`tell` is called with each violation."""

    def __init__(self, cluster: BrokerCluster, partitions: list[TopicPartition], ledger: Ledger, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._tell = tell
        self._partitions = {state_path(tp): tp for tp in partitions}
        self._last: dict[TopicPartition, tuple[LeaderAndIsr, int]] = {}
        for path in self._partitions:
            self._written(WatchEvent.CHANGED, path)
        cluster.world.ensemble.after_change = self._written

    def _written(self, event: WatchEvent, path: str) -> None:
        tp = self._partitions.get(path)
        if tp is None or event is WatchEvent.DELETED:
            return
        znode = self._cluster.world.ensemble.tree.get(path)
        state, controller_epoch = decode_partition_state(tp, znode.data, znode.version)
        self._check_state(tp, state)
        if tp in self._last:
            self._check_epochs(tp, *self._last[tp], state, controller_epoch)
        self._last[tp] = state, controller_epoch
        self._check_leader(tp, state)
        self._ledger.isr_written(tp, state.isr)

    def _check_state(self, tp: TopicPartition, state: LeaderAndIsr) -> None:
        if not state.isr:
            self._tell(f"the ISR of {tp} is empty")
        if state.leader not in (NO_LEADER, *state.isr):
            self._tell(f"{tp} is led by {state.leader}, its ISR is {state.isr}")
        assigned = decode_topic(tp.topic, self._cluster.world.ensemble.tree.get(topic_path(tp.topic)).data).partitions[tp.partition]
        if not set(state.isr) <= set(assigned):
            self._tell(f"the ISR {state.isr} of {tp} is no part of its replicas {assigned}")

    def _check_epochs(self, tp: TopicPartition, old: LeaderAndIsr, old_controller: int, new: LeaderAndIsr, controller: int) -> None:
        if new.leader_epoch < old.leader_epoch or controller < old_controller:
            self._tell(f"{tp} went back from epochs {old.leader_epoch}, {old_controller} to {new.leader_epoch}, {controller}")
        if new.leader_epoch == old.leader_epoch and new.leader != old.leader:
            self._tell(f"the leader of {tp} changed from {old.leader} to {new.leader} within epoch {new.leader_epoch}")

    def _check_leader(self, tp: TopicPartition, state: LeaderAndIsr) -> None:
        """Who leads in the very epoch of the store waits for all whom the store counts in."""
        broker = self._cluster.brokers.get(state.leader)
        partition = broker.services.replicas.partitions.get(tp) if broker is not None else None
        if partition is None or partition.leader is None or not partition.is_leader or partition.leader_epoch != state.leader_epoch:
            return
        maximal = partition.leader.isr.maximal
        if not set(state.isr) <= set(maximal):
            self._tell(f"broker {state.leader} leads {tp} counting on {maximal}, the store on {state.isr}")
