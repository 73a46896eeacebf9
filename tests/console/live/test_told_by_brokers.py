"""What brokers tell as events of their own reaches the operator once, however often the feed begins anew."""

from __future__ import annotations

from broker_core.contract.feed import Event
from console.live.events.told_by_brokers import ToldByBrokers
from tests.support.console_world import cluster_state
from tests.support.feed_rows import batch

AT = 1_000_000


def told(seq: int, at_ms: int, kind: str = "control_refused", text: str = "LeaderAndIsr of controller 1 in epoch 3: too old") -> Event:
    return Event(seq, at_ms, kind, None, None, text)


def test_what_happened_before_this_owner_is_not_told_again() -> None:
    words = ToldByBrokers()
    assert words.take(1, [told(1, AT), told(2, AT)], AT) == []
    assert len(words.take(1, [told(3, AT)], AT)) == 1
    assert words.take(1, [], AT) == []


def test_a_feed_that_begins_anew_tells_only_what_is_new() -> None:
    words = ToldByBrokers()
    words.take(1, [], AT)
    assert len(words.take(1, [told(1, AT), told(2, AT)], AT)) == 2
    assert words.take(1, [told(1, AT), told(2, AT)], AT + 1) == []
    assert [e.at_ms for e in words.take(1, [told(1, AT), told(2, AT), told(3, AT + 1)], AT + 1)] == [AT + 1]


def test_a_broker_that_restarted_counts_anew() -> None:
    words = ToldByBrokers()
    words.take(1, [told(1, AT), told(40, AT)], AT)
    assert len(words.take(1, [told(1, AT + 5), told(2, AT + 6)], AT + 9)) == 2
    assert words.take(1, [told(1, AT + 5), told(2, AT + 6)], AT + 9) == []
    assert len(words.take(2, [], AT)) == 0


def test_a_clock_ahead_puts_no_event_into_the_future() -> None:
    words = ToldByBrokers()
    words.take(1, [], AT)
    assert [e.at_ms for e in words.take(1, [told(1, AT + 60_000)], AT)] == [AT]


def test_sentences_name_the_broker_and_the_reason() -> None:
    words = ToldByBrokers()
    words.take(2, [], AT)
    said = words.take(
        2, [told(1, AT), told(2, AT, "registered", "its session had ended, its epoch is 7 now"), told(3, AT, "new", "x.")], AT
    ) + words.take(2, [told(4, AT, "early_failover", "broker 3's port refuses brokers 1 and 2, so it counts as gone")], AT)
    assert [(e.kind, e.level, e.sentence) for e in said] == [
        ("broker_control_refused", "warn", "broker 2 refused a control request: LeaderAndIsr of controller 1 in epoch 3: too old."),
        ("broker_registered", "notice", "broker 2 says why it registered anew: its session had ended, its epoch is 7 now."),
        ("broker_new", "notice", "broker 2: x."),
        (
            "broker_early_failover",
            "notice",
            "the controller, broker 2, before a session's end: broker 3's port refuses brokers 1 and 2, so it counts as gone.",
        ),
    ]
    assert {e.broker_id for e in said} == {2}


def test_they_are_among_the_clusters_events() -> None:
    state = cluster_state(AT)
    state.take(AT)
    state.apply_batch(batch(1, [], AT + 10, events=[told(9, AT + 5)]), AT + 10)
    _, events = state.take(AT + 10)
    assert [e.sentence for e in events] == ["broker 1 refused a control request: LeaderAndIsr of controller 1 in epoch 3: too old."]
