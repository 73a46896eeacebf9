"""The console asks Apache Kafka for transactions as it asks us, and is told the same: in progress, hanging, ended by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from console.actions.transactions import plan_abort
from console.gateway import admin_clients
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.transactions.listing import Wanted, transactions
from console.transactions.one import described, transaction
from console.transactions.producers import find_hanging, partition_producers
from tests.apache.comparison import Pair
from tests.support.cluster import eventually
from tests.support.open_transactions import begun, leave_hanging, verify

ID, TOPIC, HOUR_MS = "console-asks", "console-asks-of", 3_600_000
LATE, YOUNG = 700_001, 700_002
"""Producer ids of transactions that no coordinator has."""


class Asked:
    """One side, as the console has it, with a producer in a transaction."""

    def __init__(self, port: int) -> None:
        self.servers = f"127.0.0.1:{port}"
        self.cluster = Cluster(pk="asked", name="asked", bootstrap_servers=self.servers)
        self.kafka = KafkaCluster(connection_of(self.cluster))
        self.kafka.create_topic(TOPIC, 2, 1, {})
        eventually(lambda: len(self.kafka.ends({1: [(TOPIC, 0), (TOPIC, 1)]})) == 2, what="the topic's leaders")
        self.producer: Producer = begun(self.servers, ID, TOPIC, [b"open"] * 3, **{"transaction.timeout.ms": 600_000})
        self.own = described(self.kafka, ID)[1].producer_id

    def who(self, producer_id: int) -> str | int:
        return "own" if producer_id == self.own else producer_id

    def producers(self, partition: int = 0) -> list[tuple[Any, ...]]:
        found = partition_producers(self.cluster, TOPIC, partition)
        rows = [
            (self.who(one.producer_id), one.last_sequence, one.coordinator_epoch, one.start_offset, one.transaction, one.transactional_id)
            for one in found.producers
        ]
        return [(found.held, found.level, found.max_timeout_ms), *rows]


@pytest.fixture(scope="module")
def sides(pair: Pair) -> Iterator[list[Asked]]:
    made = [Asked(port) for port in (pair.kafka, pair.ours)]
    yield made
    for side in made:
        side.kafka.delete_topic(TOPIC)
        admin_clients.throw_away(connection_of(side.cluster))


def test_what_is_in_progress_is_told_alike(sides: list[Asked]) -> None:
    for side in sides:
        (row,) = [one for one in transactions(side.cluster, Wanted(state="open")).rows if one.transactional_id == ID]
        assert (row.state, row.coordinator, row.timeout_ms, row.partitions, row.level) == ("Ongoing", 1, 600_000, 1, "ok")
        assert row.age_ms is not None and 0 <= row.age_ms < 600_000
        assert side.kafka.lacking_coordinators(side.kafka.transaction_coordinators()) == {}
        one = transaction(side.cluster, ID)
        assert [(p.partition, p.leader, p.start_offset, p.held, p.holds) for p in one.places] == [(0, 1, 0, 3, True)]
        assert side.producers() == [(3, "ok", 900_000), ("own", 2, None, 0, "in_progress", ID)]
        assert transactions(side.cluster, Wanted(longer_ms=HOUR_MS)).total == 0
        assert transactions(side.cluster, Wanted(producer_id=side.own)).total == 1
        with pytest.raises(GatewayError, match="TRANSACTIONAL_ID_NOT_FOUND"):
            transaction(side.cluster, "nobody")


def test_what_hangs_is_found_and_aborted_alike(sides: list[Asked]) -> None:
    now_ms = round(time.time() * 1000)
    for side in sides:
        verify(side.servers, partitions=False)
        leave_hanging(side.servers, TOPIC, 0, LATE, now_ms - HOUR_MS)
        leave_hanging(side.servers, TOPIC, 0, YOUNG, now_ms)
        verify(side.servers, partitions=True)
        assert side.producers() == [
            (5, "bad", 900_000),
            ("own", 2, None, 0, "in_progress", ID),
            (LATE, 0, None, 3, "hanging", None),
            (YOUNG, 0, None, 4, "orphaned", None),
        ]
        found = find_hanging(side.cluster, topic=TOPIC)
        assert [(one.producer_id, one.start_offset) for one in found.items] == [(LATE, 3)]
        assert (found.partitions, found.unanswered, found.max_timeout_ms) == (2, 0, 900_000)
        plan = plan_abort(side.cluster, TOPIC, 0, 3)
        assert (plan.producer_id, plan.producer_epoch, plan.coordinator_epoch, plan.transaction) == (LATE, 0, 0, "hanging")
        for row in side.kafka.producers({1: [(TOPIC, 0)]})[TOPIC, 0]:  # type: ignore[union-attr]
            if row.producer_id in (LATE, YOUNG):
                side.kafka.abort_transaction(1, (TOPIC, 0), row)
        (head, *rows) = side.producers()
        assert head == (7, "ok", 900_000), "the two markers wait behind the transaction that goes on"
        assert sorted(rows, key=str) == [
            ("own", 2, None, 0, "in_progress", ID),
            (LATE, 0, 0, None, "none", None),
            (YOUNG, 0, 0, None, "none", None),
        ], rows
        assert find_hanging(side.cluster, topic=TOPIC).items == []


def test_an_id_is_taken_from_its_producer_alike(sides: list[Asked]) -> None:
    for side in sides:
        coordinator, before = described(side.kafka, ID)
        taken: list[tuple[int, int]] = []

        def take(side: Asked = side, coordinator: int = coordinator, taken: list[tuple[int, int]] = taken) -> bool:
            try:
                taken.append(side.kafka.take_over_transactions(coordinator, ID, 600_000))
            except GatewayError as error:
                assert error.name == "CONCURRENT_TRANSACTIONS", error
            return bool(taken)

        eventually(take, what="the old transaction's end")
        (found,) = taken
        assert found == (before.producer_id, before.epoch + 2), "one for its fence, one for who comes"
        assert described(side.kafka, ID)[1].state == "Empty"
        eventually(lambda side=side: side.kafka.ends({1: [(TOPIC, 0)]})[TOPIC, 0].held == 0, what="that nothing is held back")  # type: ignore[misc]
