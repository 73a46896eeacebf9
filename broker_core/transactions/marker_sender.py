"""WriteTxnMarkers to the leaders of the partitions of transactions that end, again and again until each has its marker (spec G5, B17).

One worker a broker, only while there is something to tell it, has one request on its way; what comes meanwhile goes with the next one.
What could not be told, as its leader is unknown, away or changing, is tried again with whoever leads then.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from broker_core.client.pool import ChannelPool
from broker_core.config import ConfigHolder
from broker_core.errors import ErrorCode, ProtocolViolation
from broker_core.metadata.cache import MetadataCache
from broker_core.model import NO_LEADER, BrokerInfo, TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.protocol.inter_broker import version_between_brokers
from broker_core.seams import Node
from broker_core.transactions.marking import Marking

log = logging.getLogger(__name__)

RETRY_MS = 100.0
MARKERS_MAX = 500
PARTITIONS_MAX = 5_000
"""Of one request; a marker that has more by itself goes alone."""
FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
NOT_NEEDED = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
"""The partition has its marker, or can have none."""


class Told(NamedTuple):
    """What one broker is to be told of a transaction's end."""

    marking: Marking
    partitions: tuple[TopicPartition, ...]


class MarkerSender:
    def __init__(self, node: Node, config: ConfigHolder, metadata: MetadataCache, channels: ChannelPool) -> None:
        self._node = node
        self._config = config
        self._metadata = metadata
        self._channels = channels
        self._waiting: dict[int, deque[Told]] = {}
        """By broker; a broker that is in here has a worker."""
        self._unled: list[Told] = []

    @property
    def size(self) -> int:
        """Ends that wait for a request, each counted once a broker."""
        return sum(len(waiting) for waiting in self._waiting.values()) + len(self._unled)

    def send(self, marking: Marking) -> None:
        """Tells all partitions that are left."""
        self._give_out(marking, tuple(marking.left))
        marking.marked(())  # a transaction may have none, or none that still exist

    def _give_out(self, marking: Marking, partitions: Sequence[TopicPartition]) -> None:
        by_broker: dict[int, list[TopicPartition]] = {}
        gone = []
        for tp in partitions:
            state = self._metadata.partition(tp)
            if state is None and self._metadata.controller_id != NO_LEADER:
                gone.append(tp)
            else:
                leader = NO_LEADER if state is None else state.leader
                by_broker.setdefault(leader if self._metadata.is_alive(leader) else NO_LEADER, []).append(tp)
        for leader, led in by_broker.items():
            told = Told(marking, tuple(led))
            if leader == NO_LEADER:
                self._put_off(told)
            else:
                self._enqueue(leader, told)
        if gone:
            log.info("partitions of a transaction were deleted before its end", extra={"partitions": [str(tp) for tp in gone[:10]]})
            marking.marked(gone)

    def _put_off(self, told: Told) -> None:
        self._unled.append(told)
        if len(self._unled) == 1:
            self._node.clock.call_later(RETRY_MS, self._try_again)

    def _try_again(self) -> None:
        unled, self._unled = self._unled, []
        for marking, partitions in unled:
            if marking.coordinator_epoch is not None:
                self._give_out(marking, partitions)

    def _enqueue(self, broker_id: int, told: Told) -> None:
        if broker_id in self._waiting:
            self._waiting[broker_id].append(told)
        else:
            self._waiting[broker_id] = deque([told])
            self._node.spawn(self._work(broker_id), name=f"markers-to-{broker_id}")

    async def _work(self, broker_id: int) -> None:
        try:
            while batch := self._next(self._waiting[broker_id]):
                await self._tell(broker_id, batch)
        finally:
            left = self._waiting.pop(broker_id)
            for told in left:
                self._put_off(told)

    def _next(self, waiting: deque[Told]) -> dict[int, Told]:
        """What goes with the next request, by producer id; of a producer one end at a time."""
        batch: dict[int, Told] = {}
        count = 0
        while waiting and len(batch) < MARKERS_MAX:
            told = waiting[0]
            if batch and (count + len(told.partitions) > PARTITIONS_MAX or told.marking.producer_id in batch):
                break
            waiting.popleft()
            if told.marking.coordinator_epoch is not None:
                batch[told.marking.producer_id] = told
                count += len(told.partitions)
        return batch

    async def _tell(self, broker_id: int, batch: Mapping[int, Told]) -> None:
        info = self._metadata.broker(broker_id)
        try:
            outcomes = {} if info is None else await self._ask(info, [_marker(told) for told in batch.values()])
        except (ConnectionError, TimeoutError, ProtocolViolation, ValueError) as error:
            log.info("markers not told", extra={"broker": broker_id, "count": len(batch), "reason": str(error)})
            outcomes = {}
        for producer_id, told in batch.items():
            self._heard(told, outcomes.get(producer_id, {}))

    async def _ask(self, info: BrokerInfo, markers: list[dict[str, Any]]) -> dict[int, dict[TopicPartition, ErrorCode]]:
        """Each partition's outcome by producer id."""
        endpoint = info.inter_broker(self._config.static.inter_broker_listener_name)
        channel = self._channels.channel(endpoint.host, endpoint.port, "markers")
        timeout_ms = self._config.current.request_timeout_ms
        version = version_between_brokers(self._config.static.inter_broker_protocol, ApiKey.WRITE_TXN_MARKERS)
        answer = await channel.request(ApiKey.WRITE_TXN_MARKERS, version, {"markers": markers}, timeout_ms)
        return {
            row.producer_id: {
                TopicPartition(topic.name, partition.partition_index): ErrorCode(int(partition.error_code))
                for topic in row.topics
                for partition in topic.partitions
            }
            for row in answer.markers
        }

    def _heard(self, told: Told, outcomes: Mapping[TopicPartition, ErrorCode]) -> None:
        marking = told.marking
        codes = {tp: outcomes.get(tp, ErrorCode.NETWORK_EXCEPTION) for tp in told.partitions}
        fenced = [tp for tp, code in codes.items() if code in FENCED]
        if fenced:
            log.warning(
                "the end of a transaction is not this coordinator's to tell any more",
                extra={"transactional_id": marking.txn.transactional_id, "partition": str(fenced[0]), "error": codes[fenced[0]].name},
            )
            marking.give_up()
            return
        again = tuple(tp for tp, code in codes.items() if code not in NOT_NEEDED)
        if again and marking.coordinator_epoch is not None:
            self._put_off(Told(marking, again))
        marking.marked(tp for tp, code in codes.items() if code in NOT_NEEDED)


def _marker(told: Told) -> dict[str, Any]:
    topics: dict[str, list[int]] = {}
    for topic, partition in told.partitions:
        topics.setdefault(topic, []).append(partition)
    return {
        "producer_id": told.marking.producer_id,
        "producer_epoch": told.marking.producer_epoch,
        "transaction_result": told.marking.commit,
        "topics": [{"name": topic, "partition_indexes": numbers} for topic, numbers in topics.items()],
        "coordinator_epoch": told.marking.coordinator_epoch,
    }
