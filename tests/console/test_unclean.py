"""Unclean elections: the event that says what is lost, the form with the topic's name typed, REST with a confirmation."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from broker_core.contract.partitions import UncleanElection
from console.live.merging.state import ClusterState
from console.models import AuditEntry
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS, cluster_state
from tests.support.feed_rows import batch, claim

pytestmark = pytest.mark.spec("R8", "O3")

ALL = [1, 2, 3]
PATH = "/api/v1/clusters/local/topics/orders/unclean-election"


def leaderless(state: ClusterState, now: int) -> None:
    """orders-0: broker 1 was the last in sync, with 100 records; 2 has 90, 3 none; 1 and 3 are down."""
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=1, isr=[], end=90)], now), now)
    state.set_brokers({2: BROKERS[2]}, now)
    state.set_partition("orders", 0, -1, 6, [1])
    state.set_partition("orders", 2, 2, 6, [2])


def events(state: ClusterState, now: int) -> list[dict[str, Any]]:
    """Those of a burst that is over."""
    first = state.take(now)[1]
    state.tick(now + 2_000)
    return first + state.take(now + 2_000)[1]


@pytest.fixture
def state() -> ClusterState:
    made = cluster_state(1000)
    made.take(1000)
    leaderless(made, 1100)
    return made


def test_an_unclean_election_says_what_is_lost(state: ClusterState) -> None:
    state.take(1200)
    state.set_partition("orders", 0, 2, 7, [2])
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=2, isr=[2], end=90, leader_epoch=7)], 1300), 1300)
    said = events(state, 1300)
    told = [e for e in said if (e.topic, e.partition, e.new) == ("orders", 0, 2)]
    assert [(e.kind, e.level) for e in told] == [("unclean_election", "bad")]
    assert told[0].sentence == (
        "broker 2 leads orders-0 in epoch 7 by an unclean election: it was not in sync, 1 was. "
        "Acknowledged records that it did not have are lost: at least 10 records, as last seen."
    )
    assert not [e.sentence for e in said if "it reached the HW" in e.sentence]
    assert state.values["orders", 0].unclean == UncleanElection(7, (1,))
    state.set_partition("orders", 0, 2, 8, [2, 1])
    state.take(1400)
    assert state.values["orders", 0].unclean is None, "another epoch, another election"


def test_what_the_leader_tells_before_the_store_is_read_hides_nothing(state: ClusterState) -> None:
    state.take(1200)
    state.apply_batch(batch(2, [claim("orders", 0, 2, ALL, leader=2, isr=[2], end=90, leader_epoch=7)], 1300), 1300)
    assert "leader_moved" in [e.kind for e in events(state, 1300) if (e.topic, e.partition, e.new) == ("orders", 0, 2)]
    state.set_partition("orders", 0, 2, 7, [2])
    told = [e for e in events(state, 4000) if (e.topic, e.partition, e.new) == ("orders", 0, 2)]
    assert [(e.kind, e.level) for e in told] == [("unclean_election", "bad")]
    assert "Acknowledged records that it did not have are lost: at least 10 records" in told[0].sentence
    state.set_partition("orders", 0, 2, 7, [1, 2])
    assert not [e for e in events(state, 7000) if e.kind == "unclean_election"], "once"


def test_whoever_was_in_sync_is_elected_clean(state: ClusterState) -> None:
    state.take(1200)
    state.set_brokers({1: BROKERS[1], 2: BROKERS[2]}, 1250)
    state.set_partition("orders", 0, 1, 7, [1])
    kinds = {e.kind for e in events(state, 1300) if (e.topic, e.new) == ("orders", 1)}
    assert kinds == {"leader_moved"}


def test_who_joined_the_isr_by_the_leaders_own_word_was_in_sync() -> None:
    """The leader tells of the ISR before the store is read again."""
    state = cluster_state(1000)
    state.set_partition("orders", 0, 1, 6, [1])
    state.take(1000)
    state.apply_batch(batch(1, [claim("orders", 0, 1, ALL, leader=1, isr=[1, 2], end=100, leader_epoch=6)], 1100), 1100)
    state.set_brokers({2: BROKERS[2], 3: BROKERS[3]}, 1200)
    state.set_partition("orders", 0, 2, 7, [2])
    assert not [e for e in events(state, 1300) if e.kind == "unclean_election"]


def test_a_thousand_at_once_are_one_event() -> None:
    state = cluster_state(1000, {"wide": 60})
    state.take(1000)
    state.set_brokers({2: BROKERS[2]}, 1100)
    for number in range(60):
        state.set_partition("wide", number, -1, 6, [1])
    state.take(1100)
    for number in range(60):
        state.set_partition("wide", number, 2, 7, [2])
    told = [e for e in events(state, 1200) if e.kind == "unclean_election"]
    assert len(told) == 1
    assert told[0].sentence.startswith("60 partitions are led by brokers that were not in sync, elected unclean (wide-0, ")


def test_a_lost_leader_is_told_without_a_guess(state: ClusterState) -> None:
    """Which of those in sync the controller will leave in the ISR nobody knows yet."""
    fresh = cluster_state(1000)
    fresh.take(1000)
    fresh.set_brokers({3: BROKERS[3]}, 1100)
    fresh.set_partition("orders", 0, 1, 5, [1, 2])
    told = [e.sentence for e in events(fresh, 1100) if e.kind == "leader_moved" and e.topic == "orders" and e.partition == 0]
    assert told == ["orders-0 lost its leader, broker 1: no reads, no writes until a replica that was in sync is back: none of them runs."]


def test_the_process_of_a_broker_changes_the_advice(state: ClusterState) -> None:
    state.take(1200)
    state.set_processes({1: "paused", 2: "running"})
    state.take(1300)
    assert "resume broker 1" in state.values["orders", 0].advice.text


# --- the form and REST


@pytest.fixture
def offline(shown: ClusterState, redis: Any, kafka: Any) -> ClusterState:
    now = time.time_ns() // 1_000_000
    leaderless(shown, now)
    shown.take(now)
    publish(redis, shown, now)
    return shown


def ask(headers: dict[str, str], body: Any, path: str = PATH) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json", headers=headers)


def test_the_form_states_the_risk_and_wants_the_name(people: dict[str, Client], kafka: Any, offline: ClusterState) -> None:
    page = people["admin"].get("/topics/orders").content.decode()
    assert '<dialog id="elect-unclean"' in page
    assert "orders-0: broker 2 would lead; lost: at least 10 records, as last seen. Starting broker 1 instead loses nothing." in page
    refused = people["admin"].post("/topics/orders/unclean-election", {"confirm": "order"})
    assert (refused.status_code, refused.context["form_error"]["field"]) == (422, "confirm")
    assert '<dialog id="elect-unclean" open' in refused.content.decode()
    assert not kafka.changes("elect_unclean")
    answer = people["admin"].post("/topics/orders/unclean-election", {"confirm": "orders"}, follow=True)
    assert kafka.changes("elect_unclean") == [("elect_unclean", [("orders", 0)])]
    assert "1 partition of orders got a leader by an unclean election." in answer.content.decode()
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.target, entry.outcome) == ("elect unclean leaders", "orders", "done")
    assert entry.before == [{"partition": 0, "leader_epoch": 6, "isr": [1], "assignment": ALL}]


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_may(people: dict[str, Client], tokens: dict[str, Any], kafka: Any, offline: ClusterState, role: str) -> None:
    assert people[role].post("/topics/orders/unclean-election", {"confirm": "orders"}).status_code == 403
    assert ask(tokens[role], {"confirm": True}).status_code == 403
    assert [entry.outcome for entry in AuditEntry.objects.all()] == ["refused", "refused"]
    assert not kafka.changes("elect_unclean")
    assert 'id="elect-unclean"' not in people[role].get("/topics/orders").content.decode()


def test_rest_says_the_risk_and_wants_a_confirmation(tokens: dict[str, Any], kafka: Any, offline: ClusterState) -> None:
    answer = ask(tokens["admin"], {})
    assert answer.status_code == 422
    assert "at least 10 records, as last seen" in answer.json()["detail"]
    assert not kafka.changes("elect_unclean")
    kafka.elections = {("orders", 0): (83, "nobody is alive")}
    answer = ask(tokens["admin"], {"confirm": True})
    assert answer.json() == {"topic": "orders", "elected": [], "failed": [{"partition": 0, "error": "nobody is alive (83)"}]}


@pytest.mark.parametrize(("topic", "why"), [("clicks", "Every partition of clicks has a leader"), ("absent", "There is no topic absent.")])
def test_where_everything_is_led_nothing_is_elected(tokens: dict[str, Any], kafka: Any, shown: Any, topic: str, why: str) -> None:
    answer = ask(tokens["admin"], {"confirm": True}, PATH.replace("orders", topic))
    assert (answer.status_code, answer.json()["detail"].startswith(why)) == (422, True)
    assert not kafka.changes("elect_unclean")
