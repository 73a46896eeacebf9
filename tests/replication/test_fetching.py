"""What a fetch gets and when it is answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from broker_core.errors import ErrorCode
from broker_core.protocol.hot_fetch import FetchPartitionResult
from broker_core.records.batch import Record, build_batch
from broker_core.replication.serving.fetch_params import FetchParams
from broker_core.replication.serving.fetch_session import Reply, WantedPartition
from broker_core.replication.serving.replica_selector import RACK_AWARE, RANDOM
from broker_core.seams import FileRange
from tests.support.replica_world import TOPIC_ID, TP, MiniBroker, ReplicaWorld, append_batch, decode_values

Pending = Callable[[], Reply | None]
NOW = FetchParams(version=12, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
PATIENT = replace(NOW, max_wait_ms=5_000)


def want(offset: int = 0, **changes: int) -> WantedPartition:
    return WantedPartition("t", None, 0, offset, changes.pop("max_bytes", 1 << 20), **changes)


def fetched(cluster: ReplicaWorld, broker_id: int, params: FetchParams, *wanted: WantedPartition) -> FetchPartitionResult:
    reply = cluster.on(broker_id, lambda broker: broker.replicas.fetch(params, list(wanted)))
    assert reply.error_code is ErrorCode.NONE
    return reply.answers[0].result


def begin(cluster: ReplicaWorld, broker_id: int, params: FetchParams, *wanted: WantedPartition) -> Callable[[], Reply | None]:
    broker = cluster.brokers[broker_id]
    return cluster.world.spawn(f"b{broker_id}", lambda node: broker.replicas.fetch(params, list(wanted)))


def values(result: FetchPartitionResult) -> list[str]:
    data = b"".join(part.file.pread(part.position, part.length) for part in result.records if isinstance(part, FileRange))
    assert len(data) == result.records_bytes
    return decode_values(data)


def cut_off_leader() -> ReplicaWorld:
    """Leader 1 with a committed and an uncommitted record; its followers cannot reach it."""
    cluster = ReplicaWorld()
    cluster.create()
    cluster.produce(1, "committed")
    cluster.until(cluster.caught_up)
    cluster.world.cut("b1", "b2")
    cluster.world.cut("b1", "b3")
    cluster.produce(1, "open", acks=1)
    return cluster


@pytest.mark.spec("R2")
def test_consumers_read_below_the_mark_followers_to_the_end() -> None:
    with cut_off_leader() as cluster:
        consumer = fetched(cluster, 1, NOW, want())
        assert (values(consumer), consumer.high_watermark, consumer.last_stable_offset) == (["committed"], 1, 1)
        follower = fetched(cluster, 1, replace(NOW, replica_id=2), want(1, current_leader_epoch=0, last_fetched_epoch=0))
        assert values(follower) == ["open"]
        assert fetched(cluster, 1, NOW, want(1)).records_bytes == 0
        assert fetched(cluster, 1, NOW, want(5)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_read_committed_stops_at_an_open_transaction() -> None:
    with ReplicaWorld(overrides={"transaction.partition.verification.enable": "false"}) as cluster:
        cluster.create()
        cluster.produce(1, "plain")

        async def transactional(broker: MiniBroker) -> None:
            batch = build_batch(
                [Record(0, 1, None, b"tx", ())], timestamp_ms=1, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True
            )
            await append_batch(broker, batch)

        cluster.on(1, transactional)
        uncommitted = fetched(cluster, 1, NOW, want(1))
        assert values(uncommitted) == ["tx"]
        committed = fetched(cluster, 1, replace(NOW, read_committed=True), want(1))
        assert (committed.records_bytes, committed.high_watermark, committed.last_stable_offset) == (0, 2, 1)


@pytest.mark.spec("P1")
def test_a_fetch_waits_for_data() -> None:
    """Answered when an append gives it something, long before its time is over."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        waiting = begin(cluster, 1, PATIENT, want(1))
        cluster.settle(1_000)
        assert waiting() is None
        cluster.produce(1, "b")
        cluster.settle(1)
        reply = waiting()
        assert reply is not None
        assert values(reply.answers[0].result) == ["b"]


def test_a_fetch_waits_for_its_least_bytes_or_the_end_of_its_time() -> None:
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        waiting = begin(cluster, 1, replace(PATIENT, min_bytes=250), want(0))
        cluster.produce(1, "b")
        cluster.settle(100)
        assert waiting() is None
        cluster.produce(1, "c")
        cluster.produce(1, "d")
        cluster.settle(1)
        reply = waiting()
        assert reply is not None
        assert values(reply.answers[0].result) == ["a", "b", "c", "d"]
        late = begin(cluster, 1, replace(PATIENT, min_bytes=100_000), want(0))
        cluster.settle(4_900)
        assert late() is None
        cluster.settle(200)
        reply = late()
        assert reply is not None
        assert len(values(reply.answers[0].result)) == 4


@pytest.mark.spec("P1")
def test_answered_at_once() -> None:
    """Nothing named, an error, a divergence, or enough bytes."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        assert cluster.on(1, lambda broker: broker.replicas.fetch(PATIENT, [])).answers == []
        assert values(fetched(cluster, 1, PATIENT, want(0))) == ["a"]
        assert fetched(cluster, 1, PATIENT, replace(want(0), topic="nobody")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        diverging = fetched(cluster, 1, PATIENT, want(5, last_fetched_epoch=0))
        assert (diverging.diverging, diverging.records_bytes) == ((0, 1), 0)


def test_a_waiting_fetch_hears_of_a_new_leader() -> None:
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        waiting = begin(cluster, 1, replace(PATIENT, version=10), want(1))
        cluster.settle(100)
        cluster.elect(leader=2, isr=(1, 2, 3))
        cluster.settle(1)
        reply = waiting()
        assert reply is not None
        assert reply.answers[0].result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert reply.answers[0].result.current_leader == (2, 1)


@pytest.mark.spec("B3")
def test_epochs_are_fenced() -> None:
    """KIP-320."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.elect(leader=1, isr=(1, 2, 3))
        assert fetched(cluster, 1, NOW, want(0, current_leader_epoch=0)).error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert fetched(cluster, 1, NOW, want(0, current_leader_epoch=2)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert fetched(cluster, 1, NOW, want(0, current_leader_epoch=1)).error_code == ErrorCode.NONE


def test_only_the_leader_serves_followers_and_old_consumers() -> None:
    """KIP-392: from v11 on any replica serves consumers, below its own mark."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        assert values(fetched(cluster, 2, NOW, want())) == ["a"]
        assert fetched(cluster, 2, replace(NOW, version=10), want()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert fetched(cluster, 2, replace(NOW, replica_id=3), want()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        stranger = fetched(cluster, 1, replace(NOW, replica_id=9), want(current_leader_epoch=0))
        assert stranger.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.spec("R10")
def test_the_leader_sends_consumers_to_their_rack() -> None:
    with ReplicaWorld(overrides={"replica.selector.class": RACK_AWARE}) as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        near = fetched(cluster, 1, replace(NOW, rack="rack3"), want())
        assert (near.preferred_read_replica, near.records_bytes) == (3, 0)
        at_home = fetched(cluster, 1, replace(NOW, rack="rack1"), want())
        assert (at_home.preferred_read_replica, values(at_home)) == (-1, ["a"])
        follower = fetched(cluster, 3, replace(NOW, rack="rack2"), want())
        assert (follower.preferred_read_replica, values(follower)) == (-1, ["a"]), "a follower never redirects"


@pytest.mark.spec("R10")
def test_the_leader_sends_consumers_anywhere() -> None:
    """MetaQ's choice at random: over many fetches every replica is named, the leader by serving itself."""
    with ReplicaWorld(overrides={"replica.selector.class": RANDOM}) as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        assert {fetched(cluster, 1, NOW, want()).preferred_read_replica for _ in range(40)} == {-1, 2, 3}


def test_the_first_batch_comes_whatever_its_size() -> None:
    """Only that of the first partition that has any; the rest keeps to the limits."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "x" * 1_000)
        cluster.produce(1, "y" * 1_000)
        reply = cluster.on(
            1, lambda broker: broker.replicas.fetch(replace(NOW, max_bytes=10), [want(0), replace(want(1), topic_id=TOPIC_ID)])
        )
        assert [len(values(answer.result)) for answer in reply.answers] == [1, 0]
        hard = fetched(cluster, 1, replace(NOW, version=2), want(0, max_bytes=10))
        assert hard.records_bytes == 0
        small = fetched(cluster, 1, NOW, want(0, max_bytes=10))
        assert len(values(small)) == 1


@pytest.mark.spec("B7")
def test_a_diverging_fetch_is_no_acknowledgement() -> None:
    """KAFKA-13141."""
    with cut_off_leader() as cluster:
        leader = cluster.partition(1).leader
        assert leader is not None
        before = leader.followers[2].log_end_offset
        diverging = fetched(cluster, 1, replace(NOW, replica_id=2), want(9, current_leader_epoch=0, last_fetched_epoch=0))
        assert diverging.diverging == (0, 2)
        assert leader.followers[2].log_end_offset == before
        assert cluster.hw(1) == 1


def test_an_acknowledgement_names_its_epoch() -> None:
    """Kip320, rule 3: without a leader epoch a follower's fetch is served but does not count."""
    with cut_off_leader() as cluster:
        for broker_id in (2, 3):
            fetched(cluster, 1, replace(NOW, replica_id=broker_id), want(2))
        assert cluster.hw(1) == 1
        for broker_id in (2, 3):
            fetched(cluster, 1, replace(NOW, replica_id=broker_id), want(2, current_leader_epoch=0))
        assert cluster.hw(1) == 2


def test_a_fetch_from_before_a_reboot_is_refused() -> None:
    """KAFKA-15221: the broker epoch in Fetch v15."""
    with cut_off_leader() as cluster:
        wanted = WantedPartition(None, TOPIC_ID, 0, 2, 1 << 20, 0)
        newer = replace(NOW, version=15, replica_id=2, replica_epoch=1_000)
        assert fetched(cluster, 1, newer, wanted).error_code == ErrorCode.NONE
        stale = fetched(cluster, 1, replace(newer, replica_epoch=999), wanted)
        assert stale.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_topic_ids() -> None:
    with ReplicaWorld() as cluster:
        cluster.create()
        by_id = replace(NOW, version=13)
        assert fetched(cluster, 1, by_id, replace(want(), topic=None, topic_id=TOPIC_ID)).error_code == ErrorCode.NONE
        unknown = replace(want(), topic=None, topic_id=type(TOPIC_ID)(int=5))
        assert fetched(cluster, 1, by_id, unknown).error_code == ErrorCode.UNKNOWN_TOPIC_ID
        other = replace(want(), topic="t", topic_id=type(TOPIC_ID)(int=5))
        assert fetched(cluster, 1, by_id, other).error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_idle_followers_cost_nothing_per_partition() -> None:
    """Settled partitions of a session are neither named nor read; the session still counts as fetching."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        cluster.settle(2_000)
        cache = cluster.brokers[1].replicas.fetch_sessions
        sessions = [session for session in map(cache.get, cluster.brokers[1].replicas.delayed.sessions_of(TP)) if session is not None]
        assert len(sessions) == 2
        assert all(session.wanted() == [] for session in sessions)
        ages = [view.fetch_age_ms for view in cluster.partition(1).follower_views()]
        assert all(age is not None and age <= 600 for age in ages)


def in_session(
    cluster: ReplicaWorld, session_id: int, epoch: int, *wanted: WantedPartition, wait_ms: int = 0
) -> Callable[[], Reply | None]:
    broker = cluster.brokers[1]
    params = replace(NOW, version=13, max_wait_ms=wait_ms)
    return cluster.world.spawn("b1", lambda node: broker.replicas.fetch(params, list(wanted), session_id=session_id, session_epoch=epoch))


def test_a_topic_that_got_its_name_after_the_session_began() -> None:
    """The session fetches by an id that the metadata does not have yet; later appends must wake it."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        metadata = cluster.brokers[1].metadata
        metadata._names.clear()
        opening = in_session(cluster, 0, 0, WantedPartition(None, TOPIC_ID, 0, 1, 1 << 20))
        cluster.settle(1)
        reply = opening()
        assert reply is not None
        assert reply.answers[0].result.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        metadata._names[TOPIC_ID] = "t"
        quiet = in_session(cluster, reply.session_id, 1)
        cluster.settle(1)
        assert quiet() is not None
        waiting = in_session(cluster, reply.session_id, 2, wait_ms=30_000)
        cluster.settle(1_000)
        assert waiting() is None
        cluster.produce(1, "b")
        cluster.settle(1)
        answered = waiting()
        assert answered is not None
        assert values(answered.answers[0].result) == ["b"]


def test_a_closed_session_is_watched_by_nobody() -> None:
    """Even when its topic has lost its name meanwhile."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.settle(1_000)
        delayed = cluster.brokers[1].replicas.delayed
        before = delayed.sessions_of(TP)
        opening = in_session(cluster, 0, 0, WantedPartition(None, TOPIC_ID, 0, 0, 1 << 20))
        cluster.settle(1)
        reply = opening()
        assert reply is not None
        assert delayed.sessions_of(TP) == [*before, reply.session_id]
        cluster.brokers[1].metadata._names.clear()
        in_session(cluster, reply.session_id, -1)
        cluster.settle(1)
        assert delayed.sessions_of(TP) == before


def test_a_partition_that_a_fetch_names_again_and_again_counts_once() -> None:
    """As in Kafka the last mention stands. A waiting fetch would be looked at for each mention, and look at each of them then."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.settle(1_000)
        purgatory = cluster.brokers[1].replicas.delayed.fetches
        others = purgatory.watched
        waiting = begin(cluster, 1, PATIENT, *(want() for _ in range(50)))
        cluster.settle(1)
        assert purgatory.watched < others + 10
        cluster.produce(1, "a", "b")
        cluster.produce(1, "c")
        cluster.settle(1)
        reply = waiting()
        assert reply is not None
        assert [values(answer.result) for answer in reply.answers] == [["a", "b"]]
        twice = cluster.on(1, lambda broker: broker.replicas.fetch(NOW, [want(9), want(2)], session_id=0, session_epoch=0))
        assert [values(answer.result) for answer in twice.answers] == [["c"]]
