"""`__consumer_offsets` has grown: a group's hash names another partition now, while the group still lives in the old one."""

import pytest

from broker_core.errors import ErrorCode
from broker_core.groups.records import GroupKey, OffsetKey, decode_group_value, decode_key
from broker_core.groups.states import GroupState
from broker_core.model import CONSUMER_OFFSETS, TopicPartition
from tests.support.groups_cluster import PARTITIONS, SESSION_MS, OffsetsCluster, simulate

E = ErrorCode
GROWN = PARTITIONS + 2
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
DAY_MS = 86_400_000


def grow(cluster: OffsetsCluster, group_id: str = "g") -> tuple[int, int]:
    """The group's partition before and after; broker 1 leads both."""
    topic = cluster.brokers[1].topic
    before = topic.partition_for(group_id)
    cluster.describe({CONSUMER_OFFSETS: GROWN})
    after = topic.partition_for(group_id)
    assert before != after < PARTITIONS
    return before, after


def keys(cluster: OffsetsCluster, partition: int) -> list[object]:
    return [decode_key(key) for key, _ in cluster.records(partition)]


def test_group_stores_into_the_partition_it_lives_in():
    """Its members cannot reach it any more; what follows from that belongs behind what was stored before."""

    async def scenario(cluster):
        await cluster.stable("g")
        before, after = grow(cluster)
        await cluster.node.clock.sleep(SESSION_MS + 100)
        assert keys(cluster, after) == []
        key, value = cluster.records(before)[-1]
        assert (decode_key(key), decode_group_value(value).members) == (GroupKey("g"), ())

    simulate(scenario)


def test_what_expires_in_the_old_partition_leaves_the_new_one_alone():
    """The group that its hash finds now begins anew there, as after such growth in Kafka, and keeps what it commits."""

    async def scenario(cluster):
        await cluster.commit("g", {T0: 5, T1: 5})
        before, after = grow(cluster)
        assert cluster.fetch("g") == {}
        await cluster.node.clock.sleep(DAY_MS)
        assert (await cluster.commit("g", {T0: 9}))[T0] is E.NONE
        await cluster.node.clock.sleep(6 * DAY_MS + 1_000_000)
        assert keys(cluster, after) == [OffsetKey("g", T0)]
        assert [value for _, value in cluster.records(before)][-2:] == [None, None]
        for partition in (before, after):
            cluster.elect(partition, 2)
        await cluster.settle()
        assert cluster.fetch("g", broker=2) == {T0: 9}
        assert [one.group_id for one in cluster.brokers[2].list_groups([], [])[1]] == ["g"]

    simulate(scenario)


@pytest.mark.parametrize("group_id", ["g", "h"], ids=["moved to a lower partition", "moved to a higher one"])
def test_group_is_listed_once_and_as_it_is_found(group_id):
    async def scenario(cluster):
        await cluster.stable(group_id)
        grow(cluster, group_id)
        assert (await cluster.commit(group_id, {T0: 9}))[T0] is E.NONE
        assert [(one.group_id, one.state) for one in cluster.brokers[1].list_groups([], [])[1]] == [(group_id, GroupState.EMPTY)]

    simulate(scenario)


def test_another_broker_is_asked_where_the_hash_has_moved_to():
    async def scenario(cluster):
        joined = await cluster.stable("g")
        topic = cluster.brokers[1].topic
        cluster.elect((topic.partition_for("g") + 2) % PARTITIONS, 2)
        await cluster.settle()
        grow(cluster)
        assert cluster.brokers[1].heartbeat("g", joined.member_id, None, 1) is E.NOT_COORDINATOR
        assert cluster.brokers[2].heartbeat("g", joined.member_id, None, 1) is E.UNKNOWN_MEMBER_ID

    simulate(scenario)


def test_broker_that_was_not_told_of_the_topic_yet_takes_no_commits():
    """It leads partitions before it knows how many there are; by the configured number the commit would go where nobody finds it."""

    async def scenario(cluster):
        deleted = tuple(TopicPartition(CONSUMER_OFFSETS, index) for index in range(PARTITIONS))
        cluster.describe({}, deleted=deleted)
        outcome = await cluster.commit("g", {T0: 5})
        assert outcome == {T0: E.NOT_COORDINATOR}
        assert [cluster.records(partition) for partition in range(PARTITIONS)] == [[]] * PARTITIONS
        cluster.describe({CONSUMER_OFFSETS: PARTITIONS})
        assert (await cluster.commit("g", {T0: 5}))[T0] is E.NONE

    simulate(scenario, **{"offsets.topic.num.partitions": "2"})
