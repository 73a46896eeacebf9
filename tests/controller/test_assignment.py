"""Placement of replicas: Kafka's tables, without racks and with, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest

from broker_core.controller.deciders.assignment import PlacementBroker, Start, alternate_racks, place, place_more, random_start
from broker_core.errors import ErrorCode, KafkaError

FIVE = [PlacementBroker(broker_id) for broker_id in range(5)]
SIX_ON_RACKS = [PlacementBroker(b, rack) for b, rack in enumerate(["rack1", "rack3", "rack3", "rack2", "rack2", "rack1"])]
ZERO = Start(0, 0)


@pytest.mark.spec("Z6")
def test_without_racks_as_in_kafka_s_table() -> None:
    """Ten partitions, factor three, five brokers; the followers' distance grows after each round."""
    assert place(FIVE, 10, 3, ZERO) == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


@pytest.mark.spec("Z6")
def test_start_index_and_shift() -> None:
    """The list takes the first broker from the start index and the first distance from the shift."""
    assert place(FIVE, 2, 3, Start(3, 1)) == {0: (3, 0, 1), 1: (4, 1, 2)}


@pytest.mark.spec("Z6")
def test_on_racks_as_in_kafka_s_table() -> None:
    """The list alternates racks, each partition of factor three touches all three; partition 6 is shifted."""
    assert alternate_racks({broker.broker_id: broker.rack or "" for broker in SIX_ON_RACKS}) == [0, 3, 1, 5, 4, 2]
    assert place(SIX_ON_RACKS, 7, 3, ZERO) == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
    }


@pytest.mark.spec("Z6")
def test_on_racks_every_rack_gets_one_when_there_are_enough_replicas() -> None:
    """More replicas than racks, uneven racks: each rack at least once, no broker twice."""
    brokers = [PlacementBroker(b, rack) for b, rack in enumerate(["a", "a", "a", "b", "c"])]
    for replicas in place(brokers, 20, 4, Start(2, 3)).values():
        assert len(set(replicas)) == 4
        assert {brokers[replica].rack for replica in replicas} == {"a", "b", "c"}


@pytest.mark.spec("R1")
def test_leaders_and_replicas_are_spread() -> None:
    """Placed round robin, so equal within one."""
    placed = place(FIVE, 50, 3, Start(4, 2))
    assert set(Counter(replicas[0] for replicas in placed.values()).values()) == {10}
    assert set(Counter(replica for replicas in placed.values() for replica in replicas).values()) == {30}


def test_brokers_are_taken_by_id_whatever_their_order() -> None:
    assert place(FIVE[::-1], 3, 2, ZERO) == place(FIVE, 3, 2, ZERO)


@pytest.mark.spec("Z4")
def test_added_partitions_go_on_from_partition_0_s_leader() -> None:
    """The round robin starts at partition 0's first replica, with its factor."""
    assert place_more(FIVE, (2, 3), added=2, first_partition=5) == {5: (2, 1), 6: (3, 2)}


def test_one_broker() -> None:
    assert place([PlacementBroker(7)], 3, 1, ZERO) == {0: (7,), 1: (7,), 2: (7,)}


@pytest.mark.spec("Z6")
@pytest.mark.parametrize(
    ("brokers", "partitions", "factor", "code"),
    [
        (FIVE, 0, 1, ErrorCode.INVALID_PARTITIONS),
        (FIVE, -3, 1, ErrorCode.INVALID_PARTITIONS),
        (FIVE, 1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (FIVE, 1, 6, ErrorCode.INVALID_REPLICATION_FACTOR),
        ([PlacementBroker(0, "a"), PlacementBroker(1)], 1, 1, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_refused(brokers: list[PlacementBroker], partitions: int, factor: int, code: ErrorCode) -> None:
    """No partitions, no replicas, more replicas than brokers, racks on some brokers only."""
    with pytest.raises(KafkaError) as refused:
        place(brokers, partitions, factor, ZERO)
    assert refused.value.code is code


def test_random_start_is_an_index_of_the_list() -> None:
    class Almost1:
        def bytes(self, count: int) -> bytes:
            return b"\xff" * count

        def random(self) -> float:
            return 0.999999

    assert random_start(Almost1(), 3) == Start(2, 2)
