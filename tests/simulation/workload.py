"""Clients under test: producers of numbered values and readers that remember what they saw (spec C)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from broker_core.client.request import BrokerChannel
from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch, iter_headers, read_records
from broker_core.seams import Node
from tests.support.broker_cluster import PORT

REQUEST_TIMEOUT_MS = 4_000
PAUSE_MS = 60


class History:
    """What clients were told. `acked[p]` maps offset to value, `seen[p]` likewise for readers; `sent` counts attempts."""

    def __init__(self, partitions: int) -> None:
        self.acked: list[dict[int, bytes]] = [{} for _ in range(partitions)]
        self.seen: list[dict[int, bytes]] = [{} for _ in range(partitions)]
        self.attempted: list[dict[bytes, None]] = [{} for _ in range(partitions)]
        self.violations: list[str] = []
        self.out_of_order: dict[int, None] = {}
        """Partitions whose producer was last told that its sequence has a gap; a leader that was deposed may say so once."""
        self.stopped = False

    @property
    def acked_count(self) -> int:
        return sum(len(offsets) for offsets in self.acked)

    def note_ack(self, partition: int, offset: int, value: bytes) -> None:
        self.out_of_order.pop(partition, None)
        if self.acked[partition].setdefault(offset, value) != value:
            self.violations.append(f"two values acknowledged at offset {offset} of partition {partition}")

    def note_seen(self, partition: int, offset: int, value: bytes) -> None:
        if self.seen[partition].setdefault(offset, value) != value:
            self.violations.append(f"readers saw two values at offset {offset} of partition {partition}")


async def call(node: Node, broker: str, key: ApiKey, version: int, payload: dict[str, Any], timeout_ms: int) -> Any:
    """The answer of one broker to one request on a connection of its own, or None when none came."""
    channel = BrokerChannel(node, broker, PORT, "workload")
    try:
        return await channel.request(key, version, payload, timeout_ms)
    except (ConnectionError, TimeoutError, ProtocolViolation):
        return None
    finally:
        channel.close()


class Client:
    """One task on the client machine; it knows the brokers' names and finds leaders by asking."""

    def __init__(self, node: Node, topic: str, partition: int, brokers: tuple[str, ...], history: History) -> None:
        self.node = node
        self.topic = topic
        self.partition = partition
        self.history = history
        self._brokers = brokers
        self.guess = brokers[partition % len(brokers)]

    def _guess_again(self) -> None:
        self.guess = self._brokers[int(self.node.entropy.random() * len(self._brokers))]

    async def ask(self, key: ApiKey, version: int, payload: dict[str, Any], row_of: Callable[[Any], Any]) -> Any:
        """The partition's row of the answer, or None after an error or silence: whether it took effect nobody knows."""
        answer = await call(self.node, self.guess, key, version, payload, REQUEST_TIMEOUT_MS)
        return self.judged(None if answer is None else row_of(answer))

    def judged(self, row: Any) -> Any:
        """The row of an answer, or None where it is an error or there is none; then another broker is asked next."""
        if row is None:
            self._guess_again()
            return None
        if row.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.history.out_of_order[self.partition] = None
        if row.error_code != ErrorCode.NONE:
            self._guess_again()
            return None
        return row


async def produce(client: Client) -> None:
    """An idempotent producer with acks=all, one record on its way at a time, each repeated until it is acknowledged."""
    producer_id = await _producer_id(client)
    number = 0
    while not client.history.stopped:
        value = b"p%d-%d" % (client.partition, number)
        client.history.attempted[client.partition][value] = None
        await _produce_one(client, value, producer_id, number)
        number += 1
        await client.node.clock.sleep(PAUSE_MS)


async def produce_ahead(client: Client, ahead: int) -> None:
    """The same with so many records on their way at a time, on one connection; those that were not acknowledged are sent again in order."""
    producer_id = await _producer_id(client)
    number = 0
    left: list[tuple[int, bytes]] = []
    while not client.history.stopped:
        while len(left) < ahead:
            left.append((number, b"p%d-%d" % (client.partition, number)))
            client.history.attempted[client.partition][left[-1][1]] = None
            number += 1
        left = await _send_ahead(client, producer_id, left)
        await client.node.clock.sleep(PAUSE_MS)


async def _send_ahead(client: Client, producer_id: int, wanted: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Those that were not acknowledged."""
    channel = BrokerChannel(client.node, client.guess, PORT, "workload")
    sent = []
    for sequence, value in wanted:
        asked = channel.request(ApiKey.PRODUCE, 9, _produce_payload(client, value, producer_id, sequence), REQUEST_TIMEOUT_MS)
        sent.append(client.node.spawn(_quietly(asked), name="produce ahead"))
    left = []
    for one, task in zip(wanted, sent, strict=True):
        answer = await task
        row = client.judged(answer and answer.responses[0].partition_responses[0])
        if row is None:
            left.append(one)
        else:
            client.history.note_ack(client.partition, row.base_offset, one[1])
    channel.close()
    return left


async def _quietly(asked: Awaitable[Any]) -> Any:
    try:
        return await asked
    except (ConnectionError, TimeoutError, ProtocolViolation):
        return None


async def _producer_id(client: Client) -> int:
    payload = {"transactional_id": None, "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    while (answer := await client.ask(ApiKey.INIT_PRODUCER_ID, 4, payload, lambda answer: answer)) is None:
        await client.node.clock.sleep(PAUSE_MS)
    return int(answer.producer_id)


async def _produce_one(client: Client, value: bytes, producer_id: int, sequence: int) -> None:
    payload = _produce_payload(client, value, producer_id, sequence)
    while not client.history.stopped:
        row = await client.ask(ApiKey.PRODUCE, 9, payload, lambda answer: answer.responses[0].partition_responses[0])
        if row is not None:
            client.history.note_ack(client.partition, row.base_offset, value)
            return
        await client.node.clock.sleep(PAUSE_MS)


def _produce_payload(client: Client, value: bytes, producer_id: int, sequence: int) -> dict[str, Any]:
    record = Record(0, client.node.clock.now_ms(), None, value, ())
    batch = build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    data = [{"name": client.topic, "partition_data": [{"index": client.partition, "records": batch}]}]
    return {"transactional_id": None, "acks": -1, "timeout": REQUEST_TIMEOUT_MS - 1_000, "topic_data": data}


async def read(client: Client) -> None:
    """Follows the partition from its start; what is read once must stay."""
    position = 0
    while not client.history.stopped:
        wanted = {"partition": client.partition, "fetch_offset": position, "partition_max_bytes": 1 << 16, "current_leader_epoch": -1}
        payload = {
            "replica_id": -1,
            "max_wait": 200,
            "min_bytes": 1,
            "max_bytes": 1 << 16,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": client.topic, "partitions": [wanted]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        row = await client.ask(ApiKey.FETCH, 11, payload, lambda answer: answer.responses[0].partitions[0])
        if row is not None:
            position = _take_in(client, position, bytes(row.records or b""))
        await client.node.clock.sleep(PAUSE_MS)


def _take_in(client: Client, position: int, data: bytes) -> int:
    for start, header in iter_headers(data):
        for record in read_records(data, start, header):
            if record.offset >= position:
                client.history.note_seen(client.partition, record.offset, record.value or b"")
        position = max(position, header.next_offset)
    return position
