"""Where the replicas of new partitions go (spec Z6, KIP-36): Kafka's placement, decided without I/O.

Without racks, partition p's first replica is broker (start + p) of the list; the others follow at a distance that grows
by one each time the list has been used up, so two brokers rarely share all their partitions. Brokers 0–4, factor 3, start
and shift 0: p0 → 0 1 2, p1 → 1 2 3, …, p5 → 0 2 3.

With racks the list alternates them first (racks A: 0, 5; B: 3, 4; C: 1, 2 give 0 3 1 5 4 2), and a broker is passed over
while its rack has a replica and another rack has none, or while it has one itself and another broker has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from broker_core.errors import ErrorCode, KafkaError
from broker_core.seams import Entropy


class PlacementBroker(Struct, frozen=True):
    """A broker replicas can be placed on."""

    broker_id: int
    rack: str | None = None


class Start(Struct, frozen=True):
    """Where placement begins: an index into the broker list, and the first distance of the followers."""

    index: int
    shift: int


def random_start(entropy: Entropy, brokers: int) -> Start:
    return Start(int(entropy.random() * brokers), int(entropy.random() * brokers))


def place(
    brokers: Sequence[PlacementBroker], partitions: int, factor: int, start: Start, first_partition: int = 0
) -> dict[int, tuple[int, ...]]:
    """Replicas, preferred leader first, of `partitions` partitions from number `first_partition` on.

    Raises `KafkaError` INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
    """
    _refuse(brokers, partitions, factor)
    by_id = sorted(brokers, key=lambda broker: broker.broker_id)
    if all(broker.rack is None for broker in by_id):
        return _place_without_racks([broker.broker_id for broker in by_id], partitions, factor, start, first_partition)
    return _place_on_racks({b.broker_id: b.rack or "" for b in by_id}, partitions, factor, start, first_partition)


def place_more(brokers: Sequence[PlacementBroker], existing: Sequence[int], added: int, first_partition: int) -> dict[int, tuple[int, ...]]:
    """Replicas of partitions added to a topic, continuing from partition 0's replicas `existing`.

    Kafka continues the round robin at the place of partition 0's leader, with the factor of partition 0.
    """
    ids = sorted(broker.broker_id for broker in brokers)
    position = next((index for index, broker in enumerate(ids) if broker >= existing[0]), 0)
    return place(brokers, added, len(existing), Start(position, position), first_partition)


def _refuse(brokers: Sequence[PlacementBroker], partitions: int, factor: int) -> None:
    if partitions <= 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be larger than 0, not {partitions}.")
    if factor <= 0:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, f"Replication factor must be larger than 0, not {factor}.")
    if factor > len(brokers):
        message = f"Replication factor: {factor} larger than available brokers: {len(brokers)}."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    bare = [broker.broker_id for broker in brokers if broker.rack is None]
    if bare and len(bare) < len(brokers):
        message = f"Not all brokers have a rack, so replicas cannot be spread over racks: {sorted(bare)} have none."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _follower_index(first: int, shift: int, follower: int, brokers: int) -> int:
    """Index of a follower: at least one and less than `brokers` places after the first replica."""
    return (first + 1 + (shift + follower) % (brokers - 1)) % brokers


def _rounds(partitions: int, brokers: int, start: Start, first_partition: int) -> list[tuple[int, int, int]]:
    """(partition, index of its first replica, shift of the others), the shift growing by one each full round."""
    result = []
    shift = start.shift
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % brokers == 0:
            shift += 1
        result.append((partition, (partition + start.index) % brokers, shift))
    return result


def _place_without_racks(ids: list[int], partitions: int, factor: int, start: Start, first_partition: int) -> dict[int, tuple[int, ...]]:
    count = len(ids)
    return {
        partition: (ids[first], *(ids[_follower_index(first, shift, follower, count)] for follower in range(factor - 1)))
        for partition, first, shift in _rounds(partitions, count, start, first_partition)
    }


def _place_on_racks(racks: dict[int, str], partitions: int, factor: int, start: Start, first_partition: int) -> dict[int, tuple[int, ...]]:
    ids = alternate_racks(racks)
    rack_count = len(set(racks.values()))
    return {
        partition: _spread(ids, racks, first, shift * rack_count, factor)
        for partition, first, shift in _rounds(partitions, len(ids), start, first_partition)
    }


def _spread(ids: list[int], racks: dict[int, str], first: int, shift: int, factor: int) -> tuple[int, ...]:
    chosen = [ids[first]]
    rack_count = len(set(racks.values()))
    step = 0
    while len(chosen) < factor:
        broker = ids[_follower_index(first, shift, step, len(ids))]
        used_racks = {racks[replica] for replica in chosen}
        rack_is_free = racks[broker] not in used_racks or len(used_racks) == rack_count
        if rack_is_free and broker not in chosen:
            chosen.append(broker)
        step += 1
    return tuple(chosen)


def alternate_racks(racks: dict[int, str]) -> list[int]:
    """Brokers one rack after the other in the racks' order, each rack's brokers by id."""
    by_rack = {rack: sorted(broker for broker, name in racks.items() if name == rack) for rack in sorted(set(racks.values()))}
    depth = max(len(members) for members in by_rack.values())
    return [members[place_in_rack] for place_in_rack in range(depth) for members in by_rack.values() if place_in_rack < len(members)]
