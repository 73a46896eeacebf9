"""The group APIs in every version, encoded and decoded."""

import asyncio
from types import SimpleNamespace

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.records import decode_offset_value
from broker_core.handlers import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from broker_core.transactions.producer_ids import ProducerIds
from tests.support.api_client import ApiClient
from tests.support.groups_cluster import simulate

E = ErrorCode
HANDLERS = {
    offset_commit: 9,
    offset_fetch: 9,
    find_coordinator: 6,
    join_group: 9,
    heartbeat: 4,
    leave_group: 5,
    sync_group: 5,
    describe_groups: 5,
    list_groups: 5,
    delete_groups: 2,
    offset_delete: 0,
    init_producer_id: 5,
}


class FakeAdmin:
    def __init__(self, cluster) -> None:
        self.cluster = cluster
        self.created: list[str] = []
        self.error: KafkaError | None = None

    async def create_internal_topic(self, name: str) -> None:
        self.created.append(name)
        await self.cluster.node.clock.sleep(10)
        if self.error is not None:
            raise self.error
        self.cluster.describe({name: 4})


def client_of(cluster, broker: int = 1) -> ApiClient:
    return ApiClient(
        SimpleNamespace(
            node=cluster.node,
            config=cluster.config,
            metadata=cluster.metadata,
            groups=cluster.brokers[broker],
            admin=FakeAdmin(cluster),
            producer_ids=ProducerIds(cluster.node, broker),
        )
    )


def versions(module) -> range:
    return range(HANDLERS[module] + 1)


@pytest.mark.parametrize("module", HANDLERS, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def test_every_version_from_zero_to_that_of_3_9(module):
    assert module.handle.versions == versions(module)


def join_fields(version: int, **fields):
    protocols = [{"name": "range", "metadata": b"m"}]
    return {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 60_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": protocols,
        "reason": "test",
    } | fields


async def joined(client: ApiClient, version: int):
    """Joins as a client of this version does: twice since v4."""
    answer = await client.call(join_group.handle, version, **join_fields(version))
    if version >= 4:
        assert answer.error_code == E.MEMBER_ID_REQUIRED
        answer = await client.call(join_group.handle, version, **join_fields(version, member_id=answer.member_id))
    return answer


@pytest.mark.spec("G2")
@pytest.mark.parametrize("version", versions(join_group))
def test_join_group(version):
    """The first member leads and sees itself."""

    async def scenario(cluster):
        answer = await joined(client_of(cluster), version)
        assert (answer.error_code, answer.generation_id, answer.leader) == (E.NONE, 1, answer.member_id)
        assert [(member.member_id, member.metadata) for member in answer.members] == [(answer.member_id, b"m")]
        assert answer.protocol_name == "range"
        group = cluster.brokers[1].group("g")
        member = group.members[answer.member_id]
        assert member.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
        assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")

    simulate(scenario)


@pytest.mark.parametrize("version", versions(join_group))
def test_join_group_errors_can_be_encoded(version):
    """Before v7 the protocol name may not be null."""

    async def scenario(cluster):
        answer = await client_of(cluster).call(join_group.handle, version, **join_fields(version, session_timeout=1))
        assert answer.error_code == E.INVALID_SESSION_TIMEOUT
        assert answer.protocol_name == (None if version >= 7 else "")

    simulate(scenario)


def test_static_leader_skips_the_assignment_since_v9():
    """KIP-814."""

    async def scenario(cluster):
        client = client_of(cluster)
        for version, skips in ((9, True), (8, False)):
            name = f"static{version}"
            first = await client.call(join_group.handle, version, **join_fields(version, group_id=name, group_instance_id="i"))
            sync = {"group_id": name, "generation_id": 1, "member_id": first.member_id, "group_instance_id": "i"}
            sync |= {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
            await client.call(sync_group.handle, 5, **sync)
            back = await client.call(join_group.handle, version, **join_fields(version, group_id=name, group_instance_id="i"))
            assert (back.error_code, getattr(back, "skip_assignment", False)) == (E.NONE, skips)
            assert (back.leader == back.member_id) is skips

    simulate(scenario)


@pytest.mark.parametrize("version", versions(sync_group))
def test_sync_group(version):
    async def scenario(cluster):
        client = client_of(cluster)
        member_id = (await joined(client, 9)).member_id
        answer = await client.call(
            sync_group.handle,
            version,
            group_id="g",
            generation_id=1,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[{"member_id": member_id, "assignment": b"all"}],
        )
        assert (answer.error_code, answer.assignment) == (E.NONE, b"all")
        assert getattr(answer, "protocol_name", "range") == "range"

    simulate(scenario)


def test_sync_group_needs_protocol_type_and_name_since_v5():
    async def scenario(cluster):
        fields = {"group_id": "g", "generation_id": 1, "member_id": "m", "assignments": []}
        answer = await client_of(cluster).call(sync_group.handle, 5, **fields)
        assert answer.error_code == E.INCONSISTENT_GROUP_PROTOCOL
        assert (await client_of(cluster).call(sync_group.handle, 4, **fields)).error_code == E.UNKNOWN_MEMBER_ID

    simulate(scenario)


@pytest.mark.parametrize("version", versions(heartbeat))
def test_heartbeat(version):
    async def scenario(cluster):
        client = client_of(cluster)
        member_id = (await joined(client, 9)).member_id
        fields = {"group_id": "g", "generation_id": 1, "member_id": member_id}
        assert (await client.call(heartbeat.handle, version, **fields)).error_code == E.NONE
        assert (await client.call(heartbeat.handle, version, **fields | {"generation_id": 2})).error_code == E.ILLEGAL_GENERATION
        if version >= 3:
            answer = await client.call(heartbeat.handle, version, **fields, group_instance_id="i")
            assert answer.error_code == E.UNKNOWN_MEMBER_ID

    simulate(scenario)


@pytest.mark.parametrize("version", versions(leave_group))
def test_leave_group(version):
    async def scenario(cluster):
        client = client_of(cluster)
        member_id = (await joined(client, 9)).member_id
        members = [{"member_id": member_id, "group_instance_id": None, "reason": "done"}]
        answer = await client.call(leave_group.handle, version, group_id="g", member_id=member_id, members=members)
        assert answer.error_code == E.NONE
        again = await client.call(leave_group.handle, version, group_id="g", member_id=member_id, members=members)
        if version >= 3:
            assert (again.error_code, again.members[0].error_code) == (E.NONE, E.UNKNOWN_MEMBER_ID)
        else:
            assert again.error_code == E.UNKNOWN_MEMBER_ID

    simulate(scenario)


def commit_fields(offset: int = 5, topic: str = "t", **fields):
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "note", "committed_leader_epoch": 3}
    return {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time": -1,
        "topics": [{"name": topic, "partitions": [partition | fields]}],
    }


def fetch_fields(group_id: str = "g", topics=({"name": "t", "partition_indexes": [0, 1]},)):
    return {"group_id": group_id, "topics": topics, "groups": [{"group_id": group_id, "topics": topics}], "require_stable": True}


def rows_of(answer, version: int):
    group = answer.groups[0] if version >= 8 else answer
    return {
        (topic.name, row.partition_index): (row.committed_offset, row.metadata, row.error_code)
        for topic in group.topics
        for row in topic.partitions
    }


@pytest.mark.spec("G3")
@pytest.mark.parametrize("version", versions(offset_commit)[1:])
def test_offset_commit_and_fetch(version):

    async def scenario(cluster):
        client = client_of(cluster)
        answer = await client.call(offset_commit.handle, version, **commit_fields(commit_timestamp=-1))
        assert [row.error_code for row in answer.topics[0].partitions] == [E.NONE]
        for fetch_version in versions(offset_fetch)[1:]:
            fetched = await client.call(offset_fetch.handle, fetch_version, **fetch_fields())
            assert rows_of(fetched, fetch_version) == {("t", 0): (5, "note", E.NONE), ("t", 1): (-1, "", E.NONE)}
            if fetch_version >= 2:
                everything = await client.call(offset_fetch.handle, fetch_version, **fetch_fields(topics=None))
                assert rows_of(everything, fetch_version) == {("t", 0): (5, "note", E.NONE)}
        stored = decode_offset_value(cluster.records(cluster.brokers[1].topic.partition_for("g"))[0][1])
        assert stored.leader_epoch == (3 if version >= 6 else -1)

    simulate(scenario)


def test_offset_commit_v1_names_its_time_and_v2_its_retention():
    async def scenario(cluster):
        client = client_of(cluster)
        await client.call(offset_commit.handle, 1, **commit_fields(commit_timestamp=123_456))
        now_ms = cluster.node.clock.now_ms()
        await client.call(offset_commit.handle, 2, **commit_fields() | {"retention_time": 60_000})
        first, second = (decode_offset_value(value) for _, value in cluster.records(cluster.brokers[1].topic.partition_for("g")))
        assert (first.commit_ms, first.expire_ms) == (123_456, None)
        assert (second.commit_ms, second.expire_ms) == (now_ms, now_ms + 60_000)

    simulate(scenario)


@pytest.mark.parametrize("retention_ms", [2**63 - 1, -(2**63)])
def test_offset_commit_v2_with_a_retention_beyond_all_times(retention_ms):
    """Some clients say "for ever" by the largest number there is."""

    async def scenario(cluster):
        client = client_of(cluster)
        answer = await client.call(offset_commit.handle, 2, **commit_fields() | {"retention_time": retention_ms})
        assert [row.error_code for row in answer.topics[0].partitions] == [E.NONE]
        ((_, value),) = cluster.records(cluster.brokers[1].topic.partition_for("g"))
        lasts = decode_offset_value(value).expire_ms > cluster.node.clock.now_ms()
        assert lasts == (retention_ms > 0)

    simulate(scenario)


def test_offset_commit_of_an_unknown_partition():
    async def scenario(cluster):
        client = client_of(cluster)
        for version in versions(offset_commit):
            answer = await client.call(offset_commit.handle, version, **commit_fields(topic="nowhere"))
            assert answer.topics[0].partitions[0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION
        answer = await client.call(offset_commit.handle, 9, **commit_fields(committed_metadata=None))
        assert answer.topics[0].partitions[0].error_code == E.NONE

    simulate(scenario)


@pytest.mark.parametrize("version", versions(offset_fetch)[1:])
def test_offset_fetch_at_the_wrong_broker(version):
    """The group's error stands at each partition in v1, at the response or the group since."""

    async def scenario(cluster):
        answer = await client_of(cluster, 2).call(offset_fetch.handle, version, **fetch_fields())
        if version == 1:
            assert {error for _, _, error in rows_of(answer, 1).values()} == {E.NOT_COORDINATOR}
        else:
            assert (answer.groups[0] if version >= 8 else answer).error_code == E.NOT_COORDINATOR

    simulate(scenario)


def test_offset_fetch_of_several_groups():
    async def scenario(cluster):
        client = client_of(cluster)
        await client.call(offset_commit.handle, 9, **commit_fields())
        groups = [{"group_id": "g", "topics": None}, {"group_id": "h", "topics": [{"name": "t", "partition_indexes": [0]}]}]
        answer = await client.call(offset_fetch.handle, 9, groups=groups)
        found = [(group.group_id, group.topics[0].partitions[0].committed_offset) for group in answer.groups]
        assert found == [("g", 5), ("h", -1)]

    simulate(scenario)


@pytest.mark.spec("Z7")
def test_version_0_keeps_offsets_in_zookeeper():
    """They have nothing to do with those of the group."""

    async def scenario(cluster):
        await cluster.node.store.connect(6_000)
        client = client_of(cluster)
        missing = await client.call(offset_fetch.handle, 0, **fetch_fields())
        assert rows_of(missing, 0)[("t", 0)] == (-1, "", E.UNKNOWN_TOPIC_OR_PARTITION)
        answer = await client.call(offset_commit.handle, 0, **commit_fields(7))
        assert answer.topics[0].partitions[0].error_code == E.NONE
        assert (await cluster.node.store.get("/consumers/g/offsets/t/0"))[0] == b"7"
        fetched = await client.call(offset_fetch.handle, 0, **fetch_fields())
        assert rows_of(fetched, 0)[("t", 0)] == (7, "", E.NONE)
        assert cluster.fetch("g") == {}
        for group_id in ("", "a/b"):
            refused = await client.call(offset_commit.handle, 0, **commit_fields() | {"group_id": group_id})
            assert refused.topics[0].partitions[0].error_code == E.INVALID_GROUP_ID
        long = await client.call(offset_commit.handle, 0, **commit_fields(committed_metadata="x" * 5000))
        assert long.topics[0].partitions[0].error_code == E.OFFSET_METADATA_TOO_LARGE

    simulate(scenario)


def coordinator_of(answer, version: int):
    return answer.coordinators[0] if version >= 4 else answer


@pytest.mark.spec("G2")
@pytest.mark.parametrize("version", versions(find_coordinator))
def test_find_coordinator(version):
    """The leader of the group's partition."""

    async def scenario(cluster):
        answer = await client_of(cluster).call(find_coordinator.handle, version, key="g", key_type=0, coordinator_keys=["g"])
        found = coordinator_of(answer, version)
        assert (found.error_code, found.node_id, found.host, found.port) == (E.NONE, 1, "127.0.0.1", 9091)

    simulate(scenario)


@pytest.mark.parametrize("version", versions(find_coordinator)[1:])
def test_find_coordinator_of_other_kinds(version):
    """Share groups are known since v6."""

    async def scenario(cluster):
        client = client_of(cluster)
        errors = []
        for kind in (2, 9):
            answer = await client.call(find_coordinator.handle, version, key="x", key_type=kind, coordinator_keys=["x"])
            errors.append(coordinator_of(answer, version).error_code)
        share = E.COORDINATOR_NOT_AVAILABLE if version >= 6 else E.INVALID_REQUEST
        assert errors == [share, E.INVALID_REQUEST]

    simulate(scenario)


@pytest.mark.spec("G3")
def test_first_request_creates_the_offsets_topic_once():
    """The answer waits for it: librdkafka asks three times and then no more."""

    async def scenario(cluster):
        cluster.describe({}, deleted=tuple(TopicPartition(CONSUMER_OFFSETS, index) for index in range(4)))
        client = client_of(cluster)
        asked = [client.call(find_coordinator.handle, 6, key_type=0, coordinator_keys=["g", "h"]) for _ in range(3)]
        for answer in [await cluster.node.spawn(one, name="asks") for one in asked]:
            assert [row.error_code for row in answer.coordinators] == [E.NONE] * 2
        assert client.broker.admin.created == [CONSUMER_OFFSETS]

    simulate(scenario, **{"offsets.topic.replication.factor": "2"})


@pytest.mark.spec("G2")
@pytest.mark.parametrize("elected_after_ms", [300, None])
def test_an_answer_waits_for_an_election_but_not_for_ever(elected_after_ms):
    """librdkafka, told that there is none, asks twice within half a second and then waits for a connection to come or go."""

    async def scenario(cluster):
        partition = TopicPartition(CONSUMER_OFFSETS, cluster.brokers[1].topic.partition_for("g"))
        clock, metadata = cluster.node.clock, cluster.metadata
        cluster.describe({}, brokers=())
        began_ms, watching = clock.monotonic_ms(), len(metadata._watchers)
        asks = cluster.node.spawn(client_of(cluster).call(find_coordinator.handle, 4, key_type=0, coordinator_keys=["g"]), name="asks")
        if elected_after_ms is not None:
            await clock.sleep(elected_after_ms)
            cluster.describe({}, brokers=(1, 2, 3))
        answer = await asks
        code, waited_ms = answer.coordinators[0].error_code, clock.monotonic_ms() - began_ms
        if elected_after_ms is None:
            assert code == E.COORDINATOR_NOT_AVAILABLE
            assert waited_ms == pytest.approx(find_coordinator.PATIENCE_MS, abs=1)
        else:
            assert (code, answer.coordinators[0].node_id) == (E.NONE, metadata.partition(partition).leader)
            assert waited_ms < find_coordinator.PATIENCE_MS
        assert len(metadata._watchers) == watching, "nothing stays behind"

    simulate(scenario)


def test_many_keys_are_answered_at_once():
    """All would be looked at again after every update: hostile ones are 131 072."""

    async def scenario(cluster):
        cluster.describe({}, brokers=())
        keys = [f"g{number}" for number in range(find_coordinator.AWAITED_KEYS + 1)]
        began_ms = cluster.node.clock.monotonic_ms()
        answer = await client_of(cluster).call(find_coordinator.handle, 4, key_type=0, coordinator_keys=keys)
        assert {row.error_code for row in answer.coordinators} == {E.COORDINATOR_NOT_AVAILABLE}
        assert cluster.node.clock.monotonic_ms() - began_ms < find_coordinator.PATIENCE_MS / 2

    simulate(scenario)


def test_offsets_topic_waits_for_enough_brokers():
    """As in Kafka: never with fewer replicas than configured, but tried again."""

    async def scenario(cluster):
        cluster.describe({}, deleted=tuple(TopicPartition(CONSUMER_OFFSETS, index) for index in range(4)), brokers=(1, 2))
        client = client_of(cluster)
        client.broker.admin.error = KafkaError(E.INVALID_REPLICATION_FACTOR)
        for _ in range(2):
            answer = await client.call(find_coordinator.handle, 0, key="g")
            assert answer.error_code == E.COORDINATOR_NOT_AVAILABLE
            await cluster.settle()
        assert client.broker.admin.created == []
        cluster.describe({}, brokers=(1, 2, 3))
        for _ in range(2):
            await client.call(find_coordinator.handle, 0, key="g")
            await cluster.settle()
        assert client.broker.admin.created == [CONSUMER_OFFSETS] * 2

    simulate(scenario)


@pytest.mark.parametrize("version", versions(describe_groups))
def test_describe_groups(version):
    async def scenario(cluster):
        await cluster.stable("g")
        answer = await client_of(cluster).call(describe_groups.handle, version, groups=["g", "none"])
        stable, none = answer.groups
        assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
        assert (stable.members[0].client_host, stable.members[0].member_assignment) == ("/127.0.0.1", b"all")
        assert (none.group_state, none.error_code) == ("Dead", E.NONE)
        if version >= 3:
            assert stable.authorized_operations == -(2**31)
        wrong = await client_of(cluster, 2).call(describe_groups.handle, version, groups=["g"])
        assert (wrong.groups[0].error_code, wrong.groups[0].group_state) == (E.NOT_COORDINATOR, "")

    simulate(scenario)


@pytest.mark.parametrize("version", versions(list_groups))
def test_list_groups(version):
    async def scenario(cluster):
        await cluster.stable("g")
        await cluster.commit("e", {TopicPartition("t", 0): 1})
        client = client_of(cluster)
        answer = await client.call(list_groups.handle, version, states_filter=["Stable"], types_filter=[])
        assert [group.group_id for group in answer.groups if version >= 4] == (["g"] if version >= 4 else [])
        assert {group.protocol_type for group in answer.groups if group.group_id == "g"} == {"consumer"}
        if version < 4:
            assert len(answer.groups) == 2
        if version >= 5:
            assert answer.groups[0].group_type == "classic"
            answer = await client.call(list_groups.handle, version, states_filter=[], types_filter=["share"])
            assert list(answer.groups) == []

    simulate(scenario)


@pytest.mark.parametrize("version", versions(delete_groups))
def test_delete_groups(version):
    async def scenario(cluster):
        await cluster.commit("e", {TopicPartition("t", 0): 1})
        await cluster.stable("g")
        answer = await client_of(cluster).call(delete_groups.handle, version, groups_names=["e", "g", "none"])
        assert {row.group_id: row.error_code for row in answer.results} == {
            "e": E.NONE,
            "g": E.NON_EMPTY_GROUP,
            "none": E.GROUP_ID_NOT_FOUND,
        }

    simulate(scenario)


def test_offset_delete():
    async def scenario(cluster):
        await cluster.commit("g", {TopicPartition("t", 0): 1, TopicPartition("t", 1): 1})
        client = client_of(cluster)
        topics = [{"name": "t", "partitions": [{"partition_index": 0}]}, {"name": "nowhere", "partitions": [{"partition_index": 0}]}]
        answer = await client.call(offset_delete.handle, 0, group_id="g", topics=topics)
        assert answer.error_code == E.NONE
        found = {(topic.name, row.partition_index): row.error_code for topic in answer.topics for row in topic.partitions}
        assert found == {("t", 0): E.NONE, ("nowhere", 0): E.UNKNOWN_TOPIC_OR_PARTITION}
        assert cluster.fetch("g") == {TopicPartition("t", 1): 1}
        missing = await client.call(offset_delete.handle, 0, group_id="none", topics=topics)
        assert (missing.error_code, list(missing.topics)) == (E.GROUP_ID_NOT_FOUND, [])

    simulate(scenario)


@pytest.mark.spec("G4")
@pytest.mark.parametrize("version", versions(init_producer_id))
def test_init_producer_id(version):

    async def scenario(cluster):
        await cluster.node.store.connect(6_000)
        client = client_of(cluster)
        answers = [await client.call(init_producer_id.handle, version, transactional_id=None, transaction_timeout=0) for _ in range(2)]
        assert [(one.error_code, one.producer_id, one.producer_epoch) for one in answers] == [(E.NONE, 0, 0), (E.NONE, 1, 0)]
        refused = await client.call(init_producer_id.handle, version, transactional_id="", transaction_timeout=0)
        assert (refused.error_code, refused.producer_id, refused.producer_epoch) == (E.INVALID_REQUEST, -1, -1)
        if version >= 3:
            odd = await client.call(init_producer_id.handle, version, transaction_timeout=0, producer_id=4, producer_epoch=-1)
            assert odd.error_code == E.INVALID_REQUEST

    simulate(scenario)


def test_parked_join_does_not_block_others():
    """Requests of other connections go on while a join waits."""

    async def scenario(cluster):
        await cluster.stable("g")
        client = client_of(cluster)
        parked = asyncio.ensure_future(client.call(join_group.handle, 3, **join_fields(3)))
        await cluster.settle()
        answer = await client.call(describe_groups.handle, 5, groups=["g"])
        assert answer.groups[0].group_state == "PreparingRebalance"
        assert not parked.done()
        parked.cancel()

    simulate(scenario)
