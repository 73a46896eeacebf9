"""The small parts of the live way: subscriptions, outboxes, rates, samples, keys."""

from __future__ import annotations

import json

import pytest

from broker_core.contract.feed import Member
from console.live.browser.outbox import Outbox
from console.live.browser.subscription import BadSubscription, parse
from console.live.merging.rates import Rate, RateBook
from console.live.merging.summaries import broker_value
from console.live.sampling.samples import samples
from console.snapshot import keys
from tests.support.console_world import add_topic, cluster_state
from tests.support.feed_rows import STAGES, batch, group_claim, requests, says


def test_a_page_gets_what_it_shows() -> None:
    wanted = parse("cluster=local&brokers=1&topics=orders:0-1&topic_rows=clicks&groups=a%252Fb&group_rows=x&events=1&jobs=7")
    yes = [
        "cluster",
        "broker/3",
        "topic/orders",
        "topic/clicks",
        "partition/orders/1",
        "group/a%2Fb",
        "lag/a%2Fb/orders/0",
        "group/x",
        "event/9",
        "job/7",
    ]
    no = ["partition/orders/2", "partition/clicks/0", "topic/other", "lag/x/orders/0", "group/other", "job/8", "nonsense"]
    assert [key for key in yes if not wanted.wants(key)] == []
    assert [key for key in no if wanted.wants(key)] == []


@pytest.mark.parametrize(
    "query",
    [
        "cluster=../x",
        "jobs=all",
        "what=1",
        "topics=a:5-1",
        "topics=a:0-9999",
        "topics=a:b:c",
        "topic_rows=" + ",".join(f"t{n}" for n in range(201)),
        "topic_rows=" + "x" * 40_000,
        "&".join(f"brokers={n}" for n in range(50)),
    ],
)
def test_a_wrong_subscription_is_refused(query: str) -> None:
    with pytest.raises(BadSubscription):
        parse(query)


def test_an_outbox_holds_one_latest_value_per_key() -> None:
    box = Outbox(parse("brokers=1"))
    box.snapshot_taken(5, box.round)
    for seq in range(6, 1000):
        box.offer(seq, {"broker/1": seq, "topic/other": seq})
    assert box.take() == (999, {"broker/1": 999})
    assert box.take() == (999, {})


def test_what_the_snapshot_has_is_not_sent_again_and_what_came_after_is() -> None:
    box = Outbox(parse("brokers=1"))
    assert box.offer(7, {"broker/1": "old"}) is False
    assert box.offer(9, {"broker/2": "new"}) is False
    box.snapshot_taken(8, box.round)
    assert box.take() == (9, {"broker/2": "new"})


def test_a_gap_while_a_snapshot_is_read_asks_for_another() -> None:
    box = Outbox(parse("brokers=1"))
    asked = box.round
    box.start_over()
    box.snapshot_taken(8, asked)
    assert box.stale is True


@pytest.mark.parametrize("topic", ["a/b", "", "a\nb", "é", "x" * 30_000])
def test_what_a_member_says_it_reads_and_nobody_has_is_no_row(topic: str) -> None:
    """An assignment is bytes that a client chose: it must not keep the snapshot from being written."""
    state = cluster_state(0)
    group = group_claim("g", {"orders": {0: 5}}, members=[Member("m", assignment={topic: [0, -1], "orders": [1, 9]})])
    state.apply_batch(batch(1, [], 10, groups=[group]), 10)
    changed = state.take(10)[0]
    assert [key for key in changed if key.startswith("lag/g/")] == ["lag/g/orders/0", "lag/g/orders/1"]
    assert changed["group/g"].topics == ("orders",)


def test_a_row_comes_with_its_partition() -> None:
    """Topic and group may be new at once, and the group be heard of first."""
    state = cluster_state(0)
    group = group_claim("g", {}, members=[Member("m", assignment={"later": [0]})])
    state.apply_batch(batch(1, [], 10, groups=[group]), 10)
    assert "lag/g/later/0" not in state.take(10)[0]
    add_topic(state, "later", 1, 20)
    assert "lag/g/later/0" in state.take(20)[0]


@pytest.mark.parametrize(("partitions", "said"), [(1, "with 1 partition."), (2, "with 2 partitions.")])
def test_a_new_topic_is_told_of_in_words(partitions: int, said: str) -> None:
    state = cluster_state(0)
    state.take(0)
    add_topic(state, "new", partitions, 10)
    assert [event.sentence for event in state.take(10)[1]] == [f"topic new was created {said}"]


def test_a_store_that_does_not_answer_is_said_after_a_while_and_until_it_does() -> None:
    state = cluster_state(0)
    silent = "ZooKeeper does not answer"

    def said(at_ms: int) -> bool:
        state.tick(at_ms)
        return silent in state.take(at_ms)[0]["cluster"].verdict.text

    assert not said(1_000)
    state.set_store(False, 2_000)
    assert not said(3_000)
    state.set_store(False, 4_000)
    assert said(5_000)
    state.set_store(True, 6_000)
    assert not said(6_000)


def test_a_total_over_more_things_starts_anew() -> None:
    """A million records whose leader tells of them again have not arrived within a second."""
    rate, seen = Rate(), []
    for at_ms, total, over in ((2000, 3e6, 3), (3000, 2e6, 2), (4000, 2e6, 2), (5000, 3e6, 3)):
        rate.add(at_ms, total, over)
        seen.append(rate.per_s())
    assert seen == [None, None, 0.0, None]


def test_rates_need_a_second_and_forget_a_restart() -> None:
    rate = Rate()
    rate.add(0, 100)
    rate.add(500, 150)
    assert rate.per_s() is None
    rate.add(1000, 200)
    assert rate.per_s() == 100.0
    rate.add(2000, 10)
    assert rate.per_s() is None


def test_a_deleted_topics_rate_is_forgotten() -> None:
    """One made anew under its name begins anew, and topics that come and go take no room."""
    state = cluster_state(0)
    for at_ms in (0, 1_000, 2_000):
        state.take(at_ms)
        state.tick(at_ms)
    assert state.rates.per_s("topic", "orders") == 0.0
    state.drop_topic("orders", 3_000)
    assert state.rates.per_s("topic", "orders") is None


@pytest.mark.parametrize("name", ["billing", "a/b", "<b>&", "é %2F", "x" * 255])
def test_a_groups_keys_survive_any_name(name: str) -> None:
    assert keys.place("local", keys.group(name)) == ("hw:{local}:groups", name)
    assert keys.place("local", keys.lag(name, "orders", 3)) == (f"hw:{{local}}:lag:{name}", "orders/3")
    assert keys.place("local", keys.partition("a.b-c_d", 12)) == ("hw:{local}:partitions:a.b-c_d", "12")


def test_a_sample_holds_what_analytics_reads() -> None:
    state = cluster_state(1000)
    state.take(1000)
    rows = [row for group in state.groups.rows.values() for row in group.values()]
    brokers = [broker_value(state, broker, 1000) for broker in sorted(state.known_brokers())]
    found = [json.loads(value) for _, value in samples("local", state.values.values(), rows, brokers, 5000)]
    partition = next(s for s in found if s["kind"] == "partition")
    group = next(s for s in found if s["kind"] == "group")
    assert (partition["v"], partition["at_ms"], partition["cluster"], partition["log_end_offset"]) == (1, 5000, "local", 100)
    assert (group["group"], group["topic"], group["lag"]) == ("billing", "orders", 40)
    assert len(found) == 9
    disk = next(s for s in found if s["kind"] == "broker")
    assert (disk["broker"], disk["folder"]) == (1, "/data")
    assert 0 < disk["disk_used_bytes"] < disk["disk_total_bytes"]


def test_a_broker_that_is_not_heard_has_no_sample_of_its_disk() -> None:
    state = cluster_state(1000)
    state.take(1000)
    silent = [broker_value(state, 1, 1_000_000)]
    assert not list(samples("local", [], [], silent, 1_000_000))


def produced(book: RateBook, at_ms: int, count: int, total_ms: float) -> float | None:
    book.add_broker(says(1, requests={"Produce": requests(count, stages_ms={**STAGES, "total": total_ms})}), at_ms)
    return book.mean("spent/Produce", "api/Produce", 1)


def test_how_long_requests_took_lately_is_not_how_long_they_took_since_the_start() -> None:
    book = RateBook()
    assert produced(book, 0, 1_000_000, 2_000_000.0) is None
    assert produced(book, 1_000, 1_000_010, 2_000_500.0) == 50.0
    assert produced(book, 11_500, 1_000_010, 2_000_500.0) is None, "none was counted in the last ten seconds"
    assert produced(book, 12_500, 3, 30.0) is None, "the broker has begun anew"
    assert produced(book, 13_500, 5, 50.0) == 10.0
