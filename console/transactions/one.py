"""One transactional id: what its coordinator says of it, and in its partitions how far it holds readers back."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import asdict

from console.clock import now_ms
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.rules.transactions.shown import HeldPlace, OneTransaction, Transaction
from console.rules.transactions.told import Description, Ends, Listing, Place, Producer
from console.rules.transactions.words import one_sentence
from console.transactions.listing import shown

PLACES_SHOWN = 200
NO_LEADER = "it has no leader"


def described(kafka: KafkaCluster, transactional_id: str) -> tuple[int, Description]:
    """Its coordinator, and what that says. `GatewayError`: TRANSACTIONAL_ID_NOT_FOUND of one that it does not know."""
    coordinator = kafka.transaction_coordinator(transactional_id)
    told = kafka.describe_transactions({coordinator: [transactional_id]})[transactional_id]
    if isinstance(told, GatewayError):
        raise told
    return coordinator, told


def transaction(cluster: Cluster, transactional_id: str) -> OneTransaction:
    kafka = KafkaCluster(connection_of(cluster))
    coordinator, told = described(kafka, transactional_id)
    at_ms = now_ms()
    one = shown(Listing(transactional_id, told.producer_id, told.state, coordinator), told, at_ms)
    places = _places(kafka, told, one) if one.is_open else []
    ends_ms = None if one.started_ms is None or one.timeout_ms is None else one.started_ms + one.timeout_ms
    return OneTransaction(**asdict(one), ends_ms=ends_ms, places=places, sentence=one_sentence(one, places, at_ms))


def leaders_of(kafka: KafkaCluster, topics: list[str]) -> dict[Place, int | None]:
    """Of all partitions of the topics, as far as there are such."""
    rows = ((topic["name"], row) for topic in kafka.topics(topics) for row in topic["partitions"])
    return {(name, row["partition_index"]): row["leader_id"] if row["leader_id"] >= 0 else None for name, row in rows}


def by_leader(leaders: Mapping[Place, int | None], places: list[Place]) -> dict[int, list[Place]]:
    found: dict[int, list[Place]] = {}
    for place in places:
        leader = leaders.get(place)
        if leader is not None:
            found.setdefault(leader, []).append(place)
    return found


def _places(kafka: KafkaCluster, told: Description, one: Transaction) -> list[HeldPlace]:
    places = sorted(told.places)[:PLACES_SHOWN]
    leaders = leaders_of(kafka, sorted({topic for topic, _ in places})) if places else {}
    asked = by_leader(leaders, places)
    producers, ends = kafka.producers(asked), kafka.ends(asked)
    return [_place(place, leaders.get(place), producers.get(place), ends.get(place), one) for place in places]


def _place(
    place: Place, leader: int | None, producers: list[Producer] | GatewayError | None, ends: Ends | None, one: Transaction
) -> HeldPlace:
    """The transaction whose records come first of the open ones is the one that holds the last stable offset."""
    rows = producers if isinstance(producers, list) else []
    start = next((row.start_offset for row in rows if row.producer_id == one.producer_id), None)
    first = min((row.start_offset for row in rows if row.start_offset is not None), default=None)
    holds = None if ends is None or not isinstance(producers, list) else start is not None and start == first and ends.held > 0
    return HeldPlace(
        topic=place[0],
        partition=place[1],
        leader=leader,
        start_offset=start,
        last_stable_offset=None if ends is None else ends.last_stable_offset,
        high_watermark=None if ends is None else ends.high_watermark,
        held=None if ends is None else ends.held,
        held_for_ms=one.age_ms if holds else None,
        holds=holds,
        error=NO_LEADER if leader is None else str(producers) if isinstance(producers, GatewayError) else "",
    )
