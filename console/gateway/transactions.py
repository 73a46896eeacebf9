"""Transactions as a cluster's brokers tell of them and end them (KIP-664): the questions of `kafka-transactions.sh`, asked of all brokers
at once. One that does not answer costs what it was asked, and has its error in the answer's place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import kafka.errors
from kafka.protocol.admin.transactions import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer.transaction import InitProducerIdRequest, WriteTxnMarkersRequest

from broker_core.errors import ErrorCode
from console.gateway.errors import UNREACHABLE, ClusterUnreachable, GatewayError, from_code, from_kafka
from console.rules.transactions.told import STATE_TOPIC, Coordinators, Description, Ends, Listing, Place, Producer

TRANSACTION = 1
"""Of FindCoordinator: the kind of key."""
LATEST, READ_UNCOMMITTED, READ_COMMITTED = -1, 0, 1
OF_SEVERAL_KEYS, BY_ISOLATION, BY_DURATION = 4, 2, 1
"""Versions from which a request can say this."""
NO_PRODUCER = -1
EACH_TIMEOUT_MS = 4_000
"""Of a question to any broker, or to several: who reads what the others told does not wait longer for one that is silent."""
NO_LETTERS = 0xD800
"""Codes from here on are no letters of their own in UTF-16; the topic of transactions has 50 partitions by default."""
COORDINATES = (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
Told = dict[int, Any]
"""By broker its answer, or why there is none."""


def coordinators(admin: Any) -> Coordinators:
    """Without partitions where there is no such topic."""
    asked = MetadataRequest.MetadataRequestTopic(name=STATE_TOPIC)
    answer = _any(admin, lambda: MetadataRequest(topics=[asked], allow_auto_topic_creation=False))
    for topic in answer.topics:
        if topic.error_code not in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise from_code(topic.error_code, f"who coordinates transactions is not told: {STATE_TOPIC} was not described")
    rows = [row for topic in answer.topics for row in topic.partitions]
    return Coordinators({row.partition_index: (row.leader_id if row.leader_id >= 0 else None, _epoch(row)) for row in rows})


def _epoch(row: Any) -> int:
    return int(getattr(row, "leader_epoch", -1))


def listed(
    admin: Any, brokers: Iterable[int], states: Sequence[str], producer_ids: Sequence[int], longer_ms: int | None
) -> dict[int, list[Listing] | GatewayError]:
    """What each of the brokers coordinates, narrowed by the brokers themselves; a list that is none leaves nothing out."""
    least = {} if longer_ms is None else {"min_version": BY_DURATION, "duration_filter": longer_ms}

    def request() -> Any:
        return ListTransactionsRequest(state_filters=list(states), producer_id_filters=list(producer_ids), **least)

    answers = _each(admin, {broker: request() for broker in brokers})
    return {broker: _listings(broker, told) for broker, told in answers.items()}


def _listings(broker: int, told: Any) -> list[Listing] | GatewayError:
    if isinstance(told, GatewayError):
        return told
    if told.error_code:
        return from_code(told.error_code, f"broker {broker} does not list its transactions")
    return [Listing(row.transactional_id, row.producer_id, row.transaction_state, broker) for row in told.transaction_states]


def lacking(admin: Any, of: Coordinators) -> dict[int, list[int]]:
    """By broker the partitions that it leads and does not say it coordinates; a `GatewayError` counts as silence of all. A broker that has
    not heard yet of what it leads, or has lost it without knowing, lists its transactions without an error: only a question for an id of
    each partition shows it.

    An id of one letter has that letter's code as its hash, so there is one for each partition. Where such an id may not be described,
    nothing is lacking: what may not be seen is in no list either.
    """
    led = {broker: of.of(broker) for broker in of.leaders}
    names = {broker: [chr(number) for number in numbers if number < NO_LETTERS] for broker, numbers in led.items()}
    answers = _each(admin, {broker: DescribeTransactionsRequest(transactional_ids=some) for broker, some in names.items()})
    found: dict[int, list[int]] = {}
    for broker, told in answers.items():
        rows = [] if isinstance(told, GatewayError) else told.transaction_states
        sure = {row.transactional_id for row in rows if row.error_code in COORDINATES}
        if left := [number for number in led[broker] if number >= NO_LETTERS or chr(number) not in sure]:
            found[broker] = left
    return found


def coordinator_of(admin: Any, transactional_id: str) -> int:
    """`GatewayError` where there is none for the moment."""
    try:
        answer = _one(
            admin, FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[transactional_id], min_version=OF_SEVERAL_KEYS), None
        )
        found = answer.coordinators[0]
    except kafka.errors.IncompatibleBrokerVersion:
        found = _one(admin, FindCoordinatorRequest(key=transactional_id, key_type=TRANSACTION, min_version=1, max_version=3), None)
    if found.error_code:
        raise from_code(found.error_code, found.error_message or "the coordinator of this transactional id is not known")
    return int(found.node_id)


def described(admin: Any, by_broker: Mapping[int, Sequence[str]]) -> dict[str, Description | GatewayError]:
    """Each id by the coordinator that is asked for it."""
    answers = _each(admin, {broker: DescribeTransactionsRequest(transactional_ids=list(ids)) for broker, ids in by_broker.items() if ids})
    found: dict[str, Description | GatewayError] = {}
    for broker, told in answers.items():
        if isinstance(told, GatewayError):
            found |= dict.fromkeys(by_broker[broker], told)
        else:
            found |= {row.transactional_id: _description(row) for row in told.transaction_states}
    return found


def _description(row: Any) -> Description | GatewayError:
    if row.error_code:
        return from_code(row.error_code, f"the transactional id {row.transactional_id[:80]!r} was not described")
    places = tuple((topic.topic, number) for topic in row.topics for number in topic.partitions)
    started = row.transaction_start_time_ms if row.transaction_start_time_ms >= 0 else None
    return Description(row.transaction_state, row.producer_id, row.producer_epoch, row.transaction_timeout_ms, started, places)


def producers(admin: Any, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, list[Producer] | GatewayError]:
    topic = DescribeProducersRequest.TopicRequest
    requests = {
        leader: DescribeProducersRequest(
            topics=[topic(name=name, partition_indexes=numbers) for name, numbers in _by_topic(places).items()]
        )
        for leader, places in by_leader.items()
    }
    found: dict[Place, list[Producer] | GatewayError] = {}
    for leader, told in _each(admin, requests).items():
        if isinstance(told, GatewayError):
            found |= dict.fromkeys(by_leader[leader], told)
        else:
            found |= {(t.name, p.partition_index): _producers(t.name, p) for t in told.topics for p in t.partitions}
    return found


def _producers(topic: str, row: Any) -> list[Producer] | GatewayError:
    if row.error_code:
        return from_code(row.error_code, row.error_message or f"the producers of {topic}-{row.partition_index} were not told")
    return [
        Producer(
            one.producer_id,
            one.producer_epoch,
            _known(one.last_sequence),
            _known(one.last_timestamp),
            _known(one.coordinator_epoch),
            _known(one.current_txn_start_offset),
        )
        for one in row.active_producers
    ]


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def ends(admin: Any, by_leader: Mapping[int, Sequence[Place]]) -> dict[Place, Ends]:
    """Without those that are not told. The high watermark is asked first: what is below it and not below the last stable offset is held
    back by a transaction, and not by the time between the two questions."""
    high, stable = (_latest(admin, by_leader, isolation) for isolation in (READ_UNCOMMITTED, READ_COMMITTED))
    return {place: Ends(stable[place], max(high[place], stable[place])) for place in stable if place in high}


def _latest(admin: Any, by_leader: Mapping[int, Sequence[Place]], isolation: int) -> dict[Place, int]:
    topic = ListOffsetsRequest.ListOffsetsTopic
    row = topic.ListOffsetsPartition
    requests = {
        leader: ListOffsetsRequest(
            isolation_level=isolation,
            topics=[
                topic(name=name, partitions=[row(partition_index=number, timestamp=LATEST) for number in numbers])
                for name, numbers in _by_topic(places).items()
            ],
            min_version=BY_ISOLATION,
        )
        for leader, places in by_leader.items()
    }
    told = [answer for answer in _each(admin, requests).values() if not isinstance(answer, GatewayError)]
    rows = ((t.name, p) for answer in told for t in answer.topics for p in t.partitions)
    return {(name, p.partition_index): p.offset for name, p in rows if not p.error_code and p.offset >= 0}


def abort(admin: Any, leader: int, place: Place, producer: Producer) -> None:
    """An abort marker in one partition, in the producer's epoch. A producer of which no marker was ever written there has no coordinator's
    epoch: 0, which no coordinator is below, as Kafka's tool has it."""
    marker = WriteTxnMarkersRequest.WritableTxnMarker
    row = marker(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        topics=[marker.WritableTxnMarkerTopic(name=place[0], partition_indexes=[place[1]])],
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    answer = _one(admin, WriteTxnMarkersRequest(markers=[row]), leader)
    for code in (p.error_code for m in answer.markers for t in m.topics for p in t.partitions):
        if code:
            raise from_code(code, f"no abort marker was written to {place[0]}-{place[1]}")


def take_over(admin: Any, coordinator: int, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
    """InitProducerId as a producer that has just come: whoever had the id before is fenced, and its transaction aborted. The producer id
    and epoch that it gave; CONCURRENT_TRANSACTIONS while the old transaction's end is on its way."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=NO_PRODUCER,
        producer_epoch=NO_PRODUCER,
        max_version=4,
    )
    answer = _one(admin, request, coordinator)
    if answer.error_code:
        raise from_code(answer.error_code, f"the producer of {transactional_id[:80]!r} was not fenced")
    return answer.producer_id, answer.producer_epoch


def _by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in places:
        found.setdefault(topic, []).append(number)
    return found


def _one(admin: Any, request: Any, node: int | None) -> Any:
    """The library has no public way to send one request to one broker."""
    return admin._manager.run(admin._manager.send, request, node)


def _any(admin: Any, request: Callable[[], Any]) -> Any:
    """Of some broker; of another one where that is silent."""
    try:
        return admin._manager.run(admin._manager.send, request(), None, EACH_TIMEOUT_MS)
    except UNREACHABLE:
        return admin._manager.run(admin._manager.send, request(), None, EACH_TIMEOUT_MS)


def _each(admin: Any, requests: Mapping[int, Any]) -> Told:
    """All are sent before the first answer is waited for."""
    return dict(admin._manager.run(_asked, admin._manager, requests))


async def _asked(manager: Any, requests: Mapping[int, Any]) -> Told:
    begun: Told = {}
    for broker, request in requests.items():
        try:
            begun[broker] = manager.send(request, broker, EACH_TIMEOUT_MS)
        except kafka.errors.KafkaError as error:
            begun[broker] = _why(broker, error)
    return {broker: one if isinstance(one, GatewayError) else await _answer(broker, one) for broker, one in begun.items()}


async def _answer(broker: int, sent: Any) -> Any:
    try:
        return await sent
    except (kafka.errors.KafkaError, OSError) as error:
        return _why(broker, error)


def _why(broker: int, error: Exception) -> GatewayError:
    if isinstance(error, kafka.errors.IncompatibleBrokerVersion):
        return from_code(ErrorCode.UNSUPPORTED_VERSION, f"broker {broker} does not know this question")
    if isinstance(error, (*UNREACHABLE, OSError)):
        return ClusterUnreachable(f"broker {broker} did not answer in time ({type(error).__name__})")
    return from_kafka(error, f"broker {broker}")
