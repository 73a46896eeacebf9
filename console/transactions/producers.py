"""The producers of partitions, and which of their open transactions hang: `rules/transactions/judging.py` says what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from console.clock import now_ms
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.queries import BadQuery, NotFound
from console.rules.transactions.judging import Known, is_old, judge, same
from console.rules.transactions.shown import Hanging, Kind, PartitionProducers, SeenProducer
from console.rules.transactions.told import Coordinators, Description, Place, Producer
from console.rules.transactions.words import hanging_verdict, producers_verdict
from console.rules.words import whole
from console.transactions.listing import describe, gather
from console.transactions.one import by_leader, leaders_of

PRODUCERS_SHOWN = 200
"""Of one partition; those in a transaction come first."""
JUDGED_MOST = 1_000
"""Open transactions of one search that coordinators are asked for."""
ASKED_AT_ONCE = 500
"""Partitions of one request, as Kafka's tool has it."""
SEARCHED_MOST = 10_000
"""Partitions of one search."""
MAX_TIMEOUT = "transaction.max.timeout.ms"
USUAL_MAX_MS = 900_000
"""Kafka's default of it."""
Judged = tuple[Place, Producer]


def max_timeout_ms(kafka: KafkaCluster, broker: int) -> int | None:
    """How long a transaction may last, as this broker has it; None where it does not tell."""
    try:
        value = next((row["value"] for row in kafka.broker_configs(broker) if row["name"] == MAX_TIMEOUT), None)
    except GatewayError:
        return None
    return int(value) if value is not None and value.isdecimal() else None


def partition_producers(cluster: Cluster, topic: str, number: int) -> PartitionProducers:
    """`NotFound` where there is no such partition; `GatewayError` where its leader does not tell."""
    kafka, place = KafkaCluster(connection_of(cluster)), (topic, number)
    leader = leader_of(kafka, place)
    told = kafka.producers({leader: [place]})[place]
    if isinstance(told, GatewayError):
        raise told
    ends = kafka.ends({leader: [place]}).get(place)
    rows = sorted(told, key=_first)[:PRODUCERS_SHOWN]
    at_ms, opened = now_ms(), [(place, row) for row in rows if row.start_offset is not None]
    longest = max_timeout_ms(kafka, leader) if opened else None
    found = _judged(kafka, {place: leader}, opened, USUAL_MAX_MS if longest is None else longest, at_ms)
    shown = [found.get((place, row)) or _seen(place, row, "none", None, at_ms) for row in rows]
    held = None if ends is None else ends.held
    level, sentence = producers_verdict(held, shown, longest)
    return PartitionProducers(
        topic=topic,
        partition=number,
        leader=leader,
        at_ms=at_ms,
        last_stable_offset=None if ends is None else ends.last_stable_offset,
        high_watermark=None if ends is None else ends.high_watermark,
        held=held,
        max_timeout_ms=longest,
        producers=shown,
        total=len(told),
        level=level,
        sentence=sentence,
    )


def leader_of(kafka: KafkaCluster, place: Place) -> int:
    leaders = leaders_of(kafka, [place[0]])
    if place not in leaders:
        raise NotFound(f"There is no partition {place[1]} of a topic {place[0]!r}.")
    leader = leaders[place]
    if leader is None:
        raise NotFound(f"{place[0]}-{place[1]} has no leader now: nobody tells of its producers.")
    return leader


def _first(row: Producer) -> tuple[bool, int, int]:
    """Open transactions from the first offset on, then whoever wrote last."""
    return row.start_offset is None, row.start_offset or 0, -(row.last_at_ms or 0)


def find_hanging(
    cluster: Cluster, *, topic: str = "", partition: int | None = None, broker: int | None = None, longest_ms: int | None = None
) -> Hanging:
    """In a topic, one partition of it, or all that a broker leads; `longest_ms` instead of what the brokers let a transaction last."""
    kafka = KafkaCluster(connection_of(cluster))
    leaders = _searched(kafka, topic, partition, broker)
    asked = by_leader(leaders, sorted(leaders))
    if longest_ms is None:
        longest_ms = (max_timeout_ms(kafka, min(asked)) if asked else None) or USUAL_MAX_MS
    at_ms, told = now_ms(), dict[Place, list[Producer] | GatewayError]()
    for part in _parts(asked):
        told |= kafka.producers(part)
    answered = {place: rows for place, rows in told.items() if isinstance(rows, list)}
    old = [
        (place, row) for place, rows in answered.items() for row in rows if row.start_offset is not None and is_old(row, longest_ms, at_ms)
    ]
    found = _judged(kafka, leaders, old[:JUDGED_MOST], longest_ms, at_ms)
    items = [one for one in found.values() if one.transaction in ("hanging", "unknown")]
    level, sentence = hanging_verdict(items, len(answered), len(leaders) - len(answered), longest_ms)
    if len(old) > JUDGED_MOST:
        sentence += f" Only the first {whole(JUDGED_MOST)} open transactions of {whole(len(old))} were looked into."
    return Hanging(
        items=items,
        next=None,
        partitions=len(answered),
        unanswered=len(leaders) - len(answered),
        max_timeout_ms=longest_ms,
        level=level,
        sentence=sentence,
    )


def _searched(kafka: KafkaCluster, topic: str, partition: int | None, broker: int | None) -> dict[Place, int | None]:
    if not topic and broker is None:
        raise BadQuery("topic", "Name a topic or a broker: all partitions of a cluster are not searched at once.")
    if partition is not None and not topic:
        raise BadQuery("partition", "A partition is one of a topic: name that, too.")
    rows = ((found["name"], row) for found in kafka.topics([topic] if topic else None) for row in found["partitions"])
    leaders = {(name, row["partition_index"]): row["leader_id"] if row["leader_id"] >= 0 else None for name, row in rows}
    found = {place: leader for place, leader in leaders.items() if partition in (None, place[1]) and (broker is None or leader == broker)}
    if topic and not found:
        raise NotFound(f"There is no such partition of a topic {topic!r}{'' if broker is None else f' that broker {broker} leads'}.")
    if len(found) > SEARCHED_MOST:
        raise BadQuery("topic", f"These are {whole(len(found))} partitions: {whole(SEARCHED_MOST)} are searched at once. Name a topic.")
    return found


def _parts(asked: Mapping[int, Sequence[Place]]) -> Iterator[dict[int, Sequence[Place]]]:
    """So many of each leader's at a time."""
    for start in range(0, max(map(len, asked.values()), default=0), ASKED_AT_ONCE):
        yield {leader: part for leader, places in asked.items() if (part := places[start : start + ASKED_AT_ONCE])}


def judged_one(kafka: KafkaCluster, place: Place, leader: int, producer: Producer) -> SeenProducer:
    """One open transaction."""
    longest = max_timeout_ms(kafka, leader) or USUAL_MAX_MS
    return _judged(kafka, {place: leader}, [(place, producer)], longest, now_ms())[place, producer]


def _judged(
    kafka: KafkaCluster, leaders: Mapping[Place, int | None], opened: Sequence[Judged], longest_ms: int, at_ms: int
) -> dict[Judged, SeenProducer]:
    """The coordinators first; then, of what none of them has, once more the partitions' leaders."""
    if not opened:
        return {}
    known, before = _known(kafka, {row.producer_id for _, row in opened})
    missing = [(place, row) for place, row in opened if judge(row, place, known, is_old=False, is_still_open=True) == "orphaned"]
    still = _still_open(kafka, leaders, missing)
    if missing and kafka.transaction_coordinators() != before:
        known = known._replace(complete=False)
    return {
        (place, row): _seen(
            place,
            row,
            judge(row, place, known, is_old=is_old(row, longest_ms, at_ms), is_still_open=still.get((place, row))),
            known.names.get(row.producer_id),
            at_ms,
        )
        for place, row in opened
    }


def _known(kafka: KafkaCluster, producer_ids: Iterable[int]) -> tuple[Known, Coordinators]:
    """What the coordinators know of them: nothing where none of them tells."""
    try:
        gathered = gather(kafka, producer_ids=sorted(producer_ids))
    except GatewayError:
        return Known({}, {}, complete=False), Coordinators({})
    told = describe(kafka, gathered.rows)
    gone = {name for name, one in told.items() if isinstance(one, GatewayError) and one.name == "TRANSACTIONAL_ID_NOT_FOUND"}
    names = {row.producer_id: row.transactional_id for row in gathered.rows if row.transactional_id not in gone}
    descriptions = {name: one if isinstance(one, Description) else None for name, one in told.items()}
    return Known(names, descriptions, complete=not gathered.unseen), gathered.coordinators


def _still_open(kafka: KafkaCluster, leaders: Mapping[Place, int | None], missing: Sequence[Judged]) -> dict[Judged, bool]:
    """Without those whose leader does not say."""
    found: dict[Place, list[Producer] | GatewayError] = {}
    for part in _parts(by_leader(leaders, sorted({place for place, _ in missing}))):
        found |= kafka.producers(part)
    told = {(place, row): rows for place, row in missing if isinstance(rows := found.get(place), list)}
    return {(place, row): any(same(row, one) for one in rows) for (place, row), rows in told.items()}


def _seen(place: Place, row: Producer, kind: Kind, name: str | None, at_ms: int) -> SeenProducer:
    is_open = row.start_offset is not None
    return SeenProducer(
        topic=place[0],
        partition=place[1],
        producer_id=row.producer_id,
        producer_epoch=row.epoch,
        last_sequence=row.last_sequence,
        last_at_ms=row.last_at_ms,
        coordinator_epoch=row.coordinator_epoch,
        start_offset=row.start_offset,
        transaction=kind,
        transactional_id=name,
        silent_ms=max(at_ms - row.last_at_ms, 0) if is_open and row.last_at_ms is not None else None,
    )
