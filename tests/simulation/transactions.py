"""Producers that write in transactions, with offsets of a group in them, and what must hold of it (spec G5, B17).

- A transaction is there in all its partitions and in the group's offsets, or nowhere; one that was told to be committed is there, one
  whose commit was never asked for is not.
- Nothing is there twice; the transactions of a producer are there in the order they were committed in.
- Who was fenced commits nothing any more.
- What a reader of committed records has read stays, and nothing aborted is ever read.
- In the end no transaction is open: all that is in the logs can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch, iter_headers, read_records
from broker_core.seams import Node
from tests.simulation.workload import call
from tests.support.broker_cluster import BrokerCluster

TOPIC, PARTITIONS = "x", 2
TIMEOUT_MS = 4_000
TRANSACTION_MS = 15_000
PAUSE_MS = 80.0
COMMIT_CHANCE = 0.7
LEFT_CHANCE = 0.05
"""That a producer goes away in the middle of a transaction, and another one of its id comes."""
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
AGAIN = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
"""After these, and after silence, the same is asked again; after any other code the producer begins anew."""


def group_of(place: int) -> str:
    return f"group-{place}"


class Ended(Exception):
    """The producer was fenced, or what it asks for is refused for good: it begins anew with its transactional id."""


class TransactionHistory:
    """`committed`, `aborted` and `unknown` name transactions in the order of their ends; `read[p]` are values by offset."""

    def __init__(self) -> None:
        self.committed: dict[bytes, None] = {}
        self.aborted: dict[bytes, None] = {}
        self.unknown: dict[bytes, None] = {}
        self.epochs: dict[str, int] = {}
        """The highest epoch that a producer of that transactional id was told to have."""
        self.read: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.violations: list[str] = []
        self.stopped = False


class TransactionalProducer:
    """One place; what `history` knows of its transactions is all that a client may rely on."""

    def __init__(self, node: Node, place: int, brokers: tuple[str, ...], history: TransactionHistory) -> None:
        self._node = node
        self._place = place
        self._id = f"writer-{place // 2}"  # two places have one id, and fence each other
        self._group = group_of(place)
        self._brokers = brokers
        self._history = history
        self._known: dict[str, str] = {}
        self._producer = (-1, -1)
        self._sequences = [0] * PARTITIONS
        self._number = 0

    async def run(self) -> None:
        while not self._history.stopped:
            try:
                await self._live()
            except Ended:
                await self._node.clock.sleep(PAUSE_MS)

    async def _live(self) -> None:
        await self._init()
        epoch = self._producer[1]
        self._history.epochs[self._id] = max(self._history.epochs.get(self._id, -1), epoch)
        while not self._history.stopped:
            self._number += 1
            value = b"%d/%d/%d" % (self._place, epoch, self._number)
            if self._node.entropy.random() < LEFT_CHANCE:
                self._history.aborted[value] = None
                await self._write_all(value)
                return
            await self._transaction(value, is_commit=self._node.entropy.random() < COMMIT_CHANCE)
            await self._node.clock.sleep(PAUSE_MS)

    async def _transaction(self, value: bytes, *, is_commit: bool) -> None:
        asked = False
        try:
            await self._write_all(value)
            asked = is_commit and self._history.epochs[self._id] == self._producer[1]  # else it is fenced, and may not succeed
            await self._end(is_commit=is_commit)
        except Ended:
            (self._history.unknown if asked else self._history.aborted)[value] = None
            raise
        (self._history.committed if asked else self._history.aborted)[value] = None

    async def _write_all(self, value: bytes) -> None:
        await self._add()
        for partition in range(PARTITIONS):
            await self._write(partition, value)
        await self._commit_offset(self._number)

    # -- requests -------------------------------------------------------------------------------------------------------

    async def _ask(self, where: str, key: ApiKey, version: int, payload: dict[str, Any], code_of: Callable[[Any], int]) -> Any:
        """The answer without an error. `where` is what the broker to ask is found by: a coordinator's key or a partition."""
        while not self._history.stopped:
            broker = self._known.get(where) or await self._find(where)
            answer = await call(self._node, broker, key, version, payload, TIMEOUT_MS) if broker else None
            code = None if answer is None else ErrorCode(code_of(answer))
            if code is ErrorCode.NONE:
                return answer
            if code is not None and code not in AGAIN:
                raise Ended
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                self._known.pop(where, None)
            await self._node.clock.sleep(PAUSE_MS)
        raise Ended

    async def _find(self, where: str) -> str | None:
        broker = self._brokers[int(self._node.entropy.random() * len(self._brokers))]
        if where.isdigit():
            asked = {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False}
            told = await call(self._node, broker, ApiKey.METADATA, 5, asked, TIMEOUT_MS)
            rows = () if told is None else told.topics[0].partitions
            leader = next((row.leader_id for row in rows if row.partition_index == int(where)), -1)
        else:
            kind = int(where == self._id)
            found = await call(self._node, broker, ApiKey.FIND_COORDINATOR, 3, {"key": where, "key_type": kind}, TIMEOUT_MS)
            leader = -1 if found is None or found.error_code != ErrorCode.NONE else found.node_id
        if leader > 0:
            self._known[where] = f"b{leader}"
        return self._known.get(where)

    @property
    def _who(self) -> dict[str, Any]:
        producer_id, epoch = self._producer
        return {"transactional_id": self._id, "producer_id": producer_id, "producer_epoch": epoch}

    async def _init(self) -> None:
        payload = {"transactional_id": self._id, "transaction_timeout": TRANSACTION_MS, "producer_id": -1, "producer_epoch": -1}
        answer = await self._ask(self._id, ApiKey.INIT_PRODUCER_ID, 4, payload, lambda told: told.error_code)
        self._producer, self._sequences = (answer.producer_id, answer.producer_epoch), [0] * PARTITIONS

    async def _add(self) -> None:
        rows = {"topics": [{"name": TOPIC, "partitions": list(range(PARTITIONS))}]}
        payload = {f"v3_and_below_{name}": value for name, value in (self._who | rows).items()}

        def code_of(told: Any) -> int:
            return max(row.partition_error_code for row in told.results_by_topic_v3_and_below[0].results_by_partition)

        await self._ask(self._id, ApiKey.ADD_PARTITIONS_TO_TXN, 3, payload, code_of)
        await self._ask(self._id, ApiKey.ADD_OFFSETS_TO_TXN, 3, self._who | {"group_id": self._group}, lambda told: told.error_code)

    async def _write(self, partition: int, value: bytes) -> None:
        producer_id, epoch = self._producer
        batch = build_batch(
            [Record(0, self._node.clock.now_ms(), None, value, ())],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequences[partition],
            transactional=True,
        )
        rows = [{"name": TOPIC, "partition_data": [{"index": partition, "records": batch}]}]
        payload = {"transactional_id": self._id, "acks": -1, "timeout": TIMEOUT_MS - 1_000, "topic_data": rows}
        await self._ask(str(partition), ApiKey.PRODUCE, 11, payload, lambda told: told.responses[0].partition_responses[0].error_code)
        self._sequences[partition] += 1

    async def _commit_offset(self, offset: int) -> None:
        row = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
        member = {"group_id": self._group, "generation_id": -1, "member_id": "", "group_instance_id": None}
        payload = self._who | member | {"topics": [{"name": TOPIC, "partitions": [row]}]}
        await self._ask(self._group, ApiKey.TXN_OFFSET_COMMIT, 3, payload, lambda told: told.topics[0].partitions[0].error_code)

    async def _end(self, *, is_commit: bool) -> None:
        await self._ask(self._id, ApiKey.END_TXN, 3, self._who | {"committed": is_commit}, lambda told: told.error_code)


class CommittedReader:
    """Follows a partition as a consumer with `read_committed` does."""

    def __init__(self, node: Node, partition: int, brokers: tuple[str, ...], history: TransactionHistory) -> None:
        self._node = node
        self._partition = partition
        self._brokers = brokers
        self._history = history
        self._broker = brokers[0]

    async def run(self) -> None:
        position = 0
        while not self._history.stopped:
            row = await self._fetch(position)
            if row is None:
                self._broker = self._brokers[int(self._node.entropy.random() * len(self._brokers))]
            else:
                position = self._take_in(position, row)
            await self._node.clock.sleep(PAUSE_MS)

    async def _fetch(self, position: int) -> Any:
        wanted = {"partition": self._partition, "fetch_offset": position, "partition_max_bytes": 1 << 16, "current_leader_epoch": -1}
        payload = {
            "replica_id": -1,
            "max_wait": 200,
            "min_bytes": 1,
            "max_bytes": 1 << 16,
            "isolation_level": 1,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": TOPIC, "partitions": [wanted]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        answer = await call(self._node, self._broker, ApiKey.FETCH, 11, payload, TIMEOUT_MS)
        row = None if answer is None else answer.responses[0].partitions[0]
        return row if row is not None and row.error_code == ErrorCode.NONE else None

    def _take_in(self, position: int, row: Any) -> int:
        aborted = sorted((one.first_offset, one.producer_id) for one in row.aborted_transactions or ())
        found, position = committed_in(bytes(row.records or b""), aborted, position)
        for offset, value in found.items():
            if self._history.read[self._partition].setdefault(offset, value) != value:
                self._history.violations.append(f"two committed values at offset {offset} of {TOPIC}-{self._partition}")
        return position


def committed_in(data: bytes, aborted: list[tuple[int, int]], position: int) -> tuple[dict[int, bytes], int]:
    """Values by offset, without those of aborted transactions (first offset, producer id), and where to read on."""
    left, off = list(aborted), dict[int, None]()
    found: dict[int, bytes] = {}
    for start, header in iter_headers(data):
        while left and left[0][0] <= header.last_offset:
            off[left.pop(0)[1]] = None
        if header.is_control:
            off.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in off):
            found |= {one.offset: one.value or b"" for one in read_records(data, start, header) if one.offset >= position}
        position = max(position, header.next_offset)
    return found, position


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
