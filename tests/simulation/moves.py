"""Reassignments that an operator asks for while all else goes on, and sometimes takes back (KIP-455; spec B9, B14)."""

from __future__ import annotations

from collections import Counter
from functools import partial

from broker_core.coordination.layout import TOPICS, state_path, topic_path
from broker_core.coordination.znode_data import decode_topic
from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.seams import Node
from tests.simulation.scenarios import stored_state
from tests.simulation.workload import call
from tests.support.broker_cluster import BrokerCluster

TIMEOUT_MS = 6_000
TRIES = 12
PAUSE_MS = 250.0
CANCEL_CHANCE = 0.4
CANCEL_AFTER_MS = (20.0, 2_000.0)
SLOW_MS = (0.0, 600.0)
SLOW_FOR_MS = 4_000.0


def assigned(cluster: BrokerCluster, tp: TopicPartition) -> tuple[int, ...]:
    """The partition's replicas as the coordination store has them, adding and removing ones included."""
    return tuple(decode_topic(tp.topic, cluster.world.ensemble.tree.get(topic_path(tp.topic)).data).partitions[tp.partition])


def is_moving(cluster: BrokerCluster, tp: TopicPartition) -> bool:
    assignment = decode_topic(tp.topic, cluster.world.ensemble.tree.get(topic_path(tp.topic)).data)
    return bool(assignment.adding.get(tp.partition) or assignment.removing.get(tp.partition))


def all_in_sync(cluster: BrokerCluster) -> bool:
    """Whether the store has the full ISR of every partition there is, internal topics' included."""
    tree = cluster.world.ensemble.tree
    names = [TopicPartition(topic, partition) for topic in tree.children(TOPICS) for partition in _partitions(cluster, topic)]
    return all(tree.find(state_path(tp)) and sorted(stored_state(cluster, tp)[1]) == sorted(assigned(cluster, tp)) for tp in names)


def _partitions(cluster: BrokerCluster, topic: str) -> list[int]:
    return sorted(decode_topic(topic, cluster.world.ensemble.tree.get(topic_path(topic)).data).partitions)


class Operator:
    """Moves a partition to other brokers; `counts` says what was asked, `wanted` where each partition may be in the end."""

    def __init__(self, cluster: BrokerCluster, partitions: list[TopicPartition]) -> None:
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._wanted = {tp: {frozenset(assigned(cluster, tp))} for tp in partitions}

    def move(self, tp: TopicPartition) -> None:
        """To as many brokers as now, in any order, some of them new and slow to be reached; taken back now and then."""
        world = self._cluster.world
        target = world.random.sample(self._cluster.ids, len(next(iter(self._wanted[tp]))))
        cancel_ms = world.random.uniform(*CANCEL_AFTER_MS) if world.random.random() < CANCEL_CHANCE else None
        self._wanted[tp].add(frozenset(target))
        self._slow_down(tp, target)
        world.spawn("client", lambda node: self._ask(node, tp, target, "reassignments accepted"))
        if cancel_ms is not None:
            world.at(cancel_ms, lambda: world.spawn("client", lambda node: self._ask(node, tp, None, "reassignments cancelled")) and None)

    def _slow_down(self, tp: TopicPartition, target: list[int]) -> None:
        """Else the few records would be copied before anything can happen to the move."""
        world, leader = self._cluster.world, f"b{stored_state(self._cluster, tp)[0]}"
        for broker_id in target:
            if broker_id not in assigned(self._cluster, tp):
                world.delay(leader, f"b{broker_id}", world.random.uniform(*SLOW_MS))
                world.at(SLOW_FOR_MS, partial(world.delay, leader, f"b{broker_id}", 0.0))

    def violations(self) -> list[str]:
        """Once all is mended: nothing moves any more, and each partition is where it was asked to be."""
        found = [f"{tp} is still being moved" for tp in self._wanted if is_moving(self._cluster, tp)]
        where = {tp: assigned(self._cluster, tp) for tp in self._wanted}
        return found + [f"{tp} is on {where[tp]}, nobody asked for that" for tp in where if frozenset(where[tp]) not in self._wanted[tp]]

    async def _ask(self, node: Node, tp: TopicPartition, target: list[int] | None, counted: str) -> None:
        """Asks one broker after the other until the controller has answered."""
        row = {"partition_index": tp.partition, "replicas": target}
        payload = {"topics": [{"name": tp.topic, "partitions": [row]}], "timeout": TIMEOUT_MS}
        for number in range(TRIES):
            broker = f"b{self._cluster.ids[number % len(self._cluster.ids)]}"
            answer = await call(node, broker, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, payload, TIMEOUT_MS)
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self.counts[counted] += answer.responses[0].partitions[0].error_code == ErrorCode.NONE
                return
            await node.clock.sleep(PAUSE_MS)
