"""What must hold while brokers run, and what must hold once everything is mended (spec A, C)."""

from __future__ import annotations

from collections import Counter

from broker_core.model import TopicPartition
from broker_core.replication.partition import Partition
from broker_core.server.broker import Broker
from broker_core.storage.log import PartitionLog
from tests.simulation.kernel.loop import NodeLoop
from tests.simulation.ledger import Entry, Ledger, entries
from tests.simulation.moves import assigned
from tests.simulation.state_writes import StateWrites
from tests.simulation.workload import History
from tests.support.broker_cluster import BrokerCluster


def running(cluster: BrokerCluster) -> list[tuple[int, Broker]]:
    """Brokers of machines that are up; a machine that has just started has none yet."""
    world = cluster.world
    names = [(broker_id, f"b{broker_id}") for broker_id in cluster.ids]
    here = [(broker_id, cluster.brokers[broker_id], name) for broker_id, name in names if broker_id in cluster.brokers]
    return [(broker_id, broker) for broker_id, broker, name in here if world.is_up(name) and world.node(name) is broker.node]


class Watch:
    """Looks at the broker that ran after each step: no leader's high watermark falls, no epoch has two leaders, nothing
    committed is missing where it must be."""

    def __init__(self, cluster: BrokerCluster, topic: str, partitions: int) -> None:
        self.violations: list[str] = []
        self._cluster = cluster
        self._partitions = [TopicPartition(topic, partition) for partition in range(partitions)]
        self._ids = {f"b{broker_id}": broker_id for broker_id in cluster.ids}
        self._last: dict[int, list[tuple[object, int, int, object]]] = {
            broker_id: [(None, 0, 0, None)] * partitions for broker_id in cluster.ids
        }
        self._high: dict[tuple[TopicPartition, int, int], int] = {}
        self._leaders: dict[tuple[TopicPartition, int], int] = {}
        self._ledger = Ledger(cluster, self._add)
        StateWrites(cluster, self._partitions, self._ledger, self._add)
        cluster.world.scheduler.after_step = self._after_step

    def _after_step(self, loop: NodeLoop) -> None:
        broker_id = self._ids.get(loop.name)
        broker = self._cluster.brokers.get(broker_id) if broker_id is not None else None
        if broker_id is None or broker is None or loop.dead:
            return
        hosted = broker.services.replicas.partitions.get
        for number, tp in enumerate(self._partitions):
            partition = hosted(tp)
            if partition is None or partition.log is None or partition.leader is None or partition.leader.deposed:
                continue
            leader, log, last = partition.leader, partition.log, self._last[broker_id][number]
            now = (leader, log.log_end_offset, log.high_watermark, leader.isr)
            if now[0] is last[0] and now[1] == last[1] and now[2] == last[2] and now[3] is last[3]:
                continue
            self._last[broker_id][number] = now
            if not log.health.closed and self._cluster.world.node(loop.name) is broker.node:
                self._check(broker_id, partition, log)

    def _check(self, broker_id: int, partition: Partition, log: PartitionLog) -> None:
        key = (partition.tp, partition.leader_epoch)
        generation = self._cluster.world.life(f"b{broker_id}").generation
        if (*key, generation) not in self._high:
            self._check_leader(broker_id, partition)
            self._ledger.leader_begins(*key, broker_id, log)
        self._check_high_watermark(partition, log, generation)
        self._ledger.committed(*key, log)

    def _check_leader(self, broker_id: int, partition: Partition) -> None:
        """LeaderInIsr's twin: an epoch belongs to one broker for ever."""
        first = self._leaders.setdefault((partition.tp, partition.leader_epoch), broker_id)
        if first != broker_id:
            self._add(f"brokers {first} and {broker_id} both led {partition.tp} in epoch {partition.leader_epoch}")

    def _check_high_watermark(self, partition: Partition, log: PartitionLog, generation: int) -> None:
        key = (partition.tp, partition.leader_epoch, generation)
        before = self._high.get(key, -1)
        if log.high_watermark < before:
            self._add(f"high watermark of {partition.tp} fell from {before} to {log.high_watermark} in epoch {partition.leader_epoch}")
        if log.high_watermark > log.log_end_offset:
            self._add(f"high watermark of {partition.tp} is {log.high_watermark}, beyond the log's end {log.log_end_offset}")
        self._high[key] = log.high_watermark

    def _add(self, violation: str) -> None:
        if violation not in self.violations:
            self.violations.append(violation)


def content(cluster: BrokerCluster, broker_id: int, tp: TopicPartition) -> list[Entry]:
    """The whole log of one replica."""
    log = cluster.brokers[broker_id].services.logs.get(tp)
    return [] if log is None else entries(log, log.log_start_offset, log.log_end_offset)


def final_violations(cluster: BrokerCluster, topic: str, history: History) -> list[str]:
    """After everything was mended: full ISRs, equal logs, every acknowledged and every seen record in its place."""
    violations = list(history.violations)
    for partition, (acked, seen) in enumerate(zip(history.acked, history.seen, strict=True)):
        tp = TopicPartition(topic, partition)
        isr, replicas = cluster.isr(cluster.ids[0], topic, partition), assigned(cluster, tp)
        if sorted(isr) != sorted(replicas):
            violations.append(f"{tp} did not recover: ISR {isr}, replicas {replicas}")
        contents = {broker_id: content(cluster, broker_id, tp) for broker_id in replicas}
        if any(each != contents[replicas[0]] for each in contents.values()):
            violations.append(f"logs of {tp} differ: {_first_difference(contents)}")
        there = {offset: value for offset, _, value in contents[replicas[0]]}
        violations += _missing("acknowledged", tp, acked, there) + _missing("seen", tp, seen, there)
        unknown = [value for value in there.values() if value not in history.attempted[partition]]
        violations += [f"{tp} has records nobody sent: {unknown[:3]}"] if unknown else []
        twice = [value for value, times in Counter(there.values()).items() if times > 1]
        violations += [f"{tp} has records of the idempotent producer twice: {twice[:3]}"] if twice else []
        violations += [f"the producer of {tp} was told of a gap in its sequence to the end"] if partition in history.out_of_order else []
    return violations


def _missing(what: str, tp: TopicPartition, told: dict[int, bytes], there: dict[int, bytes]) -> list[str]:
    lost = [(offset, value) for offset, value in sorted(told.items()) if there.get(offset) != value]
    return [f"{len(lost)} {what} records of {tp} are lost, first {lost[0]}, there is {there.get(lost[0][0])!r}"] if lost else []


def _first_difference(contents: dict[int, list[Entry]]) -> str:
    longest = max(len(each) for each in contents.values())
    for index in range(longest):
        at = {broker_id: each[index] if index < len(each) else None for broker_id, each in contents.items()}
        if len(set(at.values())) > 1:
            return str(at)
    return "?"
