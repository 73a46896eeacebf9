"""Three replica managers, real logs, a simulated network and store: append → replicate → HW → failover → truncate."""

from __future__ import annotations

import logging

import pytest

from broker_core.errors import ErrorCode, KafkaError
from broker_core.model import LeaderAndIsr
from broker_core.replication.following.follower import cut_diverging, restart
from broker_core.replication.following.truncation import EpochEnd
from broker_core.replication.isr.alter_isr_manager import Asked
from broker_core.replication.isr.isr_store import Written
from broker_core.replication.isr.states import CommittedIsr, PendingShrinkIsr
from broker_core.replication.leadership import Role
from broker_core.replication.partition import Moved
from tests.support.replica_world import LAG_MAX_MS, TOPIC_ID, TP, MiniBroker, ReplicaWorld


@pytest.mark.spec("R1", "R2", "R5")
def test_replication_commits_and_is_acknowledged() -> None:
    """acks=all answers once all in-sync replicas have the batch, and every replica learns the mark."""
    with ReplicaWorld() as cluster:
        cluster.create()
        result = cluster.produce(1, "a", "b")
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)
        assert cluster.hw(1) == 2
        cluster.until(cluster.caught_up)
        assert cluster.values(2) == cluster.values(3) == ["a", "b"]


def test_a_leader_without_room_for_sessions_is_followed_all_the_same() -> None:
    """KIP-227: without a session every answer counts, and every request names all partitions."""
    with ReplicaWorld(overrides={"max.incremental.fetch.session.cache.slots": "0"}) as cluster:
        cluster.create()
        assert cluster.produce(1, "a").error_code is ErrorCode.NONE
        cluster.until(cluster.caught_up)
        assert cluster.values(2) == cluster.values(3) == ["a"]


@pytest.mark.spec("R2", "R7")
def test_a_topic_is_replicated_before_metadata_tells_of_it() -> None:
    """Of thousands of new partitions it tells when all are there: that may take longer than a follower may lag."""
    with ReplicaWorld() as cluster:
        cluster.create(withheld=True)
        assert cluster.produce(1, "a").error_code is ErrorCode.NONE
        cluster.until(cluster.caught_up)
        cluster.settle(3 * LAG_MAX_MS)
        assert cluster.isr(1) == (1, 2, 3)
        assert cluster.values(2) == cluster.values(3) == ["a"]
        cluster.stop_replica(1, delete=True, leader_epoch=0)
        assert cluster.brokers[1].replicas.partitions.topic_name(TOPIC_ID) is None


@pytest.mark.spec("R6")
@pytest.mark.parametrize("seed", range(5))
def test_failover_cuts_what_was_not_committed(seed: int) -> None:
    """The old leader's lonely tail goes, everything committed stays, and all logs become equal."""
    with ReplicaWorld(seed) as cluster:
        cluster.create()
        cluster.produce(1, "a", "b")
        cluster.world.cut("b1", "b2")
        cluster.world.cut("b1", "b3")
        assert cluster.produce(1, "lost", acks=1).error_code is ErrorCode.NONE
        cluster.elect(leader=2, isr=(2, 3), tell=(2, 3))
        assert cluster.produce(2, "c", "d").error_code is ErrorCode.NONE
        assert cluster.values(1) == ["a", "b", "lost"]
        cluster.world.rejoin("b1")
        cluster.announce(tell=(1,))
        cluster.until(cluster.caught_up)
        assert cluster.values(1) == cluster.values(2) == cluster.values(3) == ["a", "b", "c", "d"]
        assert cluster.partition(1).truncation == (3, 2)
        cluster.until(lambda: cluster.isr(2) == (2, 3, 1))


@pytest.mark.spec("B6")
def test_an_answer_that_diverges_raises_no_mark_before_the_cut(caplog: pytest.LogCaptureFixture) -> None:
    """KAFKA-14704: the answer's mark, taken over first, would count the lonely tail among what is committed."""
    caplog.set_level(logging.INFO)
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a", "b")
        cluster.world.cut("b1", "b2")
        cluster.world.cut("b1", "b3")
        cluster.produce(1, "lost", acks=1)
        cluster.elect(leader=2, isr=(2, 3), tell=(2, 3))
        cluster.produce(2, "c", "d")
        cluster.world.rejoin("b1")
        cluster.announce(tell=(1,))
        cluster.until(cluster.caught_up)
    (cut,) = [vars(record) for record in caplog.records if record.message == "log truncated" and vars(record)["at"] < 3]
    assert (cut["at"], cut["log_end"], cut["high_watermark"]) == (2, 3, 2)


@pytest.mark.spec("R9")
def test_a_chain_of_failovers_keeps_everything_acknowledged() -> None:
    """Each broker leads in turn, dies and comes back."""
    with ReplicaWorld(3) as cluster:
        cluster.create()
        acknowledged: list[str] = []
        for round_number in range(6):
            leader = round_number % 3 + 1
            others = tuple(broker for broker in (1, 2, 3) if broker != leader)
            for step in range(3):
                value = f"r{round_number}s{step}"
                if cluster.produce(leader, value).error_code is ErrorCode.NONE:
                    acknowledged.append(value)
            cluster.send(leader, f"r{round_number}tail")
            cluster.kill(leader)
            successor = (round_number + 1) % 3 + 1
            cluster.elect(leader=successor, isr=others)
            cluster.start(leader)
            cluster.announce()
            cluster.until(lambda now=successor: set(cluster.isr(now)) == {1, 2, 3})  # type: ignore[misc]
        cluster.until(cluster.caught_up)
        assert len(acknowledged) == 18
        assert [value for value in cluster.values(1) if value in acknowledged] == acknowledged
        assert cluster.values(1) == cluster.values(2) == cluster.values(3)


class TestIsr:
    @pytest.mark.spec("R3", "R4", "B8")
    def test_a_dead_follower_leaves_and_comes_back(self) -> None:
        """Shrink by time, high watermark re-evaluated, expansion after catching up; both written and announced."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.kill(3)
            waiting = cluster.send(1, "b", timeout_ms=30_000)
            cluster.settle(LAG_MAX_MS / 2)
            assert waiting() is None
            cluster.until(lambda: waiting() is not None, 2 * LAG_MAX_MS)
            assert cluster.stored().isr == cluster.isr(1) == (1, 2)
            assert cluster.hw(1) == 2
            views = {view.broker_id: view for view in cluster.partition(1).follower_views()}
            assert (views[3].in_isr, views[3].reason) == (False, "stuck")
            cluster.start(3)
            cluster.announce(tell=(3,))
            cluster.until(lambda: cluster.stored().isr == (1, 2, 3))
            cluster.until(cluster.caught_up)
            cluster.settle(8_000)
            assert len(cluster.announcements()) >= 1

    def test_an_idle_follower_stays(self) -> None:
        """Fetches that name no partition count: after a long silence one append must not make everybody late."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.settle(10 * LAG_MAX_MS)
            cluster.produce(1, "b", acks=1)
            cluster.partition(1)
            cluster.settle(LAG_MAX_MS)
            assert cluster.isr(1) == (1, 2, 3)
            assert cluster.stored().zk_version == 0, "nobody ever left"

    def test_a_silent_follower_keeps_its_caught_up_time(self) -> None:
        """The append itself finds out when its followers were last at the end."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.settle(10 * LAG_MAX_MS)
            cluster.world.cut("b1", "b3")
            cluster.produce(1, "b", acks=1)
            ages = {view.broker_id: view.caught_up_age_ms for view in cluster.partition(1).follower_views()}
            assert ages[3] is not None
            assert ages[3] < 1_000

    def test_a_lost_reply_of_the_write(self) -> None:
        """The write took effect, its answer did not come: looking it up ends the change."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.kill(3)
            cluster.produce(1, "b", acks=1)
            cluster.world.lose_store_reply("b1", "set")
            cluster.until(lambda: cluster.isr(1) == (1, 2), 10 * LAG_MAX_MS)
            leader = cluster.partition(1).leader
            assert leader is not None
            assert leader.zk_version == cluster.stored().zk_version == 1
            assert cluster.hw(1) == 2

    @pytest.mark.spec("B10")
    def test_a_dead_broker_does_not_join(self) -> None:
        """KAFKA-14140: only who is alive in the metadata may join."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.elect(leader=1, isr=(1, 2), tell=())
            cluster.tell_metadata(1, alive=[1, 2])
            for broker in (1, 2, 3):
                cluster.order(broker)
            cluster.produce(1, "a")
            cluster.settle(5_000)
            assert cluster.leo(3) == 1, "it replicates"
            assert cluster.isr(1) == (1, 2)
            cluster.tell_metadata(1)
            cluster.until(lambda: cluster.isr(1) == (1, 2, 3))

    @pytest.mark.spec("B11")
    def test_a_rebooted_follower_is_not_taken_in_by_its_old_fetch(self) -> None:
        """KAFKA-15221: the registration at the moment of the write is not the one that fetched."""
        with ReplicaWorld() as cluster:
            cluster.create(isr=(1, 2))
            cluster.brokers[3].epoch -= 1
            cluster.produce(1, "a")
            cluster.settle(5_000)
            assert cluster.leo(3) == 1
            assert cluster.stored().isr == (1, 2)
            cluster.brokers[3].epoch += 1
            cluster.until(lambda: cluster.stored().isr == (1, 2, 3))


class TestMinimum:
    @pytest.mark.spec("R5")
    def test_acks_all_needs_the_minimum_and_the_mark_stands_still(self) -> None:
        """NOT_ENOUGH_REPLICAS for acks=all only; reads below the mark go on; the mark does not move (KAFKA-15583)."""
        with ReplicaWorld(overrides={"min.insync.replicas": "2"}) as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.until(cluster.caught_up)
            cluster.kill(2)
            cluster.kill(3)
            cluster.produce(1, "b", acks=1)
            cluster.until(lambda: cluster.isr(1) == (1,), 4 * LAG_MAX_MS)
            assert cluster.produce(1, "c").error_code is ErrorCode.NOT_ENOUGH_REPLICAS
            assert cluster.produce(1, "d", acks=1).error_code is ErrorCode.NONE
            assert (cluster.leo(1), cluster.hw(1)) == (3, 1)
            cluster.start(2)
            cluster.announce(tell=(2,))
            cluster.until(lambda: cluster.isr(1) == (1, 2))
            assert cluster.produce(1, "e").error_code is ErrorCode.NONE
            assert cluster.hw(1) == 4

    def test_a_timeout_leaves_the_record(self) -> None:
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.kill(3)
            result = cluster.produce(1, "b", timeout_ms=100)
            assert (result.error_code, result.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
            assert cluster.values(1) == ["a", "b"]

    def test_other_acks_are_refused(self) -> None:
        with ReplicaWorld() as cluster:
            cluster.create()
            assert cluster.produce(1, "a", acks=2).error_code is ErrorCode.INVALID_REQUIRED_ACKS
            assert cluster.produce(2, "a").error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert cluster.leo(1) == 0


class TestAuthority:
    def test_a_leader_that_slept_through_its_end_serves_nothing(self) -> None:
        """A paused leader wakes after the controller moved on: its ISR write is refused by version, and it stops."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.until(cluster.caught_up)
            cluster.world.pause("b1")
            cluster.elect(leader=2, isr=(2, 3))
            cluster.produce(2, "b")
            cluster.world.resume("b1")
            late = cluster.send(1, "zombie", timeout_ms=60_000)
            cluster.until(lambda: late() is not None)
            assert late().error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER  # type: ignore[union-attr]
            assert not cluster.partition(1).is_leader
            assert cluster.hw(1) == 1, "nothing of the zombie's was called committed"
            assert cluster.produce(1, "again", acks=1).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
            with pytest.raises(KafkaError):
                cluster.brokers[1].replicas.partitions.leader_log(TP)
            cluster.announce(tell=(1,))
            cluster.until(cluster.caught_up)
            assert cluster.values(1) == cluster.values(2) == ["a", "b"]

    def test_waiting_producers_hear_that_the_leader_changed(self) -> None:
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.world.cut("b1", "b2")
            cluster.world.cut("b1", "b3")
            waiting = cluster.send(1, "b", timeout_ms=60_000)
            cluster.settle(200)
            cluster.elect(leader=2, isr=(1, 2, 3))
            cluster.settle(10)
            result = waiting()
            assert result is not None
            assert result.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER

    @pytest.mark.spec("R11")
    def test_a_controllers_order_is_obeyed_once(self) -> None:
        """Strictly greater leader epochs only, and no former controller."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            again = cluster.order(1)
            assert again["topics"][0]["partition_errors"][0]["error_code"] == ErrorCode.STALE_CONTROLLER_EPOCH
            assert cluster.partition(1).role is Role.LEADER
            told: list[str] = []
            cluster.brokers[1].replicas.on_refused = told.append
            cluster.controller_epoch = 0
            assert cluster.order(1)["error_code"] == ErrorCode.STALE_CONTROLLER_EPOCH
            assert cluster.order(1)["error_code"] == ErrorCode.STALE_CONTROLLER_EPOCH
            assert cluster.tell_metadata(1) == ErrorCode.STALE_CONTROLLER_EPOCH
            cluster.controller_epoch = 1
            words = "of controller 0 in epoch 0: the controller's epoch is 1 now"
            assert told == [f"LeaderAndIsr {words}", f"UpdateMetadata {words}"]

    @pytest.mark.spec("B5")
    def test_the_same_leader_in_a_new_epoch_still_makes_followers_compare(self) -> None:
        """KAFKA-7164: the follower missed the epoch between, in which its log was overtaken."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.until(cluster.caught_up)
            cluster.world.cut("b1", "b3")
            cluster.world.cut("b1", "b2")
            cluster.produce(1, "lost", acks=1)
            cluster.world.cut("b3", "b2")
            cluster.elect(leader=2, isr=(2,), tell=(2,))
            cluster.produce(2, "b", acks=1)
            cluster.world.rejoin("b1")
            cluster.world.rejoin("b3")
            cluster.announce(tell=(1,))
            cluster.until(lambda: cluster.values(1) == ["a", "b"])
            cluster.elect(leader=1, isr=(1, 2))
            cluster.produce(1, "c")
            cluster.until(cluster.caught_up)
            assert cluster.values(3) == ["a", "b", "c"]


def test_a_follower_far_behind_starts_over() -> None:
    """OFFSET_OUT_OF_RANGE: the leader's log starts above the follower's end."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.until(cluster.caught_up)
        cluster.kill(3)
        cluster.produce(1, "b", acks=1)
        cluster.produce(1, "c", acks=1)
        cluster.until(lambda: cluster.isr(1) == (1, 2), 4 * LAG_MAX_MS)
        cluster.tell_metadata(1)
        deleted = cluster.on(1, lambda broker: broker.replicas.deletions.delete_records({TP: 2}, 1_000))
        assert deleted == {TP: 2}
        cluster.start(3)
        cluster.announce()
        cluster.until(cluster.caught_up)
        assert cluster.log(3).log_start_offset == 2
        assert cluster.values(3) == ["c"]
        cluster.until(lambda: cluster.isr(1) == (1, 2, 3))


def test_deleting_records_waits_for_every_live_replica() -> None:
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.produce(1, "b")
        result = cluster.on(1, lambda broker: broker.replicas.deletions.delete_records({TP: 1}, 5_000))
        assert result == {TP: 1}
        assert [cluster.log(broker).log_start_offset for broker in (1, 2, 3)] == [1, 1, 1]
        beyond = cluster.on(1, lambda broker: broker.replicas.deletions.delete_records({TP: 9}, 5_000))[TP]
        assert isinstance(beyond, KafkaError)
        assert beyond.code is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.spec("Z5")
def test_stopping_and_deleting_a_replica() -> None:
    """Stopped replicas serve nothing, old epochs are fenced, deletion removes the log."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a")
        cluster.elect(leader=1, isr=(1, 2, 3))
        fenced = cluster.stop_replica(2, delete=False, leader_epoch=0)
        assert fenced["partition_errors"][0]["error_code"] == ErrorCode.FENCED_LEADER_EPOCH
        assert cluster.partition(2).role is Role.FOLLOWER
        stopped = cluster.stop_replica(2, delete=False, leader_epoch=1)
        assert stopped["partition_errors"][0]["error_code"] == ErrorCode.NONE
        assert cluster.partition(2).role is Role.NONE
        cluster.produce(1, "b", acks=1)
        cluster.settle(1_000)
        assert cluster.leo(2) == 1
        cluster.stop_replica(2, delete=True, leader_epoch=-2)
        assert cluster.brokers[2].replicas.partitions.get(TP) is None
        assert cluster.brokers[2].logs.get(TP) is None


@pytest.mark.spec("S6", "R2")
def test_a_full_power_cycle_keeps_marks_and_logs() -> None:
    """After all brokers stopped hard, the log and the checkpointed mark are what clients saw."""
    with ReplicaWorld() as cluster:
        cluster.create()
        cluster.produce(1, "a", "b")
        cluster.until(cluster.caught_up)
        cluster.settle(6_000)
        for broker in (1, 2, 3):
            cluster.kill(broker)
        for broker in (1, 2, 3):
            cluster.start(broker)
        assert [cluster.hw(broker) for broker in (1, 2, 3)] == [2, 2, 2]
        cluster.elect(leader=3, isr=(1, 2, 3))
        assert cluster.produce(3, "c").base_offset == 2
        cluster.until(cluster.caught_up)
        assert cluster.values(1) == ["a", "b", "c"]


class TestRaces:
    """Orders that overtake each other, and answers that come after everything changed."""

    def test_of_two_orders_the_later_epoch_wins(self) -> None:
        """Both are accepted before the first one's epoch is on disk."""
        with ReplicaWorld() as cluster:
            cluster.create()
            older = LeaderAndIsr(1, 5, (1, 2, 3), 0)
            newer = LeaderAndIsr(2, 6, (1, 2, 3), 0)
            answers = [cluster.begin_order(1, older), cluster.begin_order(1, newer)]
            cluster.until(lambda: all(answer() is not None for answer in answers))
            codes = [answer()["topics"][0]["partition_errors"][0]["error_code"] for answer in answers]  # type: ignore[index]
            assert codes == [ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.NONE]
            partition = cluster.partition(1)
            assert (partition.role, partition.leader_epoch, partition.leader_id) == (Role.FOLLOWER, 6, 2)
            newest = LeaderAndIsr(1, 8, (1, 2, 3), 0)
            answers = [cluster.begin_order(1, LeaderAndIsr(2, 7, (1, 2, 3), 0)), cluster.begin_order(1, newest)]
            cluster.until(lambda: all(answer() is not None for answer in answers))
            assert (partition.role, partition.leader_epoch) == (Role.LEADER, 8)

    @pytest.mark.spec("R6", "B2")
    def test_an_epoch_is_on_disk_before_it_is_served(self) -> None:
        """Also one in which nothing was ever written."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.until(cluster.caught_up)
            cluster.elect(leader=1, isr=(1, 2, 3))
            log = cluster.log(1)
            assert (log.epochs.end_offset_for(0, log.log_end_offset), log.epochs.end_offset_for(1, log.log_end_offset)) == ((0, 1), (1, 1))
            on_disk = cluster.brokers[1].node.disk.read_bytes(f"{log.directory}/leader-epoch-checkpoint", limit_bytes=1_000)
            assert on_disk.split()[2:] == [b"0", b"0", b"1", b"1"]

    def test_a_cut_for_an_earlier_epoch_is_not_made(self) -> None:
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a", "b")
            cluster.until(cluster.caught_up)
            cluster.elect(leader=3, isr=(1, 2, 3))
            moved = cluster.on(2, lambda broker: cut_diverging(cluster.partition(2), 0, EpochEnd(0, 1)))
            assert moved == Moved()
            moved = cluster.on(2, lambda broker: restart(cluster.partition(2), 0, 0, 1))
            assert moved == Moved()
            assert cluster.leo(2) == 2
            moved = cluster.on(1, lambda broker: restart(cluster.partition(1), 1, 0, 1))
            assert moved.log_end
            cluster.until(cluster.caught_up)

    def test_a_joiner_that_was_turned_away_asks_again(self) -> None:
        """While another change is under way nobody is taken in; an idle follower outside the ISR must not be forgotten."""
        with ReplicaWorld() as cluster:
            cluster.create(isr=(1,))
            leader = cluster.partition(1).leader
            assert leader is not None
            busy = PendingShrinkIsr((1,), ())
            leader.isr = busy
            cluster.settle(3_000)
            assert leader.isr is busy
            leader.isr = CommittedIsr((1,))
            cluster.until(lambda: set(cluster.isr(1)) == {1, 2, 3}, 3_000)

    def test_who_catches_up_while_it_is_put_out_comes_back(self) -> None:
        """A leader that slept puts all out; before that is known they have fetched to its end, and nothing is written any more."""
        with ReplicaWorld() as cluster:
            cluster.create()
            leader = cluster.partition(1).leader
            assert leader is not None
            leader.isr = PendingShrinkIsr((1, 2, 3), (2, 3))
            cluster.produce(1, "a", acks=1)
            cluster.until(lambda: all(follower.log_end_offset == 1 for follower in leader.followers.values()))
            cluster.settle(3_000)
            leader.isr = CommittedIsr((1,))
            cluster.until(lambda: set(cluster.isr(1)) == {1, 2, 3}, 3_000)

    def test_who_is_found_to_be_out_while_nothing_is_written_comes_back(self) -> None:
        """The answer to one change tells what an earlier one did whose answer was lost; the sessions of those have nothing to tell."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.produce(1, "a")
            cluster.until(cluster.caught_up)
            cluster.settle(1_000)
            leader = cluster.partition(1).leader
            assert leader is not None

            async def answered(broker: MiniBroker) -> None:
                asked = Asked(cluster.partition(1), leader, PendingShrinkIsr((1, 2, 3), (3,)))
                leader.isr = asked.change
                broker.replicas.alter_isr.take(asked, Written((1,), leader.zk_version))
                assert cluster.isr(1) == (1,)

            cluster.on(1, answered)
            cluster.until(lambda: set(cluster.isr(1)) == {1, 2, 3}, 3_000)

    @pytest.mark.spec("R2")
    def test_a_mark_that_waited_for_a_joiner_who_died(self) -> None:
        """A caught-up outsider is waited for; once it is dead, or late, no event would tell."""
        with ReplicaWorld() as cluster:
            cluster.create()
            cluster.elect(leader=1, isr=(1, 2), tell=())
            cluster.tell_metadata(1, alive=[1, 2])
            for broker in (1, 2, 3):
                cluster.order(broker)
            cluster.produce(1, "a")
            leader = cluster.partition(1).leader
            assert leader is not None
            cluster.until(lambda: leader.followers[3].log_end_offset == 1)
            cluster.world.cut("b1", "b3")
            cluster.brokers[1].metadata._brokers[3] = cluster.brokers[1].metadata._brokers[2]
            cluster.produce(1, "b", acks=1)
            cluster.settle(100)
            assert cluster.hw(1) == 1, "it waits for 3"
            cluster.tell_metadata(1, alive=[1, 2])
            assert cluster.hw(1) == 2
            cluster.brokers[1].metadata._brokers[3] = cluster.brokers[1].metadata._brokers[2]
            leader.followers[3].last_caught_up_ms = cluster.brokers[1].node.clock.monotonic_ms()
            cluster.produce(1, "c", acks=1)
            cluster.settle(100)
            assert cluster.hw(1) == 2
            cluster.settle(2 * LAG_MAX_MS)
            assert cluster.hw(1) == 3
