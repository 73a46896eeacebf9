"""Groups on whole brokers in the simulator: the coordinator is killed, paused, cut off, moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_core.errors import ErrorCode
from broker_core.model import CONSUMER_OFFSETS
from broker_core.protocol.api import ApiKey
from tests.simulation.kernel.life import STORE
from tests.support.broker_cluster import BrokerCluster

pytestmark = pytest.mark.spec("G3")

E = ErrorCode
RETRIED = (E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.REBALANCE_IN_PROGRESS, E.REQUEST_TIMED_OUT)
STEP_MS = 200


class GroupClient:
    """Asks whoever the cluster says coordinates the group, again and again while errors say that this helps."""

    def __init__(self, cluster: BrokerCluster, group_id: str) -> None:
        self.cluster = cluster
        self.group_id = group_id
        self.member_id = ""
        self.generation = -1

    def any_broker(self) -> int:
        return next(broker_id for broker_id in self.cluster.ids if self.cluster.world.is_up(f"b{broker_id}") and not self.paused(broker_id))

    def paused(self, broker_id: int) -> bool:
        return self.cluster.world.is_paused(f"b{broker_id}")

    def coordinator(self) -> int:
        """The broker id, once there is a coordinator."""
        for _ in range(200):
            answer = self.cluster.ask(self.any_broker(), ApiKey.FIND_COORDINATOR, 6, {"key_type": 0, "coordinator_keys": [self.group_id]})
            row = answer.coordinators[0]
            if row.error_code == E.NONE and not self.paused(row.node_id):
                return row.node_id
            self.cluster.world.run_for(STEP_MS)
        raise AssertionError("no coordinator")

    def call(self, key: ApiKey, version: int, payload: dict[str, Any], error: Callable[[Any], int]) -> Any:
        for _ in range(200):
            try:
                answer = self.cluster.ask(self.coordinator(), key, version, {"group_id": self.group_id, **payload}, 15_000)
            except (ConnectionError, TimeoutError):
                answer = None
            if answer is not None and error(answer) not in RETRIED:
                return answer
            self.cluster.world.run_for(STEP_MS)
        raise AssertionError(f"{key.name} had no answer")

    def join(self) -> None:
        """Joins, alone in its group, and takes its assignment."""
        fields = {"session_timeout": 20_000, "rebalance_timeout": 60_000, "protocol_type": "consumer"}
        fields["protocols"] = [{"name": "range", "metadata": b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"}]
        joined = self.call(ApiKey.JOIN_GROUP, 3, {**fields, "member_id": ""}, lambda answer: answer.error_code)
        assert joined.error_code == E.NONE, joined
        self.member_id, self.generation = joined.member_id, joined.generation_id
        assignments = [{"member_id": self.member_id, "assignment": b"mine"}]
        synced = self.call(ApiKey.SYNC_GROUP, 3, {**self.me(), "assignments": assignments}, lambda answer: answer.error_code)
        assert (synced.error_code, synced.assignment) == (E.NONE, b"mine")

    def me(self) -> dict[str, Any]:
        return {"member_id": self.member_id, "generation_id": self.generation}

    def heartbeat(self) -> int:
        return self.call(ApiKey.HEARTBEAT, 3, self.me(), lambda answer: answer.error_code).error_code

    def commit_at(self, broker_id: int, offset: int) -> int:
        """One try at one broker."""
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        payload = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "generation_id_or_member_epoch": self.generation,
            "topics": [{"name": "t", "partitions": [partition]}],
        }
        answer = self.cluster.ask(broker_id, ApiKey.OFFSET_COMMIT, 7, payload, 15_000)
        return answer.topics[0].partitions[0].error_code

    def commit(self, offset: int) -> None:
        for _ in range(200):
            try:
                if self.commit_at(self.coordinator(), offset) == E.NONE:
                    return
            except (ConnectionError, TimeoutError):
                pass
            self.cluster.world.run_for(STEP_MS)
        raise AssertionError("the commit did not come through")

    def committed(self) -> int:
        payload = {"topics": [{"name": "t", "partition_indexes": [0]}], "require_stable": True}
        answer = self.call(ApiKey.OFFSET_FETCH, 7, payload, lambda answer: answer.error_code or answer.topics[0].partitions[0].error_code)
        return answer.topics[0].partitions[0].committed_offset


@pytest.fixture
def cluster():
    with BrokerCluster() as made:
        made.start_all()
        made.create("t")
        yield made


def wait_for_another(cluster: BrokerCluster, client: GroupClient, old: int) -> int:
    for _ in range(200):
        if (found := client.coordinator()) != old:
            return found
        cluster.world.run_for(STEP_MS)
    raise AssertionError("the coordinator stayed")


@pytest.mark.spec("B19")
def test_group_survives_the_kill_of_its_coordinator(cluster):
    """Acknowledged commits are there at the next coordinator, and the member goes on in its generation."""
    client = GroupClient(cluster, "g")
    client.join()
    client.commit(41)
    client.commit(42)
    old = client.coordinator()
    cluster.kill(old)
    assert wait_for_another(cluster, client, old) in cluster.brokers
    assert client.committed() == 42
    assert client.heartbeat() == E.NONE
    client.commit(43)
    cluster.start(old)
    cluster.until(lambda: len(cluster.isr(old, CONSUMER_OFFSETS)) == 3)
    assert client.committed() == 43


@pytest.mark.spec("B19", "C")
def test_commits_during_repeated_kills_are_never_lost(cluster):
    """What was acknowledged last is what is read, whichever broker was killed meanwhile."""
    client = GroupClient(cluster, "simple")
    for round_number in range(4):
        client.commit(10 * round_number)
        victim = client.coordinator()
        cluster.kill(victim)
        client.commit(10 * round_number + 1)
        assert client.committed() == 10 * round_number + 1
        cluster.start(victim)
        cluster.until(lambda broker_id=victim: all(len(cluster.isr(broker_id, CONSUMER_OFFSETS, index)) == 3 for index in range(3)))
        assert client.committed() == 10 * round_number + 1


@pytest.mark.spec("B3", "B19")
def test_paused_coordinator_acknowledges_nothing_when_it_wakes(cluster):
    """Beyond its session another broker coordinates; the old one must not confirm a commit that is nowhere else."""
    client = GroupClient(cluster, "simple")
    client.commit(1)
    old = client.coordinator()
    cluster.world.pause(f"b{old}")
    wait_for_another(cluster, client, old)
    client.commit(2)
    cluster.world.resume(f"b{old}")
    assert client.commit_at(old, 99) != E.NONE
    cluster.world.run_for(20_000)
    assert client.committed() == 2


@pytest.mark.spec("B3")
def test_coordinator_that_is_cut_off_acknowledges_nothing(cluster):
    """Without its followers and the store a commit cannot be replicated; the next coordinator never hears of it."""
    client = GroupClient(cluster, "simple")
    client.commit(1)
    old = client.coordinator()
    places = [STORE, *(f"b{other}" for other in cluster.ids if other != old)]
    for place in places:
        cluster.world.cut(f"b{old}", place)
    assert client.commit_at(old, 99) != E.NONE
    cluster.until(lambda: coordinates(cluster, old))
    for place in places:
        cluster.world.heal(f"b{old}", place)
    cluster.until(lambda: all(len(cluster.isr(old, CONSUMER_OFFSETS, index)) == 3 for index in range(3)))
    assert client.committed() == 1


def coordinates(cluster: BrokerCluster, old: int) -> bool:
    """Whether brokers other than `old` own all partitions of the topic."""
    return sum(len(cluster.brokers[other].services.groups.runtime.shards) for other in cluster.ids if other != old) == 3


def test_coordinator_moves_with_a_controlled_stop(cluster):
    client = GroupClient(cluster, "g")
    client.join()
    client.commit(7)
    old = client.coordinator()
    cluster.stop(old)
    assert wait_for_another(cluster, client, old) != old
    assert client.committed() == 7
    assert client.heartbeat() == E.NONE


@pytest.mark.spec("G2")
def test_offsets_topic_is_made_by_the_first_group(cluster):
    """With as many partitions and replicas as configured."""
    assert not cluster.brokers[1].services.metadata.has_topic(CONSUMER_OFFSETS)
    GroupClient(cluster, "g").coordinator()
    states = cluster.brokers[1].services.metadata.partitions(CONSUMER_OFFSETS)
    assert (len(states), {len(state.replicas) for state in states.values()}) == (3, {3})
    assert cluster.brokers[1].services.config.topic(CONSUMER_OFFSETS).cleanup_policy == ("compact",)


def test_offsets_topic_waits_for_its_third_broker():
    """As in Kafka: not with fewer replicas than configured."""
    with BrokerCluster() as cluster:
        cluster.start(1)
        cluster.start(2)
        asked = {"key_type": 0, "coordinator_keys": ["g"]}
        for _ in range(5):
            answer = cluster.ask(1, ApiKey.FIND_COORDINATOR, 6, asked)
            assert answer.coordinators[0].error_code == E.COORDINATOR_NOT_AVAILABLE
            cluster.world.run_for(500)
        cluster.start(3)
        assert GroupClient(cluster, "g").coordinator() in cluster.ids


def test_offsets_of_a_deleted_topic_are_gone(cluster):
    """Consumers of a topic made anew under the same name must not start where the old one ended."""
    client = GroupClient(cluster, "simple")
    client.commit(42)
    cluster.ask(cluster.controller(), ApiKey.DELETE_TOPICS, 5, {"topic_names": ["t"], "timeout": 20_000})
    cluster.until(lambda: not any(broker.services.metadata.has_topic("t") for broker in cluster.brokers.values()))
    cluster.world.run_for(5_000)
    cluster.create("t")
    assert client.committed() == -1


@pytest.mark.spec("B19")
def test_commits_after_the_offsets_topic_has_grown_are_not_overtaken_by_older_ones():
    """The group's hash names a lower partition now; a restarted broker reads what it committed before, too, and after the rest."""
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        client = GroupClient(cluster, "e")
        client.commit(7)
        grown = {"topics": [{"name": CONSUMER_OFFSETS, "count": 5, "assignments": None}], "timeout": 20_000, "validate_only": False}
        assert cluster.ask(1, ApiKey.CREATE_PARTITIONS, 3, grown).results[0].error_code == E.NONE
        cluster.until(lambda: all(cluster.leads(CONSUMER_OFFSETS, partition) for partition in range(5)))
        client.commit(9)
        assert client.committed() == 9
        cluster.kill(1)
        cluster.start(1)
        assert client.committed() == 9


@pytest.mark.spec("G4")
def test_producer_ids_are_unique_over_brokers_and_restarts(cluster):
    payload = {"transactional_id": None, "transaction_timeout": 0}
    ids = [cluster.ask(broker_id, ApiKey.INIT_PRODUCER_ID, 4, payload).producer_id for broker_id in (1, 2, 3, 1, 2, 3)]
    cluster.kill(2)
    cluster.start(2)
    ids.append(cluster.ask(2, ApiKey.INIT_PRODUCER_ID, 4, payload).producer_id)
    assert len(set(ids)) == 7
    assert ids[-1] >= 3000
