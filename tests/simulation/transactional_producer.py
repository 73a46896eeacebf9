"""A producer that writes in transactions, with offsets of a group in them; what it sent and gave up may still arrive, long after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.errors import ErrorCode
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from broker_core.seams import Node
from tests.simulation.transaction_history import PARTITIONS, TOPIC, TransactionHistory, group_of
from tests.simulation.workload import call

TIMEOUT_MS = 4_000
TRANSACTION_MS = 15_000
PAUSE_MS = 80.0
COMMIT_CHANCE = 0.7
LEFT_CHANCE = 0.05
"""That a producer goes away in the middle of a transaction, and another one of its id comes."""
GIVEN_UP_CHANCE = 0.08
"""That a batch is on its way for longer than the producer waits: it aborts, and goes on in an epoch of its own (KIP-360)."""
NOBODY = (-1, -1)
PRODUCE_VERSION = 11
VIOLATIONS_MAX = 20
LATE_MS = 12_000.0
"""How long after that it may arrive."""
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


class Ended(Exception):
    """The producer was fenced, or what it asks for is refused for good: it begins anew with its transactional id."""


class TransactionalProducer:
    """One place; what `history` knows of its transactions is all that a client may rely on.

    `gives_up`: where leaders do not ask coordinators, a batch that arrives after an end in the same epoch begins a transaction that nobody
    ends, as in Kafka; there only those that are fenced send late.
    """

    def __init__(self, node: Node, place: int, brokers: tuple[str, ...], history: TransactionHistory, *, gives_up: bool) -> None:
        self._node = node
        self._place = place
        self._id = f"writer-{place // 2}"  # two places have one id, and fence each other
        self._group = group_of(place)
        self._brokers = brokers
        self._history = history
        self._gives_up = gives_up
        self._known: dict[str, str] = {}
        self._producer = NOBODY
        self._sequences = [0] * PARTITIONS
        self._number = 0

    async def run(self) -> None:
        while not self._history.stopped:
            try:
                await self._live()
            except Ended:
                await self._node.clock.sleep(PAUSE_MS)

    async def _live(self) -> None:
        await self._init(NOBODY)
        while not self._history.stopped:
            self._number += 1
            value = b"%d/%d/%d" % (self._place, self._producer[1], self._number)
            chance = self._node.entropy.random()
            if chance < LEFT_CHANCE:
                await self._leave(value)
                return
            if self._gives_up and chance < LEFT_CHANCE + GIVEN_UP_CHANCE:
                await self._give_up(value)
            else:
                await self._transaction(value, is_commit=self._node.entropy.random() < COMMIT_CHANCE)
            await self._node.clock.sleep(PAUSE_MS)

    async def _transaction(self, value: bytes, *, is_commit: bool) -> None:
        asked = False
        try:
            await self._write_all(value)
            asked = is_commit and self._history.may_commit(self._producer)
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

    # -- what arrives late ----------------------------------------------------------------------------------------------

    async def _leave(self, value: bytes) -> None:
        """With a batch, offsets or the commit still on the way: whoever comes with the same id fences what is late."""
        self._history.aborted[value] = None
        await self._write_all(value)
        kind = int(self._node.entropy.random() * 4)
        if kind == 0:
            self._late(str(0), ApiKey.PRODUCE, PRODUCE_VERSION, self._batch(0, value))
        elif kind == 1:
            self._late(self._group, ApiKey.TXN_OFFSET_COMMIT, 3, self._offsets(self._number))
        elif kind == 2:
            producer = self._producer
            self._late(self._id, ApiKey.END_TXN, 3, self._who | {"committed": True}, lambda: self._may_still_commit(value, producer))

    def _may_still_commit(self, value: bytes, producer: tuple[int, int]) -> None:
        """Where nobody has come with its id yet, the late commit may be in time."""
        if self._history.may_commit(producer):
            del self._history.aborted[value]
            self._history.unknown[value] = None

    async def _give_up(self, value: bytes) -> None:
        """One of the batches is late; without it the transaction is aborted, and the next one is of the next epoch."""
        self._history.aborted[value] = None
        late = int(self._node.entropy.random() * PARTITIONS)
        await self._add()
        for partition in range(PARTITIONS):
            if partition != late:
                await self._write(partition, value)
        self._late(str(late), ApiKey.PRODUCE, PRODUCE_VERSION, self._batch(late, value))
        await self._end(is_commit=False)
        await self._init(self._producer)

    def _late(self, where: str, key: ApiKey, version: int, payload: dict[str, Any], on_sending: Callable[[], None] = lambda: None) -> None:
        """Sent some time from now, once, to whom it belongs then; nobody waits for the answer."""
        after_ms = self._node.entropy.random() * LATE_MS

        async def send() -> None:
            await self._node.clock.sleep(after_ms)
            broker = await self._find(where)
            if broker and not self._history.stopped:
                on_sending()
                await call(self._node, broker, key, version, payload, TIMEOUT_MS)

        self._node.spawn(send(), name="late request")

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
                self._refused(key, code)
                raise Ended
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                self._known.pop(where, None)
            await self._node.clock.sleep(PAUSE_MS)
        raise Ended

    def _refused(self, key: ApiKey, code: ErrorCode) -> None:
        """Whoever ends a producer's transaction fences it too; clients take this code for a defect of theirs, and give up for good."""
        if code is ErrorCode.INVALID_TXN_STATE and len(self._history.violations) < VIOLATIONS_MAX:
            self._history.violations.append(f"{key.name} in an open transaction of {self._id} is refused with {code.name}")

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

    async def _init(self, known: tuple[int, int]) -> None:
        """`known` is who it says that it was."""
        before = self._history.told(self._id)
        payload = {"transactional_id": self._id, "transaction_timeout": TRANSACTION_MS, "producer_id": known[0], "producer_epoch": known[1]}
        answer = await self._ask(self._id, ApiKey.INIT_PRODUCER_ID, 4, payload, lambda told: told.error_code)
        self._producer, self._sequences = (answer.producer_id, answer.producer_epoch), [0] * PARTITIONS
        self._history.tell(self._id, self._producer, before)

    async def _add(self) -> None:
        rows = {"topics": [{"name": TOPIC, "partitions": list(range(PARTITIONS))}]}
        payload = {f"v3_and_below_{name}": value for name, value in (self._who | rows).items()}

        def code_of(told: Any) -> int:
            return max(row.partition_error_code for row in told.results_by_topic_v3_and_below[0].results_by_partition)

        await self._ask(self._id, ApiKey.ADD_PARTITIONS_TO_TXN, 3, payload, code_of)
        await self._ask(self._id, ApiKey.ADD_OFFSETS_TO_TXN, 3, self._who | {"group_id": self._group}, lambda told: told.error_code)

    async def _write(self, partition: int, value: bytes) -> None:
        payload = self._batch(partition, value)
        code_of = lambda told: told.responses[0].partition_responses[0].error_code  # noqa: E731
        await self._ask(str(partition), ApiKey.PRODUCE, PRODUCE_VERSION, payload, code_of)
        self._sequences[partition] += 1

    def _batch(self, partition: int, value: bytes) -> dict[str, Any]:
        producer_id, epoch = self._producer
        batch = build_batch(
            [Record(0, self._node.clock.now_ms(), None, value, ())],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequences[partition],
            transactional=True,
        )
        rows = [{"name": TOPIC, "partition_data": [{"index": partition, "records": batch}]}]
        return {"transactional_id": self._id, "acks": -1, "timeout": TIMEOUT_MS - 1_000, "topic_data": rows}

    async def _commit_offset(self, offset: int) -> None:
        code_of = lambda told: told.topics[0].partitions[0].error_code  # noqa: E731
        await self._ask(self._group, ApiKey.TXN_OFFSET_COMMIT, 3, self._offsets(offset), code_of)

    def _offsets(self, offset: int) -> dict[str, Any]:
        row = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
        member = {"group_id": self._group, "generation_id": -1, "member_id": "", "group_instance_id": None}
        return self._who | member | {"topics": [{"name": TOPIC, "partitions": [row]}]}

    async def _end(self, *, is_commit: bool) -> None:
        await self._ask(self._id, ApiKey.END_TXN, 3, self._who | {"committed": is_commit}, lambda told: told.error_code)
