"""Merging what brokers and ZooKeeper say: who is believed, what is counted, what is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from broker_core.contract.feed import Purgatory, Wheel
from broker_core.contract.live import Cluster
from broker_core.contract.partitions import Claim, Deletion, Reassigning
from broker_core.contract.record_times import RecordTime
from broker_core.contract.sentences import Line
from console.gateway.connection import connection_of
from console.gateway.described_settings import settings_of
from console.gateway.errors import ClusterUnreachable
from console.gateway.kafka_cluster import KafkaCluster
from console.live.merging.partition_book import LATER_MS
from console.live.merging.replica_log import ReplicaLog
from console.live.merging.state import ClusterState
from console.live.owner.owner import dynamic_settings
from console.models import Cluster as Registered
from console.rules.pieces import text_of
from console.rules.settings.model import Owner, Setting
from console.templatetags.figures import of_brokers
from tests.support.console_world import BROKERS, add_topic, cluster_state, stored_topic
from tests.support.feed_rows import batch, claim, group_claim, requests

ALL = [1, 2, 3]


@pytest.fixture
def state() -> ClusterState:
    made = cluster_state(1000)
    made.take(1000)
    return made


def test_of_brokers_that_nobody_has_told_of_the_number_is_unknown() -> None:
    """Not 0 of 0, which a page would call all of them."""
    cluster = ClusterState("local").take(1000)[0]["cluster"]
    assert cluster is not None
    assert (cluster.brokers_online, cluster.brokers_total, cluster.topics_line) == (None, None, None)
    assert of_brokers(cluster) == of_brokers(None) == "unknown"


def test_the_lists_open_with_a_sentence(state: ClusterState) -> None:
    calm = state.everything(1000)["cluster"]
    assert isinstance(calm, Cluster)
    assert of_brokers(calm) == "3 of 3"
    assert calm.topics_line == Line("ok", "All 2 topics are safe.")
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    state.set_partition("orders", 0, 2, 6, [2, 3])
    worse = state.take(2000)[0]["cluster"]
    assert worse is not None
    assert worse.topics_line is not None
    assert worse.topics_line.level != "ok"


def leader_row(end: int = 100, **more: object) -> dict[str, object]:
    return claim("orders", 0, 1, ALL, **{"leader": 1, "isr": ALL, "end": end, **more})  # type: ignore[arg-type]


def test_a_quiet_cluster_changes_nothing(state: ClusterState) -> None:
    for broker in BROKERS:
        state.apply_batch(batch(broker, [claim("orders", 0, broker, ALL, leader=1, isr=ALL, end=100)], 1100), 1100)
    values, events = state.take(1100)
    assert not [key for key in values if key.startswith("partition")]
    assert not events


@pytest.mark.spec("R2")
def test_a_partition_has_each_replicas_own_words(state: ClusterState) -> None:
    """LEO and HW of every replica."""
    state.apply_batch(batch(1, [leader_row(120)], 1200), 1200)
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=1, isr=[], end=115, high_watermark=100)], 1200), 1200)
    value = state.take(1200)[0]["partition/orders/0"]
    assert value is not None
    assert (value.leader, value.leader_epoch, value.log_end_offset, value.high_watermark) == (1, 5, 120, 110)
    assert [(r.broker_id, r.log_end_offset, r.high_watermark) for r in value.replicas] == [
        (1, 120, 110),
        (2, 115, 100),
        (3, 100, 90),
    ]


def follower_row(broker: int, end: int | None, fetch_age_ms: int | None) -> dict[str, object]:
    """What a leader says of a follower."""
    ages = {"fetch_age_ms": fetch_age_ms, "caught_up_age_ms": fetch_age_ms}
    return {"broker_id": broker, "log_end_offset": end, "high_watermark": None, **ages}


@pytest.mark.parametrize(
    ("seen", "end", "hw", "age_ms"),
    [
        (follower_row(3, None, None), 100, 90, 9_000),
        (follower_row(3, 80, 12_400), 100, 90, 9_000),
        (follower_row(3, 104, 8_900), 104, 90, 8_900),
        (follower_row(3, 180, 4_000), 180, None, 4_000),
        (follower_row(3, 190, 500), 190, None, 500),
    ],
    ids=["a new leader never saw it", "it spoke later than it fetched", "it fetched later", "it fetched much later", "it just died"],
)
def test_a_dead_replica_is_shown_where_it_was_last_seen(
    state: ClusterState, seen: dict[str, object], end: int, hw: int | None, age_ms: int
) -> None:
    """Its own last words (heard at 1000) or the leader's sight, whichever is later; a high watermark of another moment is not told."""
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 1500)
    state.apply_batch(batch(1, [leader_row(200, followers=[seen], isr=[1, 2])], 10_000), 10_000)
    value = state.take(10_000)[0]["partition/orders/0"]
    assert value is not None
    last = value.replicas[2]
    assert (last.broker_id, last.in_isr, last.reason) == (3, False, "broker is down")
    assert (last.log_end_offset, last.high_watermark, last.age_ms, last.last_seen_ms) == (end, hw, age_ms, 10_000 - age_ms)


def test_the_leader_tells_of_a_replica_whose_feed_is_lost(state: ClusterState) -> None:
    """It fetches, so its log end is known and current."""
    for now in range(2000, 13_000, 1000):
        row = leader_row(100 + now // 1000, followers=[follower_row(3, 95 + now // 1000, 40)])
        state.apply_batch(batch(1, [row], now), now)
        state.tick(now)
    value = state.take(12_000)[0]["partition/orders/0"]
    assert value is not None
    last = value.replicas[2]
    assert (last.log_end_offset, last.high_watermark, last.age_ms, last.last_seen_ms) == (107, None, 40, None)


def test_what_was_never_known_is_null(state: ClusterState) -> None:
    """A broker that is down since before anybody looked."""
    moving = {0: {"replicas": [1, 2, 3, 9]}}
    state.set_topic("orders", stored_topic(partitions=moving), 1500)
    value = state.take(1500)[0]["partition/orders/0"]
    assert value is not None
    last = value.replicas[3]
    assert [getattr(last, name) for name in ("broker_id", "log_end_offset", "high_watermark", "age_ms", "last_seen_ms")] == [
        9,
        None,
        None,
        None,
        None,
    ]


def test_a_dead_replica_that_grows_old_is_no_change(state: ClusterState) -> None:
    """Its age follows from when it was seen."""
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 1500)
    state.set_partition("orders", 0, 1, 6, [1, 2])
    assert "partition/orders/0" in state.take(1500)[0]
    for now in (2500, 3500):
        for broker in (1, 2):
            state.apply_batch(batch(broker, [], now), now)
        state.tick(now)
        assert "partition/orders/0" not in state.take(now)[0]


def test_what_an_owner_before_knew_of_a_dead_broker_is_recalled() -> None:
    """Of the same topic only, and until the broker speaks for itself."""
    known = {0: {3: ReplicaLog(77, 70, 500)}}
    state = ClusterState("local", {"orders": ("id", known), "clicks": ("another", known)})
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 1000)
    for name in ("orders", "clicks"):
        add_topic(state, name, 1, 1000)
    values = state.take(1000)[0]
    last = values["partition/orders/0"].replicas[2]  # type: ignore[index]
    assert (last.log_end_offset, last.high_watermark, last.age_ms) == (77, 70, 500)
    assert values["partition/clicks/0"].replicas[2].log_end_offset is None  # type: ignore[index]
    state.set_brokers(BROKERS, 2000)
    state.apply_batch(batch(3, [claim("orders", 0, 3, ALL, leader=1, isr=[], end=80)], 2000, full=True), 2000)
    last = state.take(2000)[0]["partition/orders/0"].replicas[2]  # type: ignore[index]
    assert (last.log_end_offset, last.last_seen_ms) == (80, None)


@pytest.mark.spec("R3")
@pytest.mark.parametrize(
    ("fetch_age_ms", "caught_up_age_ms", "reason"),
    [
        (12_400, 20_000, "no fetch for 12.4\u202fs"),
        (20, 31_000, "catching up, behind for 31.0\u202fs"),
        (None, None, "has not fetched yet"),
    ],
)
def test_why_a_replica_is_out(state: ClusterState, fetch_age_ms: int | None, caught_up_age_ms: int | None, reason: str) -> None:
    """Slow, stuck and new are told apart."""
    follower = {
        "broker_id": 3,
        "log_end_offset": 80,
        "high_watermark": 80,
        "fetch_age_ms": fetch_age_ms,
        "caught_up_age_ms": caught_up_age_ms,
    }
    state.apply_batch(batch(1, [leader_row(followers=[follower], isr=[1, 2])], 1500), 1500)
    values, events = state.take(1500)
    value = values["partition/orders/0"]
    assert value is not None
    assert value.replicas[2].reason == reason
    assert value.state == "under_replicated"
    assert events[0].sentence == f"broker 3 left the ISR of orders-0: {reason}. HW now waits for 1 and 2."


def test_the_higher_epoch_wins_whoever_says_it(state: ClusterState) -> None:
    """A deposed leader's claim does not hide the store's newer one; two that claim are both shown."""
    state.set_partition("orders", 0, 2, 6, [2, 3])
    value = state.take(1500)[0]["partition/orders/0"]
    assert value is not None
    assert (value.leader, value.leader_epoch, value.isr) == (2, 6, (2, 3))
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=2, isr=[2, 3], end=100, leader_epoch=6)], 1600), 1600)
    value = state.take(1600)[0]["partition/orders/0"]
    assert value is not None
    assert value.claims == (Claim(1, 5), Claim(2, 6))


def test_a_broker_dies_and_returns(state: ClusterState) -> None:
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    for partition, leader, isr in ((0, 2, [2, 3]), (1, 2, [2, 3]), (2, 3, [3, 2])):
        state.set_partition("orders", partition, leader, 6, isr)
    values, events = state.take(2000)
    cluster = values["cluster"]
    assert cluster is not None
    assert (cluster.brokers_online, cluster.under_replicated, cluster.offline) == (2, 3, 1)
    assert cluster.verdict.level == "bad"
    assert [(e.kind, e.level) for e in events] == [("broker_died", "bad")]
    events = state.take(3500)[1]
    kinds = [(e.kind, e.level) for e in events]
    assert ("leader_moved", "notice") in kinds
    moved = next(e for e in events if e.kind == "leader_moved" and e.topic == "orders")
    assert moved.sentence == "broker 2 took over orders-0 from broker 1, epoch 6: broker 1 is down."
    state.set_brokers({**BROKERS, 1: replace(BROKERS[1], epoch=900)}, 6000)
    state.set_partition("orders", 0, 2, 6, [2, 3, 1])
    events = state.take(6000)[1] + state.take(7500)[1]
    assert [e.kind for e in events if e.broker_id == 1 and e.topic != "clicks"] == ["broker_returned", "isr_expand"]


GONE = {**BROKERS, 1: replace(BROKERS[1], gone_by=(2, 3))}
"""Broker 1's process is gone, as both others see; its session lives."""


def test_a_broker_that_is_gone_before_its_session_ends_is_down(state: ClusterState) -> None:
    """Nobody calls it online, silent or unregistered; the end of its session is no second death."""
    state.set_brokers(GONE, 2000)
    state.feed_cut(1, 2000)
    for partition, leader, isr in ((0, 2, [2, 3]), (1, 2, [2, 3]), (2, 3, [3, 2])):
        state.set_partition("orders", partition, leader, 6, isr)
    values, told = state.take(2000)
    cluster, broker = values["cluster"], values["broker/1"]
    assert cluster is not None and broker is not None
    assert (cluster.brokers_online, cluster.brokers_total, cluster.under_replicated) == (2, 3, 3)
    assert cluster.verdict.text.startswith("Broker 1 is down: ")
    assert "silent" not in cluster.verdict.text
    assert (broker.state, broker.gone_by, broker.host, broker.broker_epoch) == ("offline", (2, 3), "127.0.0.1", BROKERS[1].epoch)
    said = (
        "broker 1 is gone: brokers 2 and 3 see its port refuse, before its session in ZooKeeper ends. Its leaders move to other replicas."
    )
    assert [(e.kind, e.level, e.sentence) for e in told] == [("broker_died", "bad", said)]
    moved = {e.kind: e.sentence for e in state.take(3500)[1] if e.topic == "orders"}
    assert moved["leader_moved"] == "broker 2 took over orders-0 from broker 1, epoch 6: broker 1 is down."
    assert moved["isr_shrink"].startswith("broker 1 left the ISR of orders-")
    assert "broker is down" in moved["isr_shrink"]
    state.set_brokers({**GONE, 1: replace(GONE[1], gone_by=(3,))}, 4000)
    state.tick(9000)
    assert [e for e in state.take(9000)[1] if e.broker_id == 1] == []
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 9500)
    values, told = state.take(9500)
    assert [(e.kind, e.level) for e in told] == [("broker_unregistered", "notice")]
    assert values["broker/1"].gone_by is None  # type: ignore[index]


def test_a_broker_that_registers_anew_after_it_was_gone_returns(state: ClusterState) -> None:
    """Its old registration was replaced before its session ended."""
    state.set_brokers(GONE, 2000)
    state.take(2000)
    state.set_brokers({**BROKERS, 1: replace(BROKERS[1], epoch=900)}, 3000)
    assert [(e.kind, e.level, e.sentence) for e in state.take(3000)[1]] == [
        ("broker_returned", "ok", "broker 1 is registered at 127.0.0.1:9092. Its replicas catch up now.")
    ]


def test_a_broker_that_most_do_not_see_refuse_any_more_is_there_again(state: ClusterState) -> None:
    state.set_brokers(GONE, 2000)
    state.take(2000)
    state.set_brokers(BROKERS, 3000)
    values, told = state.take(3000)
    assert [(e.kind, e.level) for e in told] == [("broker_returned", "warn")]
    assert told[0].sentence.startswith("broker 1 counts as gone no more, in the session it had: ")
    assert values["cluster"].brokers_online == 3  # type: ignore[index]


def test_a_controller_that_is_gone_before_its_session_ends_has_not_resigned(state: ClusterState) -> None:
    state.tick(1900)
    state.take(1900)
    state.set_brokers({**BROKERS, 2: replace(BROKERS[2], gone_by=(1, 3))}, 2000)
    state.set_controller(None, 14, 2010)
    state.set_controller(3, 15, 2020)
    state.tick(2600)
    said = [e for e in state.take(2600)[1] if e.kind == "controller_moved"]
    assert [e.sentence for e in said] == ["broker 3 is the controller now, epoch 15 (was broker 2): broker 2 is down."]


def test_what_was_seen_of_a_process_that_is_gone_is_true_no_more(state: ClusterState) -> None:
    """Until it is looked at again: nobody waits for a dead process to come back by itself."""
    state.set_topic("alone", stored_topic(topic_id="a", partitions={0: {"replicas": [1]}}), 1500)
    state.set_partition("alone", 0, 1, 5, [1])
    state.set_processes({1: "running", 2: "running", 3: "running"})
    state.take(1500)
    state.set_brokers(GONE, 2000)
    values = state.take(2000)[0]
    assert values["broker/1"].process is None  # type: ignore[index]
    assert "start broker 1" in values["partition/alone/0"].advice.text  # type: ignore[index]


def test_what_waited_at_a_broker_goes_with_it(state: ClusterState) -> None:
    waiting = {"produce": 1, "fetch": 2, "join": 0, "heartbeat": 3}
    wheels = [{"tick_ms": 1, "slots": [0, 2]}]
    state.apply_batch(batch(1, [], 1500, said={"purgatory": waiting, "timing_wheels": wheels}), 1500)
    told = state.take(1500)[0]["broker/1"]
    assert (told.purgatory, told.timing_wheels) == (Purgatory(**waiting), (Wheel(1, (0, 2)),))
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    told = state.take(2000)[0]["broker/1"]
    assert (told.purgatory, told.timing_wheels) == (None, None)


def test_a_data_folder_that_went_offline_is_an_event_and_a_word_in_the_verdict(state: ClusterState) -> None:
    """As long as the broker runs; when it comes back after its restart, that is an event too."""
    serves = {"path": "/data", "offline_since_ms": None, "offline_why": None, "free_bytes": 50, "total_bytes": 100, "full_in_s": None}
    gone = {**serves, "offline_since_ms": 1_400, "offline_why": "flush of orders-0 failed: I/O error", "free_bytes": None}
    state.apply_batch(batch(1, [], 1300, said={"log_dir": serves}), 1300)
    assert "data folder" not in state.take(1300)[0]["cluster"].verdict.text  # type: ignore[index]
    state.apply_batch(batch(1, [], 1500, said={"log_dir": gone}), 1500)
    values, told = state.take(1500)
    assert [(e.kind, e.level, e.at_ms, e.broker_id) for e in told] == [("log_dir_offline", "bad", 1_400, 1)]
    broker, cluster = values["broker/1"] or {}, values["cluster"] or {}
    assert (broker.log_dir.state, broker.log_dir.replicas) == ("folder_offline", 5)
    assert "5 replicas there serve nothing" in broker.log_dir.sentence
    assert broker.log_dir.sentence in cluster.verdict.text
    state.set_deleting({"orders"}, 1550)
    waits = state.take(1550)[0]["topic/orders"].deleting
    assert (waits.waits_for, waits.sentence) == (
        (1,),
        "orders is being deleted; this waits for a restart of broker 1, whose data folder is offline.",
    )
    state.apply_batch(batch(1, [], 1600, said={"log_dir": serves}), 1600)
    values, told = state.take(1600)
    assert [e.kind for e in told] == ["log_dir_online"]
    assert values["topic/orders"].deleting.waits_for == ()
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    assert state.take(2000)[0]["broker/1"].log_dir is None


def test_one_of_several_data_folders_is_told_by_its_name(state: ClusterState) -> None:
    """With the replicas that it holds; a deletion does not wait for a broker that serves."""
    one = {
        "path": "/one",
        "offline_since_ms": None,
        "offline_why": None,
        "free_bytes": 50,
        "total_bytes": 100,
        "full_in_s": None,
        "logs": 3,
    }
    two = {**one, "path": "/two", "logs": 2}
    gone = {**two, "offline_since_ms": 1_400, "offline_why": "I/O error", "free_bytes": None}
    state.apply_batch(batch(1, [], 1300, said={"log_dir": one, "other_log_dirs": [two]}), 1300)
    state.take(1300)
    state.apply_batch(batch(1, [], 1500, said={"log_dir": gone, "other_log_dirs": [one]}), 1500)
    values, told = state.take(1500)
    assert [(e.kind, e.level, e.at_ms, e.broker_id) for e in told] == [("log_dir_offline", "bad", 1_400, 1)]
    assert "The data folder /two of broker 1 is offline since" in told[0].sentence
    broker = values["broker/1"]
    assert broker is not None
    assert (broker.log_dir.state, broker.log_dir.replicas) == ("folder_offline", 2)
    assert "2 replicas there serve nothing" in broker.log_dir.sentence
    assert [(folder.path, folder.state, folder.replicas) for folder in broker.other_log_dirs] == [("/one", "folder_serves", 3)]
    state.set_deleting({"orders"}, 1550)
    assert state.take(1550)[0]["topic/orders"].deleting.waits_for == ()
    state.apply_batch(batch(1, [], 1600, said={"log_dir": one, "other_log_dirs": [two]}), 1600)
    assert [e.sentence for e in state.take(1600)[1]] == ["The data folder /two of broker 1 serves again."]


def test_what_an_offline_folder_does_to_a_partition_is_told_with_its_cause(state: ClusterState) -> None:
    """The broker lives: neither its session nor its speed is to blame."""
    gone = claim("orders", 0, 1, ALL, leader=1, isr=[], end=100)
    state.apply_batch(batch(1, [replace(gone, role="offline", leader=-1)], 1500), 1500)
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=2, isr=[2, 3], end=100, leader_epoch=6)], 1600), 1600)
    state.set_partition("orders", 0, 2, 6, [2, 3])
    values, told = state.take(1600)
    told += state.take(3500)[1]
    sentences = {e.kind: e.sentence for e in told}
    assert sentences["leader_moved"] == "broker 2 took over orders-0 from broker 1, epoch 6: the data folder of broker 1 is offline."
    assert sentences["isr_shrink"].startswith("broker 1 left the ISR of orders-0: its data folder is offline. ")
    replica = next(r for r in values["partition/orders/0"].replicas if r.broker_id == 1)
    assert (replica.reason, replica.in_isr) == ("its data folder is offline", False)


def test_a_partition_whose_leader_is_gone_is_offline_at_once(state: ClusterState) -> None:
    """Before the controller has written anything: nobody can read or write it."""
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    value = state.take(2000)[0]["partition/orders/0"]
    assert value is not None
    assert (value.leader, value.state) == (None, "offline")


@pytest.mark.spec("R5")
def test_under_min_isr_names_the_effect(state: ClusterState) -> None:
    """acks=all is refused."""
    state.apply_batch(batch(1, [leader_row(isr=[1])], 1500), 1500)
    values, events = state.take(1500)
    value = values["partition/orders/0"]
    assert value is not None
    assert value.state == "under_min_isr"
    refused = "Writes with acks=all are refused: 1 in sync, min.insync.replicas is 2."
    assert text_of(value.remarks) == f"{refused} {value.advice.text}"
    assert all("Acks=all is refused: min.insync.replicas is 2." in e.sentence and e.level == "bad" for e in events)


@pytest.mark.spec("R6")
def test_truncation_is_told_once(state: ClusterState) -> None:
    """A follower's log is cut to the epoch's end."""
    row = claim("orders", 0, 3, ALL, leader=1, isr=ALL, end=90, truncation={"from": 100, "to": 90})
    state.apply_batch(batch(3, [row], 2000), 2000)
    told = state.take(2000)[1]
    gone = "its 10 records at offsets 90 to 99 are gone"
    assert [e.sentence for e in told] == [f"broker 3 cut orders-0 from 100 back to 90 to follow epoch 5 of broker 1: {gone}."]
    state.apply_batch(batch(3, [replace(row, log_end_offset=95)], 2100), 2100)
    assert state.take(2100)[1] == []


def test_what_is_found_at_the_start_is_no_event() -> None:
    """A restarted `live` sees a cluster as it is; nothing has happened."""
    state = ClusterState("local")
    state.set_controller(2, 14, 1000)
    state.set_brokers(BROKERS, 1000)
    add_topic(state, "orders", 3, 1000)
    assert state.take(1000)[1] == []


def test_a_partition_that_no_leader_has_reported_on_is_starting(state: ClusterState) -> None:
    """Neither offline, between the assignment and the first leadership, nor safe, while only the store names its leader."""
    fresh = {0: {"replicas": [1, 2, 3]}}
    state.set_topic("fresh", stored_topic(partitions=fresh), 1500)
    values, _ = state.take(1500)
    assert values["partition/fresh/0"].state == "starting"  # type: ignore[index]
    assert [getattr(values["topic/fresh"], name) for name in ("partitions", "starting", "offline")] == [1, 1, 0]  # type: ignore[index]
    state.set_partition("fresh", 0, 1, 0, ALL)
    state.apply_batch(batch(2, [claim("fresh", 0, 2, ALL, leader=1, isr=[], end=0)], 1550), 1550)
    values, _ = state.take(1600)
    assert (values["partition/fresh/0"].leader, values["partition/fresh/0"].state) == (1, "starting")  # type: ignore[index]
    assert "1 partition is starting: its leader has not reported yet. The other 5 are safe." in values["cluster"].verdict.text  # type: ignore[index]
    state.apply_batch(batch(1, [claim("fresh", 0, 1, ALL, leader=1, isr=ALL, end=0, leader_epoch=0)], 1700), 1700)
    values, events = state.take(1700)
    assert (values["partition/fresh/0"].state, values["topic/fresh"].starting) == ("safe", 0)  # type: ignore[index]
    assert events == []


def test_what_a_broker_says_before_the_topic_is_known_is_kept(state: ClusterState) -> None:
    """An idle partition's leader speaks once; ZooKeeper's news of the topic may come later."""
    state.apply_batch(batch(1, [claim("fresh", 0, 1, ALL, leader=1, isr=ALL, end=7)], 1500), 1500)
    assert "partition/fresh/0" not in state.take(1500)[0]
    add_topic(state, "fresh", 1, 1600)
    assert state.take(1600)[0]["partition/fresh/0"].log_end_offset == 7  # type: ignore[index]


@pytest.mark.spec("Z2")
def test_the_controller_moves(state: ClusterState) -> None:
    """A new epoch each time. Its death is known only after the next one is."""
    state.tick(1900)
    state.take(1900)
    state.set_controller(None, 14, 1990)
    state.set_controller(3, 15, 2000)
    state.set_brokers({b: BROKERS[b] for b in (1, 3)}, 2100)
    values, events = state.take(2100)
    assert [e.kind for e in events] == ["broker_died"]
    assert values["broker/3"].is_controller is True  # type: ignore[index]
    assert values["broker/2"].is_controller is False  # type: ignore[index]
    state.tick(2600)
    said = [e for e in state.take(2600)[1] if e.kind == "controller_moved"]
    assert [e.sentence for e in said] == ["broker 3 is the controller now, epoch 15 (was broker 2): broker 2 is down."]
    state.set_controller(1, 16, 5000)
    state.tick(6000)
    said = [e for e in state.take(6000)[1] if e.kind == "controller_moved"]
    assert [e.sentence for e in said] == ["broker 1 is the controller now, epoch 16 (was broker 3): broker 3 is registered still."]
    state.tick(7000)
    assert not [e for e in state.take(7000)[1] if e.kind == "controller_moved"]


def test_a_full_batch_forgets_what_it_does_not_name(state: ClusterState) -> None:
    """A replica that was removed while nobody looked is gone."""
    state.apply_batch(batch(3, [], 1500, full=True), 1500)
    value = state.take(1500)[0]["partition/orders/0"]
    assert value is not None
    assert value.replicas[2].log_end_offset is None


def test_counts_are_kept_by_difference() -> None:
    state = cluster_state(1000, {"wide": 1000})
    values = state.take(1000)[0]
    assert values["cluster"].partitions == 1000  # type: ignore[index]
    state.apply_batch(batch(1, [claim("wide", 0, 1, ALL, leader=1, isr=[1, 2], end=150)], 1100), 1100)
    values = state.take(1100)[0]
    assert {key for key in values if key.startswith("partition")} == {"partition/wide/0"}
    assert values["cluster"].under_replicated == 1  # type: ignore[index]
    assert values["topic/wide"].messages == 100_050  # type: ignore[index]
    state.drop_topic("wide", 1200)
    values, events = state.take(1200)
    assert values["topic/wide"] is None
    assert values["partition/wide/999"] is None
    assert values["cluster"].partitions == values["cluster"].under_replicated == 0  # type: ignore[index]
    assert events[0].kind == "topic_deleted"


def leaders_of_orders(end: int, at_ms: int, state: ClusterState) -> None:
    for partition in range(3):
        leader = partition % 3 + 1
        state.apply_batch(batch(leader, [claim("orders", partition, leader, ALL, leader=leader, isr=ALL, end=end)], at_ms), at_ms)


def test_records_that_no_leader_tells_of_are_not_none(state: ClusterState) -> None:
    """What lies on a dead broker's disk is unknown: the sums are at least what the others tell, and nothing where nobody does."""
    leaders_of_orders(100, 1500, state)
    state.set_brokers({1: BROKERS[1], 2: BROKERS[2]}, 2000)
    orders = state.take(2000)[0]["topic/orders"]
    assert orders is not None
    assert (orders.offline, orders.unmeasured, orders.messages, orders.size_bytes) == (1, 1, 200, 2000)
    state.set_brokers({}, 2500)
    values = state.take(2500)[0]
    assert {values[key].unmeasured for key in ("topic/orders", "broker/1")} == {3, 5}  # type: ignore[index]
    assert {values[key].size_bytes for key in ("topic/orders", "broker/1")} == {None}  # type: ignore[index]
    assert values["topic/orders"].messages is None  # type: ignore[index]


def test_records_that_are_known_again_have_not_just_arrived(state: ClusterState) -> None:
    leaders_of_orders(1_000_000, 1500, state)
    state.tick(2000)
    state.set_brokers({1: BROKERS[1], 2: BROKERS[2]}, 2500)
    state.tick(3000)
    state.tick(4000)
    state.set_brokers(BROKERS, 4500)
    leaders_of_orders(1_000_000, 4600, state)
    state.tick(5000)
    state.tick(6000)
    orders = state.take(6000)[0]["topic/orders"]
    assert orders is not None
    assert (orders.unmeasured, orders.messages_per_s) == (0, 0)


@pytest.mark.spec("Z4")
def test_a_topic_that_is_being_deleted_is_no_alarm(state: ClusterState) -> None:
    """Its partitions lose their leaders on purpose; it waits for a broker that is down, and that is said."""
    state.set_deleting({"orders"}, 1500)
    for partition, leader in enumerate((3, -1, -1)):
        state.set_partition("orders", partition, leader, 6, [3])
    values, events = state.take(1500)
    assert [e.sentence for e in events] == ["topic orders is being deleted."]
    cluster, topic = values["cluster"], values["topic/orders"]
    assert cluster is not None
    assert topic is not None
    assert values["partition/orders/0"].state == "deleting"  # type: ignore[index]
    assert (cluster.deleting, cluster.partitions) == (3, 5)
    assert not any(
        getattr(cluster, name) for name in ("offline", "under_min_isr", "under_replicated", "out_of_sync_replicas", "not_preferred")
    )
    assert cluster.verdict.text == "All 2 partitions are safe. Topic orders is being deleted."
    assert topic.deleting == Deletion((), False, "orders is being deleted.")
    state.set_brokers({b: BROKERS[b] for b in (1, 3)}, 2000)
    topic = state.take(2000)[0]["topic/orders"]
    assert topic is not None
    assert topic.deleting.waits_for == (2,)
    state.drop_topic("orders", 3000)
    state.set_deleting(set(), 3000)
    values, events = state.take(4000)
    assert (values["topic/orders"], values["cluster"].deleting) == (None, 0)  # type: ignore[index]
    assert [e.sentence for e in events if e.topic == "orders"] == ["topic orders was deleted."]


def test_a_deletion_that_is_taken_back_leaves_the_topic_as_it_is(state: ClusterState) -> None:
    state.set_deleting({"orders"}, 1500)
    state.take(1500)
    state.set_deleting(set(), 1600)
    values, events = state.take(1600)
    assert (values["partition/orders/0"].state, values["topic/orders"].deleting) == ("safe", None)  # type: ignore[index]
    assert events == []


def test_what_was_being_deleted_at_the_start_is_no_event() -> None:
    state = cluster_state(1000)
    state.set_deleting({"orders"}, 1000)
    assert state.take(1000)[1] == []


def test_a_change_of_many_partitions_is_taken_in_slices() -> None:
    """What is told meanwhile of a partition that waits is merged with it once; what nobody tells anew of a dead broker's followers
    comes last."""
    state = cluster_state(1000, {"wide": 30})
    state.take(1000)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    first = partitions_in(state.take(2000, 4)[0])
    assert len(first) == 4
    assert state.has_more(2000)
    for p in range(30):
        left = [b for b in ((p + i) % 3 + 1 for i in range(3)) if b != 3]
        state.set_partition("wide", p, left[0], 6, left)
    taken = []
    while state.has_more(2100):
        taken += partitions_in(state.take(2100, 4)[0])
    assert sorted(taken) == sorted(f"partition/wide/{p}" for p in range(30))
    assert state.counts.get("cluster", None, "under_replicated") == 30


def test_the_other_copies_of_a_dead_broker_are_told_later(state: ClusterState) -> None:
    """Nobody tells of them anew where the broker was out of the ISR already."""
    state.set_partition("orders", 0, 1, 6, [1, 2])
    state.take(1500)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    assert "partition/orders/0" not in state.take(2000, 100)[0]
    assert not state.has_more(2000)
    assert state.has_more(2000 + LATER_MS)
    value = state.take(2000 + LATER_MS, 100)[0]["partition/orders/0"]
    assert value is not None
    assert value.replicas[2].reason == "broker is down"
    assert not state.has_more(9000)


def partitions_in(values: Mapping[str, object]) -> list[str]:
    return [key for key in values if key.startswith("partition/")]


@pytest.mark.spec("N1")
def test_what_a_broker_says_of_its_loop_is_told_while_it_is_heard(state: ClusterState) -> None:
    said = {"connections": 7, "idle_percent": 93.5, "loop_stalls": 2}
    state.apply_batch(batch(1, [], 1500, said=said), 1500)
    value = state.take(1500)[0]["broker/1"]
    assert value is not None
    assert {name: getattr(value, name) for name in said} == said
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 2000)
    gone = state.take(2000)[0]["broker/1"]
    assert gone is not None
    assert {getattr(gone, name) for name in said} == {None}


def test_a_new_topic_is_told(state: ClusterState) -> None:
    add_topic(state, "fresh", 2, 1500)
    assert [e.sentence for e in state.take(1500)[1]] == ["topic fresh was created with 2 partitions."]


def test_a_reassignment_shows_what_is_added_and_removed(state: ClusterState) -> None:
    moving = {0: {"replicas": [4, 1, 2, 3], "adding": [4], "removing": [1]}}
    state.set_topic("orders", stored_topic(partitions=moving), 1500)
    value = state.take(1500)[0]["partition/orders/0"]
    assert value is not None
    assert value.reassigning == Reassigning((4,), (1,))
    assert [r.broker_id for r in value.replicas] == [1, 4, 2, 3]


@pytest.mark.spec("O1")
def test_a_healthy_reassignment_is_not_under_replicated(state: ClusterState) -> None:
    """The copy that is being made is not one that is missing, on any page, in REST, the report or the metrics."""
    moving = {0: {"replicas": [1, 4, 2, 3], "adding": [4], "removing": [2]}}
    state.set_brokers({**BROKERS, 4: BROKERS[1]}, 1200)
    state.apply_batch(batch(4, [claim("orders", 0, 4, [1, 4, 2, 3], leader=1, isr=[], end=10)], 1300), 1300)
    state.set_topic("orders", stored_topic(partitions=moving), 1500)
    values = state.take(1500)[0]
    partition, whole, cluster = values["partition/orders/0"], values["topic/orders"], values["cluster"]
    assert partition is not None and whole is not None and cluster is not None
    assert partition.state == "safe"
    copying = next(r for r in partition.replicas if r.broker_id == 4)
    assert (copying.in_isr, copying.reason) == (False, "a new copy: has not fetched yet")
    for value in (whole, cluster):
        assert (value.under_replicated, value.out_of_sync_replicas) == (0, 0)
    assert values["broker/4"].out_of_sync == 0  # type: ignore[index]
    assert cluster.verdict.level == "ok"


def test_a_move_to_more_copies_than_min_isr_is_told_once(state: ClusterState) -> None:
    """min.insync.replicas counts the new replicas from the start, as in Kafka: acks=all is refused until they are in sync."""
    moving = {0: {"replicas": [1, 2, 3], "adding": [2, 3], "removing": []}}
    state.set_topic("grows", stored_topic(topic_id="g", partitions=moving), 1500)
    state.set_partition("grows", 0, 1, 5, [1])
    state.apply_batch(batch(1, [claim("grows", 0, 1, [1, 2, 3], leader=1, isr=[1], end=10)], 1500), 1500)
    state.set_partition("orders", 0, 1, 6, [1, 2])
    cluster = state.take(1600)[0]["cluster"]
    assert cluster is not None
    assert (cluster.under_min_isr, cluster.under_replicated) == (1, 1)
    assert cluster.verdict.text.startswith("1 partition refuses acks=all writes; 1 partition has fewer copies than wanted.")


def test_a_reassignment_is_told_when_it_begins_and_ends(state: ClusterState) -> None:
    state.set_topic("orders", stored_topic(partitions={0: {"replicas": [4, 1, 2, 3], "adding": [4], "removing": [1]}}), 1500)
    assert [e.sentence for e in state.take(1500)[1]] == ["orders-0 is being moved: joining 4, leaving 1."]
    state.set_topic("orders", stored_topic(partitions={0: {"replicas": [4, 2, 3]}}), 1600)
    assert [e.sentence for e in state.take(1600)[1]] == ["the move of orders-0 is over: its replicas are 4, 2, 3."]


def test_a_partition_without_a_leader_does_not_refuse_acks_all_for_its_isr(state: ClusterState) -> None:
    """A new controller takes who is gone out of the ISRs before it elects leaders."""
    state.set_brokers({b: BROKERS[b] for b in (2, 3)}, 1500)
    state.take(1500)
    state.set_partition("orders", 0, -1, 6, [2, 3])
    told = state.take(3500)[1]
    shrink = next(e for e in told if e.kind == "isr_shrink")
    assert shrink.sentence == "broker 1 left the ISR of orders-0: broker is down. It has no leader now: no reads, no writes."


def test_a_broker_whose_session_ended_is_not_called_slow(state: ClusterState) -> None:
    """The controller took it out in a new epoch; it may be registered again before anybody looks."""
    state.set_partition("orders", 0, 2, 6, [2, 3])
    shrink = next(e for e in state.take(1500)[1] if e.kind == "isr_shrink")
    assert shrink.sentence == "broker 1 left the ISR of orders-0: the controller saw it go. HW now waits for 2 and 3."


def test_a_move_is_no_fault(state: ClusterState) -> None:
    """A replica that a reassignment takes out has not left, and one that it brings in is not back."""
    moving = {0: {"replicas": [1, 2, 3, 4], "adding": [4], "removing": [2]}}
    state.set_topic("orders", stored_topic(partitions=moving), 1400)
    state.take(1400)
    state.set_partition("orders", 0, 1, 6, [1, 3, 4])
    said = [e.sentence for e in state.take(1500)[1] if e.kind.startswith("isr")]
    assert said == ["broker 4 joined the ISR of orders-0: its new copy is complete. In sync: 1, 3 and 4."]


def test_a_feed_that_falls_silent_is_told_and_its_words_are_old(state: ClusterState) -> None:
    for now in range(2000, 14_000, 1000):
        state.apply_batch(batch(1, [leader_row(100 + now // 1000)], now), now)
        state.apply_batch(batch(2, [], now), now)
        state.tick(now)
    values, events = state.take(13_000)
    assert [e.kind for e in events] == ["feed_lost"]
    assert values["cluster"].feed.state == "partial"  # type: ignore[index]
    silent = values["partition/orders/0"].replicas[2]  # type: ignore[index]
    assert (silent.log_end_offset, silent.last_seen_ms) == (100, 1000)
    state.apply_batch(batch(3, [], 13_500), 13_500)
    state.tick(13_600)
    assert [e.kind for e in state.take(13_600)[1]] == ["feed_back"]


def test_rates_come_from_totals(state: ClusterState) -> None:
    for step in range(5):
        now = 2000 + step * 1000
        for broker in BROKERS:
            told = {
                "produced_bytes": (step + 1) * 1000,
                "fetched_bytes": 0,
                "messages_in": (step + 1) * 10,
                "requests": {"Produce": requests(step * 5)},
            }
            state.apply_batch(batch(broker, [], now, said=told), now)
    values = state.take(6000)[0]
    assert values["broker/1"].bytes_in_per_s == 1000.0  # type: ignore[index]
    assert values["broker/1"].requests["Produce"].per_s == 5.0  # type: ignore[index]
    assert values["cluster"].produce_bytes_per_s == 3000.0  # type: ignore[index]
    state.apply_batch(batch(1, [], 7000, said={"produced_bytes": 0, "fetched_bytes": 0, "messages_in": 0}), 7000)
    assert state.take(7000)[0]["broker/1"].bytes_in_per_s is None  # type: ignore[index]


@pytest.mark.spec("O1")
def test_group_lag_follows_commits_and_ends(state: ClusterState) -> None:
    """Committed, end and lag of each partition, as they move."""
    state.apply_batch(batch(1, [leader_row(200)], 2000), 2000)
    values = state.take(2000)[0]
    row, group = values["lag/billing/orders/0"], values["group/billing"]
    assert row is not None
    assert group is not None
    assert (row.committed, row.high_watermark, row.lag, row.client_id) == (50, 190, 140, "c")
    assert (group.lag, group.state, group.topics, group.coordinator) == (140, "Stable", ("orders",), 1)
    state.apply_batch(batch(1, [], 2100, groups=[group_claim("billing", {"orders": {0: 190}}, commit_ms=2100)]), 2100)
    values = state.take(2100)[0]
    assert values["lag/billing/orders/0"].lag == 0  # type: ignore[index]
    assert values["group/billing"].sentence == "Group billing has caught up."  # type: ignore[index]


def test_a_rebalance_seen_step_by_step_is_told_once(state: ClusterState) -> None:
    """The generation rises before the group is stable again; the event comes when it is."""
    said = []
    for at_ms, step, generation in (
        (2000, "PreparingRebalance", 1),
        (2100, "CompletingRebalance", 2),
        (2200, "Stable", 2),
        (2300, "Stable", 2),
    ):
        claim = group_claim("billing", {"orders": {0: 60}}, generation=generation, state=step)
        state.apply_batch(batch(1, [], at_ms, groups=[claim]), at_ms)
        said += [e.sentence for e in state.take(at_ms)[1] if e.kind == "group_rebalance"]
    assert said == ["group billing rebalanced to generation 2: its members rejoined; 1 member."]


def test_a_group_moves_to_another_coordinator(state: ClusterState) -> None:
    """The old coordinator's farewell does not remove what the new one has told."""
    state.apply_batch(batch(2, [], 2000, groups=[group_claim("billing", {"orders": {0: 60}}, generation=2)]), 2000)
    state.apply_batch(batch(1, [], 2010, removed_groups=["billing"]), 2010)
    values, events = state.take(2010)
    assert values["group/billing"].coordinator == 2  # type: ignore[index]
    assert [e.sentence for e in events] == ["group billing rebalanced to generation 2: its members rejoined; 1 member."]
    state.apply_batch(batch(2, [], 2020, full=True), 2020)
    values = state.take(2020)[0]
    assert values["group/billing"] is None
    assert values["lag/billing/orders/0"] is None
    assert values["cluster"].groups == 0  # type: ignore[index]


def test_lag_in_seconds_grows_while_a_group_stands_still(state: ClusterState) -> None:
    for step in range(1, 61):
        now = 1000 + step * 1000
        for broker in BROKERS:
            state.apply_batch(batch(broker, [claim("orders", 0, broker, ALL, leader=1, isr=ALL, end=100 + step * 10)], now), now)
        state.tick(now)
        values = state.take(now)[0]
    group = values["group/billing"]
    assert group is not None
    assert group.lag == 640
    assert (group.lag_s, group.lag_basis, group.attention) == (59.0, "at_least", "notice")
    assert group.trend in ("stalled", "falling_behind")


def test_lag_in_time_is_the_age_of_the_record_wherever_it_is_told(state: ClusterState) -> None:
    for step in range(1, 21):
        now = 1000 + step * 1000
        state.apply_batch(batch(1, [claim("orders", 0, 1, ALL, leader=1, isr=ALL, end=100 + step * 10)], now), now)
        state.tick(now)
        state.take(now)
    assert state.untimed(10) == {("127.0.0.1", 9092): [("billing", ("orders", 0), 50)]}
    state.groups.take_time("billing", ("orders", 0), RecordTime(50, 21_000 - 4_800_000, True))
    state.take(21_000)
    state.tick(21_000)
    values = state.take(21_000)[0] | {key: state.everything(21_000)[key] for key in ("lag/billing/orders/0", "group/billing")}
    row, group = values["lag/billing/orders/0"], values["group/billing"]
    assert row is not None
    assert group is not None
    assert {(v.lag_s, v.lag_basis) for v in (row, group)} == {(4_800.0, "record")}
    assert "80\u202fmin behind" in group.sentence
    assert "80\u202fmin behind" in values["cluster"].verdict.text  # type: ignore[index]
    assert state.untimed(10) == {}
    state.apply_batch(batch(1, [], 22_000, groups=[group_claim("billing", {"orders": {0: 60}})]), 22_000)
    assert state.take(22_000)[0]["group/billing"].lag_basis == "estimate"  # type: ignore[index]
    assert state.untimed(10) == {("127.0.0.1", 9092): [("billing", ("orders", 0), 60)]}
    state.apply_batch(batch(1, [], 23_000, removed_groups=["billing"]), 23_000)
    assert state.untimed(10) == {}


def test_a_batch_reader_does_not_turn_the_page_yellow(state: ClusterState) -> None:
    """It rests for 90 s and works for 30 s: once its rhythm is known, nothing is said of it, by page, row or partition."""
    end, committed, levels, rows = 100, 100, [], []
    for second in range(600):
        now, end = 2_000 + second * 1000, end + 10
        committed = end if second % 120 < 30 else committed
        group = group_claim("billing", {"orders": {0: committed}}, commit_ms=now - 1000 * max(second % 120 - 29, 0))
        state.apply_batch(batch(1, [claim("orders", 0, 1, ALL, leader=1, isr=ALL, end=end + 10)], now, groups=[group]), now)
        state.tick(now)
        for quiet in (2, 3):
            state.apply_batch(batch(quiet, [], now), now)
        values = state.take(now)[0]
        levels.append(values["cluster"].verdict.level)  # type: ignore[index]
        rows.append(state.groups.rows["billing"]["orders", 0].status)
    assert "warn" not in levels
    assert set(levels[300:]) == {"ok"}
    assert set(rows[300:]) == {"ok", "between"}
    assert state.groups.values["billing"].trend == "in_rhythm"
    assert "as usual: it catches up about every" in state.groups.values["billing"].sentence


def test_many_of_a_kind_become_one_sentence() -> None:
    state = cluster_state(1000, {"wide": 90})
    state.take(1000)
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, 2000)
    for p in range(90):
        replicas = [(p + i) % 3 + 1 for i in range(3)]
        left = [b for b in replicas if b != 3]
        state.set_partition("wide", p, left[0], 6, left)
    assert [e.kind for e in state.take(2000)[1]] == ["broker_died"]
    said = [e.sentence for e in state.take(3500)[1]]
    assert len(said) == 2
    assert "30 leaders moved: broker 1 leads 30 (wide-11, wide-14, wide-17, …): broker 3 is down." in said
    assert any("left the ISR of 90 partitions" in text and "broker is down" in text for text in said)


def test_local_processes_are_shown(state: ClusterState) -> None:
    state.set_processes({1: "running", 2: "paused"})
    values = state.take(1500)[0]
    assert values["broker/2"].process == "paused"  # type: ignore[index]
    state.set_processes({1: "running", 2: "paused"})
    assert "broker/2" not in state.take(1600)[0]


def test_everything_is_what_a_new_reader_gets(state: ClusterState) -> None:
    values = state.everything(1500)
    kinds = {key.split("/")[0] for key in values}
    assert kinds == {"cluster", "broker", "topic", "partition", "group", "lag", "reader"}
    assert len([key for key in values if key.startswith("partition")]) == 5


def test_brokers_settings_are_asked_of_each_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings(_self: KafkaCluster, owner: Owner) -> list[Setting]:
        if owner.name == "2":
            raise ClusterUnreachable("away")
        entry = {"config_source": "DYNAMIC_BROKER_CONFIG", "synonyms": []}
        told = {"log.retention.ms": {**entry, "value": "5"}, "ssl.key.password": {**entry, "value": None, "is_sensitive": True}}
        return settings_of(told, owner, {})

    monkeypatch.setattr(KafkaCluster, "settings", settings)
    found = dynamic_settings(connection_of(Registered(pk="x", bootstrap_servers="127.0.0.1:1")), {1, 2})
    assert found == {1: {"log.retention.ms": "5", "ssl.key.password": "hidden"}}
