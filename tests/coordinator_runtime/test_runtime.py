"""The runtime with a state of its own: the last value of each key. Real logs, virtual time, replication by word of mouth."""

from __future__ import annotations

from typing import Any, cast

import pytest

from broker_core.coordinator_runtime.partition_writer import PartitionWriter
from broker_core.coordinator_runtime.runtime import CoordinatorRuntime
from broker_core.coordinator_runtime.state_topic import StateTopic
from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import CONSUMER_OFFSETS
from broker_core.records.steps import Steps
from tests.support.groups_cluster import OffsetsCluster, simulate

E = ErrorCode
Values = dict[bytes | None, bytes | None]


class LastValues:
    """Playback: what the log says of each key."""

    skipped = 0

    def __init__(self) -> None:
        self.values: Values = {}

    def batch(self, base_offset: int, producer_id: int | None, records: Any) -> None:
        self.values |= dict(records)

    def marker(self, producer_id: int, *, commit: bool) -> None:
        raise AssertionError("no transactions here")


class ValueShard:
    def __init__(self, writer: PartitionWriter, told: list[str]) -> None:
        self.writer = writer
        self.told = told
        self.values: Values = {}

    def playback(self) -> LastValues:
        return LastValues()

    def build(self, playback: LastValues) -> Steps[int]:
        for key, value in playback.values.items():
            self.values[key] = value
            yield
        return len(self.values)

    def loaded(self) -> Steps[None]:
        self.told.append("loaded")
        yield

    def unloaded(self) -> None:
        self.told.append("unloaded")


class TwoBrokers:
    """A runtime at each of two brokers; `told` is what their shards were told."""

    def __init__(self, cluster: OffsetsCluster) -> None:
        self.cluster = cluster
        self.told: dict[int, list[str]] = {1: [], 2: []}
        self.runtimes = {broker_id: self._runtime(broker_id) for broker_id in (1, 2)}

    def _runtime(self, broker_id: int) -> CoordinatorRuntime[ValueShard]:
        cluster = self.cluster
        topic = StateTopic(CONSUMER_OFFSETS, cluster.node.spawn, cluster.config, cluster.metadata)
        self.partition = topic.partition_for("k")
        replicas = cast(Any, cluster.replicas[broker_id])
        return CoordinatorRuntime(cluster.node, topic, replicas, lambda writer: ValueShard(writer, self.told[broker_id]), lambda: 1 << 20)

    async def elect(self, broker_id: int) -> None:
        self.cluster.elect(self.partition, broker_id)
        await self.cluster.settle()

    def shard(self, broker_id: int) -> ValueShard:
        return self.runtimes[broker_id].shard_for("k")

    def refusal(self, broker_id: int) -> ErrorCode:
        with pytest.raises(KafkaError) as refused:
            self.shard(broker_id)
        return refused.value.code


def test_state_goes_from_leader_to_leader():
    async def scenario(cluster):
        values = TwoBrokers(cluster)
        await values.elect(1)
        first = values.shard(1)
        first.writer.append([(b"k", b"1"), (b"l", b"2")])
        cluster.elect(values.partition, 2)
        assert (values.refusal(1), values.refusal(2)) == (E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS)
        assert values.runtimes[2].ownership.is_loading_any
        await cluster.settle()
        assert values.shard(2).values == {b"k": b"1", b"l": b"2"}
        assert not values.runtimes[2].ownership.is_loading_any
        assert values.told == {1: ["loaded", "unloaded"], 2: ["loaded"]}

    simulate(scenario)


def test_shard_of_an_ended_tenure_writes_nothing():
    """Not in the epoch of the next one either: what it has decided, it decided before others wrote."""

    async def scenario(cluster):
        values = TwoBrokers(cluster)
        await values.elect(1)
        former = values.shard(1)
        await values.elect(2)
        await values.elect(1)
        assert values.shard(1) is not former
        with pytest.raises(KafkaError) as refused:
            former.writer.append([(b"k", b"late")])
        assert refused.value.code is E.NOT_LEADER_OR_FOLLOWER
        assert cluster.records(values.partition) == []
        values.shard(1).writer.append([(b"k", b"now")])
        assert cluster.records(values.partition) == [(b"k", b"now")]

    simulate(scenario)


def test_same_leaders_next_epoch_goes_on_with_the_shard():
    async def scenario(cluster):
        values = TwoBrokers(cluster)
        await values.elect(1)
        shard = values.shard(1)
        await values.elect(1)
        assert values.shard(1) is shard
        shard.writer.append([(b"k", b"1")])
        assert cluster.records(values.partition) == [(b"k", b"1")]
        assert values.told[1] == ["loaded"]

    simulate(scenario)


def test_load_of_a_partition_that_is_given_up_hands_nothing_over():
    async def scenario(cluster):
        values = TwoBrokers(cluster)
        cluster.elect(values.partition, 1)
        cluster.elect(values.partition, 2)
        await cluster.settle()
        assert (values.refusal(1), values.told[1]) == (E.NOT_COORDINATOR, [])
        assert values.told[2] == ["loaded"]

    simulate(scenario)


def test_load_that_fails_starts_over_with_an_empty_shard():
    async def scenario(cluster):
        values = TwoBrokers(cluster)
        await values.elect(1)
        values.shard(1).writer.append([(b"k", b"1")])
        leader_log = cluster.replicas[2].leader_log
        cluster.replicas[2].leader_log = failing
        await values.elect(2)
        assert values.refusal(2) is E.COORDINATOR_LOAD_IN_PROGRESS
        cluster.replicas[2].leader_log = leader_log
        await cluster.node.clock.sleep(2_000)
        assert values.shard(2).values == {b"k": b"1"}
        assert values.told[2] == ["loaded"]

    def failing(_):
        raise KafkaError(E.KAFKA_STORAGE_ERROR)

    simulate(scenario)


def test_closing_ends_loads_and_unloads_the_rest():
    async def scenario(cluster):
        values = TwoBrokers(cluster)
        await values.elect(1)
        cluster.elect((values.partition + 1) % 4, 1)
        runtime = values.runtimes[1]
        assert runtime.ownership.is_loading_any
        runtime.close()
        await cluster.settle()
        assert (runtime.shards, runtime.ownership.is_loading_any, values.told[1]) == ({}, False, ["loaded", "unloaded"])

    simulate(scenario)
