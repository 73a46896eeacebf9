"""The state feed of whole brokers, read by its client (spec R2, R3, G3 as the console sees them)."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.client.request import BrokerChannel
from broker_core.contract.feed import Answer, LeaderEpoch
from broker_core.errors import ErrorCode, KafkaError
from broker_core.groups.states import GroupState
from broker_core.model import TopicPartition
from broker_core.protocol.api import ApiKey
from broker_core.records.batch import Record, build_batch
from broker_core.seams import Node
from broker_core.storage.log import AppendOrigin
from broker_core.telemetry.feed_client import FeedClient
from broker_core.telemetry.old_requests import KEPT, OldRequests, Sender
from broker_core.telemetry.source import _group as group_row
from broker_core.telemetry.source import assigned_partitions
from tests.support.broker_cluster import PORT, BrokerCluster
from tests.support.groups_cluster import refusal


def batches(cluster: BrokerCluster, broker_id: int, count: int, **options: Any) -> list[Answer]:
    """The first `count` batches of one broker."""

    async def read(node: Node) -> list[Answer]:
        client = FeedClient(f"b{broker_id}", PORT, network=node.network, clock=node.clock, **options)
        found: list[Answer] = []
        async for batch in client.batches():
            found.append(batch)
            if len(found) == count:
                break
        await client.close()
        return found

    return cluster.world.run("client", read)


def gauges_of(cluster: BrokerCluster, broker_id: int) -> dict[str, float]:
    return {name: value for name, _, value in cluster.brokers[broker_id].gauges()}


def test_assignments_are_told_within_a_limit() -> None:
    """They are bytes of the clients' own making: millions of partitions held the broker up, and whoever watches it."""
    one = struct.pack(">hih1si", 0, 1, 1, b"t", 1) + struct.pack(">i", 3)
    flood = struct.pack(">hih1si", 0, 1, 1, b"t", 250_000) + bytes(1_000_000)
    members = [
        SimpleNamespace(member_id=str(n), client_id="c", client_host="h", instance_id=None, assignment=data)
        for n, data in enumerate([one, flood, one])
    ]
    group: Any = SimpleNamespace(
        group_id="g",
        state=GroupState.STABLE,
        protocol_type="consumer",
        protocol_name="range",
        generation=1,
        members=SimpleNamespace(all=lambda: members),
        offsets=(),
    )
    assert [member.assignment for member in group_row(group, 0, 1).members] == [{"t": [3]}, None, {"t": [3]}]


@pytest.mark.spec("R2", "R3")
def test_a_leader_tells_its_followers() -> None:
    """LEO and HW of every replica, and why one is out of the ISR."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "a", "b")
        leader = cluster.leader("t")
        dead = next(broker for broker in cluster.ids if broker not in (leader, cluster.controller()))
        (full,) = batches(cluster, leader, 1)
        (row,) = [row for row in full.partitions if row.topic == "t"]
        assert (row.role, row.leader, row.leader_epoch) == ("leader", leader, 0)
        assert (row.log_end_offset, row.high_watermark) == (2, 2)
        assert sorted(row.isr) == [1, 2, 3]
        assert [follower.log_end_offset for follower in row.followers] == [2, 2]
        cluster.kill(dead)
        cluster.until(lambda: len(cluster.isr(leader, "t")) == 2)
        (full,) = batches(cluster, leader, 1, topics=["t"])
        (follower,) = [follower for follower in full.partitions[0].followers if not follower.in_isr]
        assert (follower.broker_id, follower.reason) == (dead, "dead")


@pytest.mark.spec("N1")
def test_the_stages_of_requests_are_told() -> None:
    """An acks=all produce waits for its followers, and that is no work of the loop."""
    with BrokerCluster() as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "a", "b")
        (full,) = batches(cluster, cluster.leader("t"), 1)
        produces = full.broker.requests["Produce"]
        stages = produces.stages_ms
        assert stages.remote == stages.total > 0
        assert [stages.request_queue, stages.local, stages.response_send] == [0, 0, 0], "simulated loops take no time"


def test_a_batch_follows_each_change() -> None:
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.world.scheduler.call_later_ms(3_000, lambda: _append(cluster))
        found = batches(cluster, 1, 8)
        assert found[0].kind == "full" and not any(batch.kind == "full" for batch in found[1:])
        ends = [row.log_end_offset for batch in found for row in batch.partitions if row.topic == "t"]
        assert ends[0] == 0
        assert ends[-1] == 1


def _append(cluster: BrokerCluster) -> None:
    data = build_batch([Record(0, 1_000, None, b"x", ())])
    replicas = cluster.brokers[1].services.replicas
    cluster.world.life("b1").loop.call_soon(replicas.appending.append_now, TopicPartition("t", 0), data, AppendOrigin.CLIENT)


@pytest.mark.spec("G3")
def test_groups_and_their_offsets() -> None:
    """What a group has committed is told by its coordinator."""
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.ask(1, ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
        cluster.until(lambda: all(cluster.leads("__consumer_offsets", partition) for partition in range(3)))
        commit = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
        payload = {
            "group_id": "g",
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": "t", "partitions": [commit]}],
        }
        cluster.until(lambda: refusal(cluster.brokers[1].services.groups, "g") is ErrorCode.NONE)
        cluster.ask(1, ApiKey.OFFSET_COMMIT, 8, payload)
        (full,) = batches(cluster, 1, 1)
        (group,) = full.groups
        assert group.home in range(50) and group.epoch == 0
        assert (group.group, group.state, group.members) == ("g", "Empty", ())
        assert [(row.topic, row.partition, row.offset) for row in group.offsets] == [("t", 0, 5)]


@pytest.mark.spec("P2", "G2")
def test_the_purgatories_of_groups_are_told() -> None:
    """A rebalance waits for its members under `join`, a member's session under `heartbeat`."""
    join = {"group_id": "g", "member_id": "", "session_timeout": 20_000, "rebalance_timeout": 60_000, "protocol_type": "consumer"}
    join |= {"protocols": [{"name": "range", "metadata": b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"}]}

    async def become_member(channel: BrokerChannel) -> None:
        joined = await channel.request(ApiKey.JOIN_GROUP, 3, join, 30_000)
        me = {"group_id": "g", "member_id": joined.member_id, "generation_id": joined.generation_id}
        synced = await channel.request(ApiKey.SYNC_GROUP, 3, {**me, "assignments": []}, 30_000)
        assert synced.error_code == ErrorCode.NONE

    async def told(node: Node) -> list[tuple[int, int]]:
        channel = BrokerChannel(node, "b1", PORT, "test")
        joining = node.spawn(become_member(channel), name="join")
        feed = FeedClient("b1", PORT, network=node.network, clock=node.clock)
        sizes: list[tuple[int, int]] = []
        async for batch in feed.batches():
            sizes.append((batch.broker.purgatory.join, batch.broker.purgatory.heartbeat))
            assert sum(sum(wheel.slots) for wheel in batch.broker.timing_wheels) >= sum(sizes[-1]), "each has its deadline"
            if joining.done():
                break
        await feed.close()
        channel.close()
        return sizes

    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.ask(1, ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
        cluster.until(lambda: all(cluster.leads("__consumer_offsets", partition) for partition in range(3)))
        cluster.until(lambda: refusal(cluster.brokers[1].services.groups, "g") is ErrorCode.NONE)
        sizes = cluster.world.run("client", told)
        gauges = gauges_of(cluster, 1)
        cluster.until(lambda: gauges_of(cluster, 1)["heartbeat_purgatory_expired_total"] == 1)
        (told_then,) = batches(cluster, 1, 1)
    assert told_then.broker.purgatory_expired.heartbeat == 1, "the member's session has ended"
    assert (1, 1) in sizes, "the first member waits for others"
    assert sizes[-1] == (0, 1), "a member must be heard of"
    assert (gauges["join_purgatory_size"], gauges["heartbeat_purgatory_size"]) == sizes[-1]


@pytest.mark.spec("R6")
def test_the_leader_tells_which_epochs_wrote_its_log() -> None:
    with BrokerCluster(brokers=2, **{"min.insync.replicas": "1"}) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.produce("t", "a", "b")
        first = cluster.leader("t")
        cluster.kill(first)
        cluster.until(lambda: cluster.known_leader("t") == 3 - first)
        cluster.produce("t", "c")
        (told,) = batches(cluster, 3 - first, 1)
        cluster.start(first)
        cluster.until(lambda: len(cluster.isr(3 - first, "t")) == 2)
        (of_the_follower,) = batches(cluster, first, 1)
    assert [row.epochs for row in told.partitions] == [(LeaderEpoch(0, 0), LeaderEpoch(row.leader_epoch, 2)) for row in told.partitions]
    assert [row.epochs for row in of_the_follower.partitions] == [()]


@pytest.mark.spec("Z3", "O1")
def test_only_the_controller_tells_what_is_before_it() -> None:
    """A topic whose deletion waits for a dead broker, and the requests that each live one has not carried out yet."""
    with BrokerCluster(brokers=3) as cluster:
        cluster.start_all()
        cluster.create("t", 2)
        controller = cluster.controller()
        dead, alive = (broker_id for broker_id in (1, 2, 3) if broker_id != controller)
        cluster.kill(dead)
        cluster.until(lambda: len(cluster.brokers[controller].services.metadata.live_brokers()) == 2)
        asked = {"topics": [{"name": "t", "topic_id": None}], "topic_names": ["t"], "timeout": 1_000}
        cluster.ask(controller, ApiKey.DELETE_TOPICS, 5, asked)
        cluster.until(lambda: gauges_of(cluster, controller)["topics_ineligible_to_delete_count"] == 1)
        (told,), (of_another,) = batches(cluster, controller, 1), batches(cluster, alive, 1)
        assert "topics_to_delete_count" not in gauges_of(cluster, alive)
    assert of_another.broker.controller is None
    assert told.broker.controller is not None
    assert (told.broker.controller.topics_to_delete, told.broker.controller.topics_ineligible_to_delete) == (1, 1)
    assert set(told.broker.controller.requests_waiting) == {controller, alive}


def test_requests_that_kafka_4_takes_no_more_are_told_by_client() -> None:
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        for version in (1, 1, 5):
            cluster.ask(1, ApiKey.METADATA, version, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False})
        (told,) = batches(cluster, 1, 1)
    (row,) = told.broker.old_requests
    assert (row.api, row.api_version, row.software, row.count) == ("Metadata", 1, "unknown", 2)
    assert row.host
    assert row.last_ms > 0


def test_of_too_many_old_clients_the_most_silent_are_forgotten() -> None:
    old = OldRequests()
    for number in (*range(KEPT), 0, KEPT):
        old.note(Sender("Fetch", 3, "unknown", "unknown", f"client-{number}"), "host", number)
    assert len(list(old.rows())) == KEPT
    assert {seen.count for sender, seen in old.rows() if sender.client_id == "client-0"} == {2}
    assert "client-1" not in {sender.client_id for sender, _ in old.rows()}


def test_checkpoints_that_wait_are_told_by_how_late_they_are() -> None:
    """Whatever keeps them: here somebody holds the turn, as a disk that does not answer would."""
    with BrokerCluster(brokers=1) as cluster:
        cluster.start_all()
        cluster.create("t")
        cluster.world.run_for(300_000)
        (told,) = batches(cluster, 1, 1)
        assert told.broker.log_dir.checkpoints_late_s == 0
        (folder,) = cluster.brokers[1].services.logs.folders.all
        cluster.world.run("client", lambda node: folder._writing.acquire())
        cluster.world.run_for(400_000)
        (told,) = batches(cluster, 1, 1)
    late_s = told.broker.log_dir.checkpoints_late_s
    assert late_s is not None
    assert 300 < late_s <= 400


def test_too_many_watchers_are_refused() -> None:
    with BrokerCluster(brokers=1, **{"highwater.watch.max.clients": "0"}) as cluster:
        cluster.start_all()
        with pytest.raises(KafkaError) as caught:
            batches(cluster, 1, 1)
        assert caught.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_assignments_of_consumers() -> None:
    data = b"\0\1" + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\2" + b"\0\0\0\3\0\0\0\4" + b"\xff\xff\xff\xff"
    assert assigned_partitions(data) == {"t": [3, 4]}
    assert assigned_partitions(b"") == {}
    assert assigned_partitions(data[:9]) is None
