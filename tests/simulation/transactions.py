"""What must hold of transactions (spec G5, B17), whatever brokers, coordinators and producers go through.

- A transaction is there in all its partitions and in the group's offsets, or nowhere; one that was told to be committed is there, one
  whose commit was never asked for is not.
- Nothing is there twice; the transactions of a producer are there in the order they were committed in.
- Who was fenced commits nothing any more, and what arrives late changes nothing.
- What a reader of committed records has read stays, and nothing aborted is ever read; no transaction is open below where it might read.
- In the end no transaction is open: all that is in the logs can be read.
"""

from __future__ import annotations

from broker_core.model import TRANSACTION_STATE, TopicPartition
from tests.simulation.committed_reader import committed_in
from tests.simulation.kernel.loop import NodeLoop
from tests.simulation.transaction_history import PARTITIONS, TOPIC, TransactionHistory, group_of
from tests.support.broker_cluster import BrokerCluster

STATE_PARTITIONS = 2
SETTINGS = {
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
LAST_EPOCH = 9
"""Of a producer id here: epochs are used up now and then."""
UNVERIFIED_EVERY = 4


def is_verified(seed: int) -> bool:
    """Whether leaders ask the coordinator before a transaction begins (KIP-890); at every fourth seed all hangs on epochs alone."""
    return seed % UNVERIFIED_EVERY != 0


def settings(seed: int) -> dict[str, str]:
    return SETTINGS | ({} if is_verified(seed) else {"transaction.partition.verification.enable": "false"})


def kept_in() -> list[TopicPartition]:
    """What is written in transactions, and the state of transactions."""
    found = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    return found + [TopicPartition(TRANSACTION_STATE, partition) for partition in range(STATE_PARTITIONS)]


class StableOffsets:
    """Looks after each step: no transaction is open below an offset that a reader of committed records was let read up to."""

    def __init__(self, cluster: BrokerCluster, history: TransactionHistory) -> None:
        self._cluster = cluster
        self._history = history
        self._ids = {f"b{broker_id}": broker_id for broker_id in cluster.ids}
        self._tps = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
        self._stable = [0] * PARTITIONS
        self._epochs = [0] * PARTITIONS
        self._last: dict[tuple[int, int], tuple[object, int, int]] = {}
        self._before = cluster.world.scheduler.after_step
        cluster.world.scheduler.after_step = self._after_step

    def _after_step(self, loop: NodeLoop) -> None:
        if self._before is not None:
            self._before(loop)
        broker_id = self._ids.get(loop.name)
        broker = self._cluster.brokers.get(broker_id) if broker_id is not None else None
        if broker_id is None or broker is None or loop.dead:
            return
        for number, tp in enumerate(self._tps):
            partition = broker.services.replicas.partitions.get(tp)
            if partition is None or partition.log is None or partition.leader is None or partition.leader_epoch < self._epochs[number]:
                continue  # a leader that is deposed, and may not know it, lets nobody read on
            log, self._epochs[number] = partition.log, partition.leader_epoch
            now = (partition.leader, log.log_end_offset, log.high_watermark)
            if now != self._last.get((broker_id, number)) and self._cluster.world.node(loop.name) is broker.node:
                self._last[broker_id, number] = now
                self._look(number, next(iter(log.producer_state.ongoing), None), log.last_stable_offset)

    def _look(self, number: int, first_open: int | None, stable: int) -> None:
        if first_open is not None and first_open < self._stable[number] and len(self._history.violations) < 20:
            self._history.violations.append(
                f"a transaction is open at {first_open} of {TOPIC}-{number}, below {self._stable[number]}, up to where readers read"
            )
        self._stable[number] = max(self._stable[number], stable)


def no_longer_open(cluster: BrokerCluster) -> bool:
    """Every leader's last stable offset is its log's end."""
    for partition in range(PARTITIONS):
        broker = cluster.brokers.get(cluster.known_leader(TOPIC, partition))
        log = None if broker is None else broker.services.logs.get(TopicPartition(TOPIC, partition))
        if log is None or log.last_stable_offset != log.log_end_offset:
            return False
    return True


def final_violations(cluster: BrokerCluster, history: TransactionHistory, places: int) -> list[str]:
    """After everything was mended and no transaction is open any more."""
    found = [_committed(cluster, partition) for partition in range(PARTITIONS)]
    values = [list(each.values()) for each in found]
    violations = list(history.violations)
    violations += [f"{TOPIC}-{n} has values twice" for n, each in enumerate(values) if len(dict.fromkeys(each)) != len(each)]
    everywhere = [value for value in values[0] if all(value in each for each in values)]
    part = [value for each in values for value in each if value not in everywhere]
    violations += [f"transactions are there in part: {part[:3]}"] if part else []
    there = dict.fromkeys(everywhere)
    lost = [value for value in history.committed if value not in there]
    violations += [f"{len(lost)} committed transactions are lost, first {lost[0]!r}"] if lost else []
    leaked = [value for value in history.aborted if value in there]
    violations += [f"{len(leaked)} aborted transactions are read, first {leaked[0]!r}"] if leaked else []
    odd = [value for value in there if value not in history.committed and value not in history.unknown]
    violations += [f"transactions that nobody committed: {odd[:3]}"] if odd else []
    for place in range(places):
        last = max((int(value.split(b"/")[2]) for value in there if value.startswith(b"%d/" % place)), default=-1)
        offset = _offset_of(cluster, group_of(place))
        violations += [f"the offset of {group_of(place)} is {offset}, its last transaction is {last}"] if offset != last else []
    for number, each in enumerate(values):
        violations += [f"the transactions of {TOPIC}-{number} are out of order"] if not _in_order(each) else []
        unread = {offset: value for offset, value in history.read[number].items() if found[number].get(offset) != value}
        violations += [f"what was read of {TOPIC}-{number} is not there: {list(unread.items())[:3]}"] if unread else []
    return violations


def _offset_of(cluster: BrokerCluster, group_id: str) -> int:
    """As the group's coordinator has it; -1 where none is committed."""
    groups = [found for broker in cluster.brokers.values() if (found := broker.services.groups.group(group_id)) is not None]
    commit = groups[0].offsets.get(TopicPartition(TOPIC, 0)) if groups else None
    return -1 if commit is None else commit.offset


def _in_order(values: list[bytes]) -> bool:
    last: dict[bytes, int] = {}
    for value in values:
        writer, _, number = value.split(b"/")
        if last.get(writer, -1) >= int(number):
            return False
        last[writer] = int(number)
    return True


def _committed(cluster: BrokerCluster, partition: int) -> dict[int, bytes]:
    """By the leader's log and its index of aborted transactions, up to the last stable offset."""
    log = cluster.brokers[cluster.leader(TOPIC, partition)].services.logs.get(TopicPartition(TOPIC, partition))
    assert log is not None
    found: dict[int, bytes] = {}
    position = log.log_start_offset
    while position < log.last_stable_offset:
        part = log.read(position, 1 << 20, log.last_stable_offset, True)
        assert part.records is not None
        data = part.records.file.pread(part.records.position, part.records.length)
        aborted = sorted((first, producer_id) for producer_id, first in part.aborted)
        more, position = committed_in(data, aborted, position)
        found |= more
    return found
