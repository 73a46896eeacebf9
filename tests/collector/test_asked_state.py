"""The live state of a cluster that is asked: right for what is known every few seconds only, and silent on what no answer has."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract import feed
from console.collector.pace import EVERY_MS, PARTITIONS_LIMIT
from console.collector.taking import Taken, undescribed
from console.gateway.answers import Controller, Folder, ListedGroup, Metadata, Move, Node, PartitionMetadata, TopicMetadata, TopicSettings
from console.live.merging.asked_state import AskedState
from console.live.merging.partition import NOT_TOLD, Asked
from console.live.merging.questions import Questions
from console.snapshot.freshness import read_cluster

T = 1_000_000
ALL = (1, 2, 3)


def partition(
    leader: int = 1, epoch: int = 4, replicas: tuple[int, ...] = ALL, isr: tuple[int, ...] = ALL, offline: Any = ()
) -> PartitionMetadata:
    return PartitionMetadata(leader, epoch, replicas, isr, offline)


def metadata(*partitions: PartitionMetadata, brokers: tuple[int, ...] = ALL, topic_id: str = "id", name: str = "orders") -> Metadata:
    told = {name: TopicMetadata(topic_id, False, dict(enumerate(partitions)))} if partitions else {}
    return Metadata({b: Node("127.0.0.1", 9000 + b, f"rack-{b}") for b in brokers}, None, told)


class Stage:
    """A cluster with one topic `orders`, asked at `T`."""

    def __init__(self, *partitions: PartitionMetadata) -> None:
        self.state = AskedState("foreign", Questions(EVERY_MS, T), None)
        self.taken = Taken(self.state)
        self.told(metadata(*(partitions or (partition(),))), T)
        self.taken.take_settings(["orders"], {"orders": TopicSettings({}, 2, False)}, T)
        for broker in ALL:
            self.state.broker_answered(broker, T)
        for kind, every_ms in EVERY_MS.items():
            self.state.answered(kind, T, every_ms, T)

    def told(self, found: Metadata, at_ms: int, controller: int = 1) -> None:
        self.taken.take_metadata(found, Controller(controller, None), at_ms)

    def take(self, at_ms: int = T) -> tuple[dict[str, Any], list[str]]:
        changed, events = self.state.take(at_ms)
        return changed, [event.sentence for event in events]

    def first(self, at_ms: int = T) -> Any:
        self.take(at_ms)
        return self.state.values["orders", 0]

    def cluster(self, at_ms: int = T) -> Any:
        self.take(at_ms)
        self.state.tick(at_ms)
        found: Any = self.take(at_ms)[0]["cluster"]
        return found


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (partition(), "safe"),
        (partition(isr=(1, 2)), "under_replicated"),
        (partition(isr=(1,)), "under_min_isr"),
        (partition(leader=-1, isr=(3,)), "offline"),
    ],
)
def test_states_follow_from_the_metadata(told: PartitionMetadata, state: str) -> None:
    value = Stage(told).first()
    assert (value.state, value.leader_epoch, value.isr) == (state, 4, told.isr)


def test_what_no_answer_has_is_nothing_and_never_a_number() -> None:
    stage = Stage(partition(isr=(1, 2)))
    stage.taken.take_logs({("orders", 0): Asked(120, 20, 110)})
    value = stage.first()
    assert (value.high_watermark, value.log_start_offset, value.last_stable_offset, value.log_end_offset) == (120, 20, 110, None)
    assert {(r.log_end_offset, r.high_watermark, r.age_ms) for r in value.replicas} == {(None, None, None)}
    assert [r.reason for r in value.replicas] == [None, None, NOT_TOLD]
    broker = stage.take()[0].get("broker/1") or stage.state.everything(T)["broker/1"]
    assert (broker.requests, broker.purgatory, broker.bytes_in_per_s, broker.connections, broker.broker_epoch) == (
        {},
        None,
        None,
        None,
        None,
    )
    cluster = stage.cluster()
    assert cluster.source == "collector"
    assert (cluster.produce_bytes_per_s, cluster.requests_per_s) == (None, None)
    topic = stage.state.everything(T)["topic/orders"]
    assert (topic.messages, topic.unmeasured) == (100, 0)  # type: ignore[union-attr]


def test_a_replica_whose_broker_runs_without_it_has_lost_its_folder() -> None:
    value = Stage(partition(isr=(1, 2), offline=(3,))).first()
    assert value.replicas[2].reason == "its data folder is offline"


def test_what_an_older_answer_says_is_not_taken() -> None:
    stage = Stage()
    stage.told(metadata(partition(leader=2, epoch=5, isr=(2, 3))), T + 5_000)
    stage.told(metadata(partition(leader=1, epoch=4)), T + 5_001)
    assert (stage.first().leader, stage.first().isr) == (2, (2, 3))


def test_a_leader_between_two_answers_is_not_called_unclean() -> None:
    """Replica 3 may have been back in the ISR before both others died."""
    stage = Stage(partition(isr=(1, 2)))
    stage.take()
    stage.told(metadata(partition(leader=3, epoch=6, isr=(3,)), brokers=(3,)), T + 5_000)
    _, events = stage.take(T + 5_000)
    assert stage.state.values["orders", 0].unclean is None
    assert not any("unclean" in said for said in events)


def test_events_are_told_of_what_differs() -> None:
    stage = Stage()
    stage.take()
    stage.told(metadata(partition(leader=2, epoch=5, isr=(2, 3)), brokers=(2, 3)), T + 5_000, 2)
    stage.state.tick(T + 6_000)
    events = stage.take(T + 6_000)[1] + stage.take(T + 8_000)[1]
    assert events == [
        "broker 1 is gone: the cluster's metadata names it no more. Its leaders move to other replicas.",
        "node 2 is the controller now (was node 1).",
        "broker 2 took over orders-0 from broker 1, epoch 5: broker 1 is down.",
        "broker 1 left the ISR of orders-0: broker is down. HW now waits for 2 and 3.",
    ]
    stage.told(metadata(partition(leader=2, epoch=5, isr=(2, 3, 1))), T + 10_000)
    stage.state.broker_answered(1, T + 10_000)
    events = stage.take(T + 10_000)[1] + stage.take(T + 12_000)[1]
    assert events[-1] == "broker 1 is back in the ISR of orders-0: it reached the HW. In sync: 1, 2 and 3."


def test_a_topic_made_anew_under_the_name_has_no_past() -> None:
    stage = Stage()
    stage.taken.take_logs({("orders", 0): Asked(120, 20, 110)})
    stage.take()
    stage.told(metadata(partition(epoch=0), topic_id="another"), T + 5_000)
    changed, events = stage.take(T + 5_000)
    assert changed["partition/orders/0"].high_watermark is None
    assert events[0] == "topic orders was deleted."
    assert stage.taken.unsettled() == ["orders"]
    stage.told(metadata(), T + 10_000)
    changed, _ = stage.take(T + 10_000)
    assert changed["topic/orders"] is changed["partition/orders/0"] is None


def test_a_broker_without_copies_that_is_gone_is_none_of_the_clusters() -> None:
    stage = Stage(partition(replicas=(1, 2), isr=(1, 2)))
    stage.take()
    stage.told(metadata(partition(replicas=(1, 2), isr=(1, 2)), brokers=(1, 2)), T + 5_000)
    changed, _ = stage.take(T + 5_000)
    assert changed["broker/3"] is None
    assert changed["cluster"].brokers_total == 2


def test_a_broker_that_was_never_seen_is_down_where_it_is_to_have_copies() -> None:
    stage = Stage(partition(replicas=(1, 2, 4), isr=(1, 2)))
    assert stage.cluster().verdict.text.startswith("Broker 4 is down: 1 partition has fewer copies than wanted")


def test_moves_are_told() -> None:
    stage = Stage()
    stage.take()
    stage.taken.moves = {("orders", 0): Move((1, 2, 3, 4), (4,), (3,))}
    stage.told(metadata(partition(replicas=(1, 2, 3, 4)), brokers=(1, 2, 3, 4)), T + 5_000)
    _, events = stage.take(T + 5_000)
    assert "orders-0 is being moved: joining 4, leaving 3." in events
    assert stage.state.values["orders", 0].state == "safe"
    stage.taken.moves = {}
    stage.told(metadata(partition(replicas=(1, 2, 4), isr=(1, 2, 4)), brokers=(1, 2, 3, 4)), T + 10_000)
    assert "the move of orders-0 is over: its replicas are 1, 2, 4." in stage.take(T + 10_000)[1]


# --- how fresh it is


def test_what_is_asked_every_five_seconds_is_not_stale_after_four_but_after_three_intervals() -> None:
    stage = Stage()
    state = stage.state
    assert state.oldest_ms(T + 4_000) == T
    assert state.due_ms(T + 4_000) == T + 15_000
    ages = state.questions.value(T + 14_999)
    assert {kind: one.age.state for kind, one in ages.items()} == dict.fromkeys(EVERY_MS, "live")
    assert state.questions.value(T + 15_001)["metadata"].age.state == "stale"
    assert state.questions.value(T + 15_001)["groups"].age.state == "live"
    assert state.parts(T + 15_000).state == "live"
    assert state.parts(T + 15_001).state == "partial"
    assert state.parts(T + 60_000).state == "lost"


def test_a_slower_interval_is_what_freshness_goes_by() -> None:
    stage = Stage()
    for kind in ("metadata", "offsets", "groups"):
        stage.state.answered(kind, T, 40_000, T)  # type: ignore[arg-type]
    assert stage.state.due_ms(T) == T + 120_000
    assert stage.cluster(T + 100_000).questions["metadata"].age.every_ms == 40_000


def test_ages_are_counted_when_they_are_read() -> None:
    stage = Stage()
    read = read_cluster(stage.cluster(T), T + 20_000, T + 20_000)
    assert read.questions is not None
    assert (read.questions["metadata"].age.state, read.questions["metadata"].age.age_ms) == ("stale", 20_000)


def test_nothing_is_called_safe_by_metadata_that_became_old_since_it_was_written() -> None:
    """The collector writes once a second; who reads in between counts its answers as old already."""
    written = Stage().cluster(T)
    due_ms = T + 3 * EVERY_MS["metadata"]
    assert read_cluster(written, due_ms, due_ms).verdict == written.verdict
    read = read_cluster(written, due_ms, due_ms + 1)
    assert read.verdict is not None and read.feed is not None and read.topics_line is not None
    assert (read.verdict.level, read.verdict.last_known_ms, read.feed.state) == ("unknown", T, "partial")
    assert read.verdict.text.startswith("The cluster does not answer: its state is unknown. Last known at 00:16:40: ")
    assert read.topics_line.level == "unknown"


def test_what_is_told_as_last_known_is_not_told_so_twice() -> None:
    stage = Stage()
    for at_ms in (T + 5_000, T + 9_000):
        stage.state.unanswered("metadata", "nobody is there", at_ms)
    written = stage.cluster(T + 9_000)
    assert written.questions["metadata"].age.state == "live"
    assert read_cluster(written, T + 16_000, T + 16_000).verdict == written.verdict


def test_a_cluster_that_does_not_answer_is_unknown_and_says_since_when_and_why() -> None:
    stage = Stage()
    stage.take()
    stage.state.unanswered("metadata", "no broker at 127.0.0.1:9001 answered in time", T + 5_000)
    assert stage.cluster(T + 6_000).verdict.level == "ok"  # one question lost is not worth a word
    stage.state.unanswered("metadata", "no broker at 127.0.0.1:9001 answered in time", T + 8_000)
    cluster = stage.cluster(T + 8_500)
    words = "The cluster does not answer (no broker at 127.0.0.1:9001 answered in time): its state is unknown. Last known at 00:16:40:"
    assert (cluster.verdict.level, cluster.verdict.last_known_ms) == ("unknown", T)
    assert cluster.verdict.text.startswith(words)
    assert cluster.unknown == 1
    assert stage.state.values["orders", 0].state == "unknown"
    stage.told(metadata(partition()), T + 30_000)
    stage.state.answered("metadata", T + 30_000, 5_000, T + 30_000)
    for broker in ALL:
        stage.state.broker_answered(broker, T + 30_000)
    cluster = stage.cluster(T + 30_000)
    assert (cluster.verdict.level, cluster.unknown) == ("ok", 0)


def test_a_cluster_that_never_answered_is_not_said_to_have_been_anything() -> None:
    state = AskedState("foreign", Questions(EVERY_MS, T))
    assert state.everything(T)["cluster"].verdict.text == "The cluster has not answered yet."  # type: ignore[union-attr]
    state.unanswered("metadata", "nobody is there", T)
    value: Any = state.everything(T + 10)["cluster"]
    assert value.verdict.text == "The cluster does not answer (nobody is there): nothing is known of it."


def test_a_broker_that_does_not_answer_makes_what_it_leads_unknown_and_nothing_else() -> None:
    stage = Stage(partition(leader=1), partition(leader=2))
    stage.take()
    for at_ms in (T + 10_000, T + 20_000):
        stage.state.answered("metadata", at_ms, 5_000, at_ms)
    stage.state.feed_cut(1, T + 10_000)
    cluster = stage.cluster(T + 10_000)
    assert [stage.state.values["orders", number].state for number in (0, 1)] == ["unknown", "safe"]
    assert cluster.verdict.text.startswith("Broker 1 has not answered for 10\u202fs: the state of its 1 partition is unknown.")
    stage.state.broker_answered(1, T + 20_000)
    assert stage.cluster(T + 20_000).unknown == 0


# --- rates, groups, disks


def test_rates_are_differences_of_the_ends_that_were_asked_for() -> None:
    stage = Stage(partition(leader=1), partition(leader=2))
    for step in range(3):
        at_ms = T + 10_000 * step
        stage.taken.take_logs({("orders", number): Asked(100 + 500 * step, 0, None) for number in (0, 1)})
        stage.state.answered("offsets", at_ms, 10_000, at_ms)
        cluster = stage.cluster(at_ms + 1_000)
    assert stage.state.everything(at_ms)["topic/orders"].messages_per_s == 100.0  # type: ignore[union-attr]
    assert cluster.messages_per_s == 100.0
    assert stage.cluster(at_ms + 31_000).messages_per_s is None  # nobody tells of the logs any more


def claim(offset: int, *members: str, state: str = "Stable") -> feed.Group:
    some = tuple(feed.Member(name, "app", "/127.0.0.1", None, {"orders": [0]}) for name in members)
    return feed.Group("billing", state, "consumer", "range", None, some, (feed.Committed("orders", 0, offset),))


def test_lag_is_of_one_moment_however_old_the_ends_of_the_logs_are() -> None:
    stage = Stage()
    stage.taken.take_logs({("orders", 0): Asked(100, 0, None)})
    stage.taken.take_groups([claim(190, "m1")], 1, {("orders", 0): 200}, T + 5_000)
    stage.take(T + 5_000)
    assert stage.state.groups.values["billing"].lag == 10
    stage.taken.take_logs({("orders", 0): Asked(5_000, 0, None)})
    stage.take(T + 9_000)
    assert stage.state.groups.values["billing"].lag == 10
    row = stage.state.groups.rows["billing"]["orders", 0]
    assert (row.high_watermark, row.log_end_offset, row.committed) == (200, None, 190)


def test_lag_is_unknown_where_the_leader_did_not_tell() -> None:
    stage = Stage()
    stage.taken.take_groups([claim(190, "m1")], 1, {}, T)
    stage.take()
    assert (stage.state.groups.values["billing"].lag, stage.state.groups.values["billing"].trend) == (None, "unknown")


def test_a_reader_that_keeps_up_is_no_alarm_though_it_is_seen_every_fifteen_seconds() -> None:
    stage = Stage()
    for look in range(20):
        at_ms = T + 15_000 * look
        stage.taken.take_groups([claim(15_000 * look, "m1")], 1, {("orders", 0): 15_000 * look + 300}, at_ms)
        for second in range(15):
            stage.state.tick(at_ms + second * 1_000)
            stage.take(at_ms + second * 1_000)
        value = stage.state.groups.values["billing"]
        assert value.attention is None, value
    assert value.lag_s is not None
    assert value.lag_s < 1


def test_one_that_stands_still_is() -> None:
    stage = Stage()
    for look in range(30):
        at_ms = T + 15_000 * look
        stage.taken.take_groups([claim(100, "m1")], 1, {("orders", 0): 100 + 1_500 * look}, at_ms)
        for second in range(15):
            stage.state.tick(at_ms + second * 1_000)
            stage.take(at_ms + second * 1_000)
    value = stage.state.groups.values["billing"]
    assert (value.attention, value.trend) == ("warn", "stalled")
    assert value.lag == 1_500 * 29


def test_a_rebalance_is_told_by_its_members() -> None:
    stage = Stage()
    stage.taken.take_groups([claim(1, "m1")], 1, {("orders", 0): 1}, T)
    stage.take()
    stage.taken.take_groups([claim(1, "m1")], 1, {("orders", 0): 1}, T + 15_000)
    assert stage.take(T + 15_000)[1] == []
    stage.taken.take_groups([claim(1, "m1", "m2")], 1, {("orders", 0): 1}, T + 30_000)
    assert stage.take(T + 30_000)[1] == ["group billing rebalanced: a member joined; 2 members."]


def test_offsets_that_go_back_were_moved_and_those_that_go_forward_may_have_been_read() -> None:
    stage = Stage()
    for offset, said in (
        (50, []),
        (90, []),
        (10, ["offsets of group billing were moved: orders-0 from 90 to 10. 80 records will be read again."]),
    ):
        stage.taken.take_groups([claim(offset, state="Empty")], 1, {("orders", 0): 100}, T + offset)
        assert stage.take(T + offset)[1] == said


def test_groups_that_are_named_no_more_are_gone_and_those_of_another_protocol_are_named() -> None:
    stage = Stage()
    stage.taken.take_groups([claim(1, "m1")], 1, {("orders", 0): 1}, T)
    stage.taken.take_groups([undescribed(ListedGroup("shared", "share", "share", "Stable"))], 2, {}, T)
    changed, _ = stage.take()
    assert (changed["group/shared"].state, changed["group/shared"].protocol_type) == ("Stable", "share: not described")
    stage.state.groups.keep_named({"shared"})
    assert stage.take(T + 1)[0]["group/billing"] is None


def test_of_several_folders_the_one_that_is_worst_off_is_told() -> None:
    stage = Stage()
    roomy, full, broken = (
        Folder("/a", None, 1_000, 900, {("orders", 0): 70}),
        Folder("/b", None, 1_000, 30, {}),
        Folder("/c", "KAFKA_STORAGE_ERROR", None, None, {}),
    )
    stage.taken.take_folders(1, [roomy, full], T)
    value: Any = stage.state.everything(T)["broker/1"]
    assert (value.log_dir.path, value.log_dir.state, value.log_dir.level) == ("/b", "folder_low", "warn")
    assert stage.first().size_bytes == 70
    stage.taken.take_folders(1, [roomy, full, broken], T + 60_000)
    stage.taken.take_folders(1, [roomy, full, broken], T + 120_000)
    value = stage.state.everything(T)["broker/1"]
    assert (value.log_dir.path, value.log_dir.offline_since_ms) == ("/c", T + 60_000)


# --- limits


def test_more_partitions_than_can_be_looked_at_are_left_out_by_whole_topics() -> None:
    stage = Stage()
    one = partition()
    huge = TopicMetadata("huge", False, dict.fromkeys(range(PARTITIONS_LIMIT), one))
    small = TopicMetadata("id", False, {0: one})
    stage.told(Metadata({1: Node("127.0.0.1", 9001, None)}, 1, {"huge": huge, "a": small, "z": small}), T)
    assert set(stage.taken.metadata.topics) == {"a", "z"}
    assert stage.taken.beyond == PARTITIONS_LIMIT


def test_each_broker_is_asked_of_what_it_has() -> None:
    stage = Stage(partition(leader=1), partition(leader=2, replicas=(2, 3)), partition(leader=-1, replicas=(9,), isr=()))
    assert stage.taken.led() == {1: [("orders", 0)], 2: [("orders", 1)], 3: []}
    assert stage.taken.held() == {1: [("orders", 0)], 2: [("orders", 0), ("orders", 1)], 3: [("orders", 0), ("orders", 1)]}
    assert [stage.taken.leader_of(("orders", number)) for number in range(4)] == [1, 2, None, None]
