"""The coordinator as a whole: two brokers, real logs, virtual time."""

import asyncio
from dataclasses import replace

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups import bounds
from broker_core.groups.group import JOIN_TIMER
from broker_core.groups.messages import LeavingMember, Protocol, ReplySync, StartTimer, SyncResult
from broker_core.groups.records import GroupKey, OffsetKey, decode_group_value, decode_key
from broker_core.groups.states import GroupState
from broker_core.model import TopicPartition
from broker_core.records.batch import HEADER_BYTES
from tests.support.counted import CountedName
from tests.support.groups_cluster import PARTITIONS, SESSION_MS, OffsetsCluster, refusal, simulate

E = ErrorCode
T0, T1, U0, U1 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0), TopicPartition("u", 1)
DAY_MS = 86_400_000


def state_of(cluster: OffsetsCluster, group_id: str = "g", broker: int = 1) -> GroupState:
    return cluster.brokers[broker].describe(group_id).state


@pytest.mark.spec("G2", "G3")
def test_join_sync_commit_fetch():
    """The ordinary life of a consumer."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        assert joined.member_id.startswith("client-")
        assert state_of(cluster) is GroupState.STABLE
        outcome = await cluster.commit("g", {T0: 5, T1: 6}, member_id=joined.member_id, generation=1)
        assert outcome == {T0: E.NONE, T1: E.NONE}
        assert cluster.fetch("g") == {T0: 5, T1: 6}
        summary = cluster.brokers[1].describe("g")
        assert (summary.protocol_type, summary.protocol, summary.members[0].assignment) == ("consumer", "range", b"all")

    simulate(scenario)


def test_records_are_in_the_partition_of_the_groups_hash():
    async def scenario(cluster):
        await cluster.stable("g")
        await cluster.commit("simple", {T0: 9})
        topic = cluster.brokers[1].topic
        keys = {partition: [decode_key(key) for key, _ in cluster.records(partition)] for partition in range(PARTITIONS)}
        assert GroupKey("g") in keys[topic.partition_for("g")]
        assert OffsetKey("simple", T0) in keys[topic.partition_for("simple")]

    simulate(scenario)


@pytest.mark.spec("B19")
def test_failover_with_reload():
    """Another broker takes the partition over; members go on with their generation and offsets, the old broker sends them there."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        await cluster.commit("g", {T0: 5}, member_id=joined.member_id, generation=1)
        partition = cluster.brokers[1].topic.partition_for("g")
        cluster.elect(partition, 2)
        assert cluster.brokers[2].heartbeat("g", joined.member_id, None, 1) is E.NONE
        with pytest.raises(KafkaError) as loading:
            cluster.fetch("g", broker=2)
        assert loading.value.code is E.COORDINATOR_LOAD_IN_PROGRESS
        assert (await cluster.sync("g", joined.member_id, 1, broker=2)).error is E.REBALANCE_IN_PROGRESS
        await cluster.settle()
        assert cluster.fetch("g", broker=2) == {T0: 5}
        assert state_of(cluster, broker=2) is GroupState.STABLE
        assert cluster.brokers[2].heartbeat("g", joined.member_id, None, 1) is E.NONE
        assert (await cluster.sync("g", joined.member_id, 1, broker=2)).assignment == b"all"
        assert cluster.brokers[1].heartbeat("g", joined.member_id, None, 1) is E.NOT_COORDINATOR
        assert (await cluster.commit("g", {T0: 6}, member_id=joined.member_id, generation=1))[T0] is E.NOT_COORDINATOR

    simulate(scenario)


def test_members_that_did_not_survive_the_failover_expire():
    async def scenario(cluster):
        await cluster.stable("g")
        cluster.elect(cluster.brokers[1].topic.partition_for("g"), 2)
        await cluster.node.clock.sleep(SESSION_MS + 100)
        assert state_of(cluster, broker=2) is GroupState.EMPTY

    simulate(scenario)


@pytest.mark.spec("B19")
def test_failover_and_back_reads_what_the_other_wrote():
    """No stale offsets after a failover."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        partition = cluster.brokers[1].topic.partition_for("g")
        cluster.elect(partition, 2)
        await cluster.settle()
        assert (await cluster.commit("g", {T0: 6}, broker=2))[T0] is E.NONE
        cluster.elect(partition, 1)
        await cluster.settle()
        assert cluster.fetch("g") == {T0: 6}

    simulate(scenario)


def test_parked_requests_are_sent_to_the_new_coordinator():
    async def scenario(cluster):
        await cluster.stable("g")
        parked = cluster.begin(cluster.join("g"))
        await cluster.settle()
        assert not parked.done()
        cluster.elect(cluster.brokers[1].topic.partition_for("g"), 2)
        assert (await parked).error is E.NOT_COORDINATOR

    simulate(scenario)


def test_load_that_fails_is_tried_again():
    """Half a load would answer that nothing is committed, and consumers would start over."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        partition = cluster.brokers[1].topic.partition_for("g")
        log = cluster.logs[partition]
        cluster.logs[partition] = None
        cluster.replicas[2].leader_log = lambda tp: failing_once(cluster, partition, log)
        cluster.elect(partition, 2)
        await cluster.settle()
        assert refusal(cluster.brokers[2], "g") is E.COORDINATOR_LOAD_IN_PROGRESS
        await cluster.node.clock.sleep(2000)
        assert cluster.fetch("g", broker=2) == {T0: 5}

    def failing_once(cluster, partition, log):
        if cluster.logs[partition] is None:
            cluster.logs[partition] = log
            raise KafkaError(E.KAFKA_STORAGE_ERROR)
        return log

    simulate(scenario)


def test_large_partition_loads_in_slices_while_others_are_served():
    async def scenario(cluster):
        for number in range(60):
            await cluster.commit("g", {TopicPartition("t", index): number for index in range(50)})
        partition = cluster.brokers[1].topic.partition_for("g")
        cluster.elect(partition, 2)
        turns = 0
        while refusal(cluster.brokers[2], "g") is not E.NONE:
            turns += 1
            await cluster.node.clock.sleep(0)
        assert turns > 5
        assert cluster.fetch("g", broker=2) == {TopicPartition("t", index): 59 for index in range(50)}

    simulate(scenario)


@pytest.mark.spec("G3")
def test_commit_waits_for_its_replicas():
    """Until then it is neither answered nor served, and unstable for those who ask (KIP-447)."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 1})
        cluster.hold = True
        commit = cluster.begin(cluster.commit("g", {T0: 2}))
        await cluster.settle()
        assert not commit.done()
        assert cluster.fetch("g") == {T0: 1}
        fetched = cluster.brokers[1].fetch_offsets("g", [T0], require_stable=True)
        assert fetched[T0].error is E.UNSTABLE_OFFSET_COMMIT
        cluster.release()
        assert (await commit)[T0] is E.NONE
        assert cluster.fetch("g", require_stable=True) == {T0: 2}

    simulate(scenario)


def test_commit_is_finished_without_its_client():
    """A client that goes away during the wait must not leave the offset unstable for ever."""

    async def scenario(cluster):
        cluster.hold = True
        commit = cluster.begin(cluster.commit("g", {T0: 2}))
        await cluster.settle()
        commit.cancel()
        await cluster.settle()
        cluster.release()
        await cluster.settle()
        assert cluster.fetch("g", require_stable=True) == {T0: 2}

    simulate(scenario)


@pytest.mark.parametrize(
    ("append_error", "expected"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.FENCED_LEADER_EPOCH, E.NOT_COORDINATOR),
        (E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_errors_of_a_commits_append(append_error, expected):
    async def scenario(cluster):
        cluster.append_error = append_error
        assert (await cluster.commit("g", {T0: 1}))[T0] is expected
        assert cluster.fetch("g", require_stable=True) == {}

    simulate(scenario)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(E.REQUEST_TIMED_OUT, E.REQUEST_TIMED_OUT), (E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, E.COORDINATOR_NOT_AVAILABLE)],
)
def test_errors_of_a_commits_replication(error, expected):
    async def scenario(cluster):
        cluster.hold = True
        commit = cluster.begin(cluster.commit("g", {T0: 1}))
        await cluster.settle()
        cluster.release(error)
        assert (await commit)[T0] is expected

    simulate(scenario)


@pytest.mark.spec("G2")
@pytest.mark.parametrize(
    ("error", "expected"), [(E.REQUEST_TIMED_OUT, E.REBALANCE_IN_PROGRESS), (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR)]
)
def test_errors_of_a_groups_append(error, expected):
    """An assignment that cannot be stored sends everyone back to joining."""

    async def scenario(cluster):
        joined = await cluster.join("g")
        cluster.hold = True
        sync = cluster.begin(cluster.sync("g", joined.member_id, 1, {joined.member_id: b"x"}))
        await cluster.settle()
        cluster.release(error)
        assert (await sync).error is expected
        assert state_of(cluster) is GroupState.PREPARING_REBALANCE

    simulate(scenario)


@pytest.mark.spec("G2")
def test_commit_during_a_rebalance():
    """Members of the previous generation may still commit while the next one is prepared, not once it has begun."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        newcomer = cluster.begin(cluster.join("g"))
        await cluster.settle()
        assert state_of(cluster) is GroupState.PREPARING_REBALANCE
        assert (await cluster.commit("g", {T0: 5}, member_id=joined.member_id, generation=1))[T0] is E.NONE
        again = await cluster.join("g", joined.member_id)
        assert (again.generation, (await newcomer).generation) == (2, 2)
        assert (await cluster.commit("g", {T0: 6}, member_id=joined.member_id, generation=1))[T0] is E.ILLEGAL_GENERATION
        assert (await cluster.commit("g", {T0: 6}, member_id=joined.member_id, generation=2))[T0] is E.REBALANCE_IN_PROGRESS

    simulate(scenario)


def test_commit_of_an_unknown_group_needs_no_generation():
    async def scenario(cluster):
        assert (await cluster.commit("g", {T0: 1}, member_id="m", generation=3))[T0] is E.ILLEGAL_GENERATION
        assert (await cluster.commit("", {T0: 1}))[T0] is E.NONE
        assert cluster.fetch("") == {T0: 1}

    simulate(scenario)


def test_commit_metadata_has_a_limit():
    """`offset.metadata.max.bytes`: one text that is too long does not fail the other partitions."""

    async def scenario(cluster):
        outcome = await cluster.commit("g", {T0: 1}, metadata="x" * 11)
        assert outcome[T0] is E.OFFSET_METADATA_TOO_LARGE
        assert (await cluster.commit("g", {T0: 1}, metadata="x" * 10))[T0] is E.NONE
        assert (await cluster.commit("g", {T0: 1}, metadata="\U0001f40d" * 5))[T0] is E.NONE
        assert (await cluster.commit("g", {T0: 1}, metadata="\U0001f40d" * 5 + "x"))[T0] is E.OFFSET_METADATA_TOO_LARGE

    simulate(scenario, **{"offset.metadata.max.bytes": "10"})


def test_commit_metadata_that_no_record_could_carry():
    async def scenario(cluster):
        assert (await cluster.commit("g", {T0: 1}, metadata="é" * 16_384))[T0] is E.OFFSET_METADATA_TOO_LARGE
        assert (await cluster.commit("g", {T0: 1}, metadata="é" * 16_383))[T0] is E.NONE

    simulate(scenario, **{"offset.metadata.max.bytes": "100000"})


def test_session_timeouts_have_limits():
    async def scenario(cluster):
        for session_ms in (5_999, 1_800_001):
            assert (await cluster.join("g", session_timeout_ms=session_ms)).error is E.INVALID_SESSION_TIMEOUT
        with pytest.raises(KafkaError):
            assert state_of(cluster, "h" * 40_000)

    simulate(scenario)


@pytest.mark.parametrize("instance_id", ["", ".", "..", "a/b", "ä", "x" * 250])
def test_instance_ids_must_be_legal(instance_id):
    async def scenario(cluster):
        assert (await cluster.join("g", instance_id=instance_id)).error is E.INVALID_CONFIG

    simulate(scenario)


def test_texts_no_record_could_carry_are_refused():
    async def scenario(cluster):
        long = "x" * 40_000
        assert (await cluster.join(long)).error is E.INVALID_GROUP_ID
        assert (await cluster.join("g", client_id=long)).error is E.INVALID_REQUEST
        assert (await cluster.join("g", protocols=(Protocol(long, b""),))).error is E.INVALID_REQUEST
        assert (await cluster.join("g", client_id="y" * 30_000)).error is E.NONE

    simulate(scenario)


def test_group_id_is_needed_where_members_are():
    async def scenario(cluster):
        coordinator = cluster.brokers[1]
        assert (await cluster.join("")).error is E.INVALID_GROUP_ID
        assert (await cluster.sync("", "m", 1)).error is E.INVALID_GROUP_ID
        assert coordinator.heartbeat("", "m", None, 1) is E.INVALID_GROUP_ID
        assert coordinator.leave("", [LeavingMember("m")]) == (E.INVALID_GROUP_ID, [])
        assert coordinator.describe("").state is GroupState.DEAD

    simulate(scenario)


def test_number_of_groups_is_bounded(monkeypatch):
    async def scenario(cluster):
        assert (await cluster.commit("a", {T0: 1}))[T0] is E.NONE
        assert (await cluster.commit("b", {T0: 1}))[T0] is E.POLICY_VIOLATION
        assert (await cluster.join("b")).error is E.POLICY_VIOLATION
        assert (await cluster.commit("a", {T0: 2}))[T0] is E.NONE

    monkeypatch.setattr(bounds, "MAX_GROUPS", 1)
    simulate(scenario)


def test_unknown_groups():
    async def scenario(cluster):
        coordinator = cluster.brokers[1]
        assert (await cluster.join("g", "member")).error is E.UNKNOWN_MEMBER_ID
        assert (await cluster.sync("g", "m", 1)).error is E.UNKNOWN_MEMBER_ID
        assert coordinator.heartbeat("g", "m", None, 1) is E.UNKNOWN_MEMBER_ID
        assert coordinator.leave("g", [LeavingMember("m")])[1][0].error is E.UNKNOWN_MEMBER_ID
        assert coordinator.describe("g").state is GroupState.DEAD
        assert coordinator.fetch_offsets("g", [T0])[T0].offset == -1
        assert await coordinator.delete(["g"]) == {"g": E.GROUP_ID_NOT_FOUND}
        with pytest.raises(KafkaError) as missing:
            await coordinator.delete_offsets("g", [T0])
        assert missing.value.code is E.GROUP_ID_NOT_FOUND
        assert cluster.brokers[2].leave("g", [LeavingMember("m")]) == (E.NOT_COORDINATOR, [])

    simulate(scenario)


def test_list_groups_by_state_and_type():
    async def scenario(cluster):
        await cluster.stable("s")
        await cluster.commit("e", {T0: 1})
        coordinator = cluster.brokers[1]
        assert sorted(row.group_id for row in coordinator.list_groups([], [])[1]) == ["e", "s"]
        assert [row.group_id for row in coordinator.list_groups(["stable"], ["Classic"])[1]] == ["s"]
        assert coordinator.list_groups([], ["consumer"]) == (E.NONE, [])
        cluster.elect(0, 2)
        assert cluster.brokers[2].list_groups([], [])[0] is E.COORDINATOR_LOAD_IN_PROGRESS

    simulate(scenario)


def test_list_groups_by_many_states_looks_each_up():
    async def scenario(cluster):
        for number in range(100):
            await cluster.commit(f"g{number}", {T0: 5})
        CountedName.compared = 0
        names = [CountedName(f"state-{number}") for number in range(100)]
        assert cluster.brokers[1].list_groups(names, names) == (E.NONE, [])
        assert len(cluster.brokers[1].list_groups([*names, "empty"], [])[1]) == 100
        assert CountedName.compared < 1000

    simulate(scenario)


@pytest.mark.spec("G3")
def test_delete_group_leaves_tombstones():
    """After a reload the group is still gone."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        await cluster.commit("g", {T0: 5}, member_id=joined.member_id, generation=1)
        coordinator = cluster.brokers[1]
        assert await coordinator.delete(["g"]) == {"g": E.NON_EMPTY_GROUP}
        coordinator.leave("g", [LeavingMember(joined.member_id)])
        assert await coordinator.delete(["g", "g"]) == {"g": E.NONE}
        assert state_of(cluster) is GroupState.DEAD
        partition = coordinator.topic.partition_for("g")
        last = dict(cluster.records(partition))
        assert [(decode_key(key), value) for key, value in last.items()] == [(GroupKey("g"), None), (OffsetKey("g", T0), None)]
        cluster.elect(partition, 2)
        await cluster.settle()
        assert cluster.brokers[2].list_groups([], []) == (E.NONE, [])

    simulate(scenario)


def test_delete_group_that_cannot_be_written_changes_nothing():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        cluster.append_error = E.NOT_ENOUGH_REPLICAS
        assert await cluster.brokers[1].delete(["g"]) == {"g": E.COORDINATOR_NOT_AVAILABLE}
        assert cluster.fetch("g") == {T0: 5}

    simulate(scenario)


def test_delete_group_during_a_commit():
    """The commit's record must not come back to life: its tombstone is behind it."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        cluster.hold = True
        commit = cluster.begin(cluster.commit("g", {T1: 6}))
        await cluster.settle()
        delete = cluster.begin(cluster.brokers[1].delete(["g"]))
        await cluster.settle()
        cluster.release()
        assert (await commit, await delete) == ({T1: E.NONE}, {"g": E.NONE})
        partition = cluster.brokers[1].topic.partition_for("g")
        cluster.elect(partition, 2)
        await cluster.settle()
        assert state_of(cluster, broker=2) is GroupState.DEAD

    simulate(scenario)


def test_delete_offsets_spares_subscribed_topics():
    async def scenario(cluster):
        joined = await cluster.stable("g")
        await cluster.commit("g", {T0: 5, U0: 6}, member_id=joined.member_id, generation=1)
        outcome = await cluster.brokers[1].delete_offsets("g", [T0, U0])
        assert outcome == {T0: E.GROUP_SUBSCRIBED_TO_TOPIC, U0: E.NONE}
        assert cluster.fetch("g") == {T0: 5}

    simulate(scenario)


def test_delete_offsets_of_an_active_group_of_another_type():
    async def scenario(cluster):
        await cluster.join("g", protocol_type="connect")
        with pytest.raises(KafkaError) as refused:
            await cluster.brokers[1].delete_offsets("g", [T0])
        assert refused.value.code is E.NON_EMPTY_GROUP

    simulate(scenario)


def test_deleting_the_last_offset_of_an_empty_group_ends_it():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        assert await cluster.brokers[1].delete_offsets("g", [T0, T1]) == {T0: E.NONE, T1: E.NONE}
        assert state_of(cluster) is GroupState.DEAD

    simulate(scenario)


def test_offsets_of_deleted_topics_are_removed():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5, U0: 6})
        cluster.describe({}, deleted=(U0,))
        assert cluster.fetch("g") == {T0: 5}
        partition = cluster.brokers[1].topic.partition_for("g")
        assert (decode_key(cluster.records(partition)[-1][0]), cluster.records(partition)[-1][1]) == (OffsetKey("g", U0), None)

    simulate(scenario)


def test_offsets_of_a_topic_deleted_during_their_commit_are_removed():
    """A topic made anew under that name would be read from where the old one was."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        cluster.hold = True
        committing = cluster.begin(cluster.commit("g", {T0: 6, U0: 7}))
        await cluster.settle()
        cluster.describe({}, deleted=(U0,))
        cluster.release()
        await committing
        assert cluster.fetch("g") == {T0: 6}
        partition = cluster.brokers[1].topic.partition_for("g")
        assert (decode_key(cluster.records(partition)[-1][0]), cluster.records(partition)[-1][1]) == (OffsetKey("g", U0), None)

    simulate(scenario)


def test_nothing_is_kept_of_groups_and_topics_that_have_gone():
    """Tools make groups of their own names by the thousand."""

    async def scenario(cluster):
        shards = {group_id: cluster.brokers[1].runtime.shard_for(group_id) for group_id in ("deleted", "kept")}
        await cluster.commit("deleted", {T0: 5, U0: 5})
        assert await cluster.brokers[1].delete(["deleted"]) == {"deleted": E.NONE}
        assert shards["deleted"].groups._by_topic == {}
        await cluster.commit("kept", {T0: 5, U0: 5})
        cluster.describe({}, deleted=(U0,))
        assert shards["kept"].groups._by_topic == {"t": {"kept": None}}
        cluster.hold = True
        failing = cluster.begin(cluster.commit("kept", {U1: 7}))
        await cluster.settle()
        assert list(shards["kept"].groups._by_topic) == ["t", "u"]
        cluster.release(E.REQUEST_TIMED_OUT)
        await failing
        assert list(shards["kept"].groups._by_topic) == ["t"]
        cluster.hold = True
        moved = cluster.begin(cluster.commit("kept", {U1: 7}))
        await cluster.settle()
        for partition in range(PARTITIONS):
            cluster.elect(partition, 2)
        cluster.release()
        await moved
        assert shards["kept"].groups._by_topic == {}

    simulate(scenario)


def test_batch_that_cannot_be_read_costs_only_its_own_offsets():
    """The partition's groups would be loading for ever."""

    async def scenario(cluster):
        for number in range(3):
            await cluster.commit("g", {TopicPartition("t", number): 5})
        partition = cluster.brokers[1].topic.partition_for("g")
        part = cluster.logs[partition].read(1, 1, 2, True)
        part.records.file.pwrite(part.records.position + HEADER_BYTES, b"\xff" * (part.records.length - HEADER_BYTES))
        cluster.elect(partition, 2)
        await cluster.settle()
        assert cluster.fetch("g", broker=2) == {T0: 5, TopicPartition("t", 2): 5}

    simulate(scenario)


@pytest.mark.spec("G3")
def test_retention_of_a_group_that_became_empty():
    """Seven days after the last member left, offsets and group are gone, with tombstones."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        await cluster.commit("g", {T0: 5}, member_id=joined.member_id, generation=1)
        await cluster.node.clock.sleep(SESSION_MS + 1)
        assert state_of(cluster) is GroupState.EMPTY
        await cluster.node.clock.sleep(7 * DAY_MS - 700_000)
        assert cluster.fetch("g") == {T0: 5}
        await cluster.node.clock.sleep(1_400_000)
        assert state_of(cluster) is GroupState.DEAD
        last = dict(cluster.records(cluster.brokers[1].topic.partition_for("g")))
        assert list(last.values()) == [None, None]

    simulate(scenario)


def test_retention_goes_on_after_a_failover():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        await cluster.node.clock.sleep(6 * DAY_MS)
        cluster.elect(cluster.brokers[1].topic.partition_for("g"), 2)
        await cluster.node.clock.sleep(DAY_MS - 700_000)
        assert cluster.fetch("g", broker=2) == {T0: 5}
        await cluster.node.clock.sleep(1_400_000)
        assert cluster.fetch("g", broker=2) == {}

    simulate(scenario)


def test_commit_with_its_own_retention():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5})
        await cluster.commit("g", {T1: 5}, expire_ms=cluster.node.clock.now_ms() + 60_000)
        await cluster.node.clock.sleep(700_000)
        assert cluster.fetch("g") == {T0: 5}

    simulate(scenario)


def test_commits_with_their_own_retention_do_not_put_off_what_expires():
    async def scenario(cluster):
        await cluster.commit("g", {T0: 5}, expire_ms=cluster.node.clock.now_ms() + 60_000)
        for _ in range(20):
            await cluster.node.clock.sleep(60_000)
            await cluster.commit("g", {T1: 6}, expire_ms=cluster.node.clock.now_ms() + 3_600_000)
        assert cluster.fetch("g") == {T1: 6}

    simulate(scenario)


def test_group_nobody_completed_joining_is_forgotten():
    """Groups that only a refused or unfinished join has made do not stay."""

    async def scenario(cluster):
        assert (await cluster.join("g", requires_member_id=True)).error is E.MEMBER_ID_REQUIRED
        await cluster.node.clock.sleep(700_000)
        assert cluster.brokers[1].list_groups([], []) == (E.NONE, [])

    simulate(scenario)


@pytest.mark.spec("P2", "P3")
def test_timers_wait_in_purgatories():
    """A heartbeat completes the operation that waits for the member's silence."""

    async def scenario(cluster):
        joined = await cluster.stable("g")
        timers = cluster.brokers[1].timers
        before = timers.heartbeats.delayed
        for _ in range(20):
            assert cluster.brokers[1].heartbeat("g", joined.member_id, None, 1) is E.NONE
        assert timers.heartbeats.delayed == before == 1
        assert timers.heartbeats.watched == 1
        assert timers.rebalances.delayed == 0

    simulate(scenario)


def test_closed_coordinator_answers_everything():
    async def scenario(cluster):
        await cluster.stable("g")
        parked = cluster.begin(cluster.join("g"))
        await cluster.settle()
        coordinator = cluster.brokers[1]
        coordinator.close()
        assert (await parked).error is E.NOT_COORDINATOR
        assert (await cluster.join("g")).error is E.COORDINATOR_NOT_AVAILABLE
        assert coordinator.list_groups([], []) == (E.COORDINATOR_NOT_AVAILABLE, [])
        assert coordinator.timers.heartbeats.delayed == 0

    simulate(scenario)


def test_stored_generation_names_the_present_members():
    async def scenario(cluster):
        first = await cluster.stable("g")
        second = cluster.begin(cluster.join("g"))
        await cluster.settle()
        again = await cluster.join("g", first.member_id)
        await cluster.sync("g", first.member_id, 2, {first.member_id: b"1", (await second).member_id: b"2"})
        partition = cluster.brokers[1].topic.partition_for("g")
        value = decode_group_value(dict(cluster.records(partition))[b"\x00\x02\x00\x01g"])
        assert (value.generation, value.leader, {member.assignment for member in value.members}) == (2, again.leader, {b"1", b"2"})

    simulate(scenario)


def test_group_loaded_with_too_many_members_rebalances():
    """`group.max.size` may have become smaller since the generation was stored."""

    async def scenario(cluster):
        first = await cluster.stable("g")
        second = cluster.begin(cluster.join("g"))
        await cluster.settle()
        await cluster.join("g", first.member_id)
        await cluster.sync("g", first.member_id, 2, {first.member_id: b"1", (await second).member_id: b"2"})
        cluster.config.current = replace(cluster.config.current, group_max_size=1)
        cluster.elect(cluster.brokers[1].topic.partition_for("g"), 2)
        await cluster.settle()
        assert state_of(cluster, broker=2) is GroupState.PREPARING_REBALANCE
        again = await cluster.join("g", first.member_id, broker=2)
        refused = await cluster.join("g", (await second).member_id, broker=2)
        assert (again.error, refused.error) == (E.NONE, E.GROUP_MAX_SIZE_REACHED)

    simulate(scenario)


def test_members_change_when_the_offsets_of_an_empty_group_expire():
    """A group's offsets are looked at by its present state, not by the one it had when the look was planned."""

    async def scenario(cluster):
        cluster.session_ms = DAY_MS
        joined = await cluster.stable("g")
        await cluster.commit("g", {T0: 1, U0: 1}, member_id=joined.member_id, generation=1)
        await live(cluster, joined, 5)
        cluster.brokers[1].leave("g", [LeavingMember(joined.member_id)])
        await cluster.node.clock.sleep(1_000_000)
        joined = await cluster.stable("g")
        await live(cluster, joined, 3)
        assert cluster.fetch("g") == {T0: 1}

    async def live(cluster, joined, days):
        for _ in range(days * 48):
            await cluster.node.clock.sleep(DAY_MS / 48)
            cluster.brokers[1].heartbeat("g", joined.member_id, None, joined.generation)

    simulate(scenario, **{"group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "90000000"})


def test_effects_keep_their_order():
    """A timer of 0 ms rings while effects are carried out; what follows from it comes after them."""

    async def scenario(cluster):
        await cluster.stable("g")
        parked = cluster.begin(cluster.join("g"))
        await cluster.settle()
        shard = cluster.brokers[1].runtime.shard_for("g")
        group = shard.groups.by_id["g"]
        at_once = StartTimer(JOIN_TIMER, group.timers[JOIN_TIMER], 0)
        order = []
        later = asyncio.get_running_loop().create_future()
        later.add_done_callback(lambda _: order.append("effect of the earlier event"))
        parked.add_done_callback(lambda _: order.append("effect of the timer"))
        shard.carry_out(group, [at_once, ReplySync(later, SyncResult(E.NONE))])
        await parked
        await cluster.settle()
        assert order == ["effect of the earlier event", "effect of the timer"]

    simulate(scenario)


def test_watchers_are_told_of_changes():
    """The state feed sees states, members and offsets of groups as they change, and groups that go."""

    async def scenario(cluster):
        told = []
        stop = cluster.brokers[1].watch_changes(told.append)
        joined = await cluster.stable("g")
        assert told
        told.clear()
        cluster.brokers[1].heartbeat("g", joined.member_id, None, 1)
        assert told == []
        await cluster.commit("g", {U0: 5}, member_id=joined.member_id, generation=1)
        assert told == ["g"]
        await cluster.brokers[1].delete_offsets("g", [U0])
        assert told == ["g", "g"]
        cluster.elect(cluster.brokers[1].topic.partition_for("g"), 2)
        assert told == ["g", "g", "g"]
        stop()
        await cluster.commit("h", {T0: 5})
        assert told == ["g", "g", "g"]

    simulate(scenario)
