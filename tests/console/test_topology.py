"""The picture of brokers, topics and groups: what is chosen for it, what joins them, and the same in words and by REST."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from broker_core.contract.stored import Assignment, Registration, Topic
from console.live.merging.state import ClusterState
from console.queries import BadQuery, NotFound
from console.snapshot.read import Snapshot
from console.topology import chosen
from console.topology.chosen import focus_of, topology
from console.topology.model import Focus, Reads, Stands
from console.topology.picture import BOX, LEFT, picture, stands_level, stands_said
from console.topology.table import table
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS, add_topic, cluster_state
from tests.support.openapi import check_answer
from tests.support.past import THEN_MS, lay_out


def now() -> int:
    return time.time_ns() // 1_000_000


def written(redis: Any, state: ClusterState) -> Snapshot:
    at_ms = now()
    state.take(at_ms)
    publish(redis, state, at_ms)
    return Snapshot("local", redis)


def test_what_joins_them(shown: Any, redis: Any) -> None:
    found = topology(Snapshot("local", redis))
    assert [one.topic for one in found.topics] == ["clicks", "orders"]
    assert [(one.broker_id, one.leads, one.replicas, one.state) for one in found.brokers] == [
        (1, 2, 5, "online"),
        (2, 2, 5, "online"),
        (3, 1, 5, "online"),
    ]
    joined = {(one.topic, one.broker_id): (one.leads, one.in_sync) for one in found.stands}
    assert joined[("orders", 1)] == (1, 2) and joined[("clicks", 3)] == (0, 2)
    assert [(one.group, one.topic) for one in found.reads] == [("billing", "orders")]
    assert (found.more_brokers, found.more_topics, found.more_groups, found.more_partitions) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("focus", "topics", "brokers", "groups"),
    [
        ("topic:clicks", ["clicks"], [1, 2, 3], []),
        ("group:billing", ["orders"], [1, 2, 3], ["billing"]),
        ("broker:2", ["clicks", "orders"], [2], ["billing"]),
    ],
)
def test_one_thing_and_what_it_touches(
    shown: Any, redis: Any, focus: str, topics: list[str], brokers: list[int], groups: list[str]
) -> None:
    found = topology(Snapshot("local", redis), focus_of(focus))
    assert [one.topic for one in found.topics] == topics
    assert [one.broker_id for one in found.brokers] == brokers
    assert [one.group for one in found.groups] == groups
    assert {one.broker_id for one in found.stands} == set(brokers)
    (box,) = [box for box in picture(found).boxes if box.is_chosen]
    assert box.focus.text == focus


@pytest.mark.parametrize("text", ["orders", "topic", "disk:1", "broker:x", "broker:²", "topics:orders"])
def test_what_is_no_thing_is_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        focus_of(text)


@pytest.mark.parametrize("text", ["topic:none", "group:none", "broker:99"])
def test_what_is_not_there_is_not_found(shown: Any, redis: Any, text: str) -> None:
    with pytest.raises(NotFound):
        topology(Snapshot("local", redis), focus_of(text))


def test_three_hundred_brokers_and_many_topics_stay_few(redis: Any) -> None:
    state = ClusterState("local")
    state.set_brokers({b: Registration("127.0.0.1", 9000 + b, None, b) for b in range(299)}, now())
    state.set_controller(2, 1, now())
    for number in range(60):
        assigned = {p: Assignment(tuple((number * 5 + p + i) % 300 for i in range(3))) for p in range(50)}
        state.set_topic(f"topic-{number:02}", Topic("id", False, 2, False, assigned), now())
        for p, one in assigned.items():
            state.set_partition(f"topic-{number:02}", p, one.replicas[0], 1, list(one.replicas))
    found = topology(written(redis, state))
    assert (len(found.brokers), len(found.topics)) == (chosen.BROKERS_MAX, chosen.TOPICS_MAX)
    assert 299 in {one.broker_id for one in found.brokers}, "the one that does not run is among them"
    assert found.more_topics == 36 and found.more_brokers > 0 and found.more_partitions == 24 * 50 - 24 * (1_000 // 24)
    drawn = picture(found)
    places = [(box.x, box.y) for box in drawn.boxes]
    assert len(set(places)) == len(places) and all(0 <= y <= drawn.height - BOX for _, y in places)
    for column in LEFT.values():
        ys = sorted(y for x, y in places if x == column)
        assert all(later - earlier >= BOX for earlier, later in pairwise(ys)), "no box lies on another"
    assert topology(Snapshot("local", redis), None, "TOPIC-5").more_topics == 0


def test_what_is_only_not_shown_is_not_denied(shown: Any, redis: Any, people: dict[str, Client]) -> None:
    found = topology(Snapshot("local", redis))
    assert [(row.more_readers, row.is_part) for row in table(found)] == [(0, False), (0, False)]
    cut = replace(found, reads=(), groups=())
    assert [(row.topic.topic, row.more_readers) for row in table(cut)] == [("clicks", 0), ("orders", 1)]
    assert all(row.is_part for row in table(replace(found, more_brokers=1)))
    many = replace(found, topics=tuple(replace(one, partitions=2_000) for one in found.topics))
    assert all(row.is_part for row in table(many))
    body = people["viewer"].get("/topology?focus=broker:3").content.decode()
    assert "none of those shown" in body and ">none<" not in body


def test_groups_that_lag_come_before_those_of_which_it_is_not_known() -> None:
    lags = [None, 0, 3, None, 40]
    ranked = sorted((Reads(group=str(lag), topic="orders", lag=lag) for lag in lags), key=chosen._lag_rank)
    assert [one.lag for one in ranked] == [40, 3, None, None, 0]


def test_a_broker_that_is_down_is_told_in_each_way(redis: Any) -> None:
    state = cluster_state(now())
    state.set_brokers({b: BROKERS[b] for b in (1, 2)}, now())
    found = topology(written(redis, state))
    gone = [one for one in found.stands if one.broker_id == 3]
    assert gone and all(one.absent and not one.in_sync for one in gone)
    assert {curve.level for curve in picture(found).curves if curve.said.startswith("broker 3 ")} == {"bad"}
    assert all("3" in {str(amiss.broker_id) for amiss in row.amiss} for row in table(found))


def test_a_curve_says_what_runs_along_it() -> None:
    one = Stands(topic="orders", broker_id=2, leads=2, in_sync=3, out_of_sync=1)
    assert (stands_level(one), stands_said(one)) == ("warn", "broker 2 on orders: leads 2, 3 in sync, 1 out of sync")
    assert stands_level(Stands(topic="orders", broker_id=2, joining=1)) == "notice"


def test_names_with_markup_and_long_ones(redis: Any, local: Any, people: dict[str, Client]) -> None:
    state = cluster_state(now())
    add_topic(state, "x" * 249, 1, now())
    written(redis, state)
    page = people["viewer"].get("/topology?q=%3Cb%3Ebold").content.decode()
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page
    label = next(box.label for box in picture(topology(Snapshot("local", redis))).boxes if box.focus == Focus("topic", "x" * 249))
    assert len(label) == 34 and label.endswith("…")


def test_the_page_and_its_part(shown: Any, people: dict[str, Client]) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        page = people["viewer"].get("/topology?focus=topic:orders", headers=headers).content.decode()
        assert "What topic orders touches" in page and "focus=group%3Abilling" in page and 'href="/topics/orders"' in page
        assert ("<html" in page) is not bool(headers)
    noted = people["viewer"].get("/topology?focus=rubbish")
    assert noted.status_code == 200 and "Name one thing to look at" in noted.content.decode()
    assert people["viewer"].get("/topology?focus=topic:none").status_code == 404


def test_nothing_yet(redis: Any, local: Any, people: dict[str, Client]) -> None:
    state = ClusterState("local")
    state.set_brokers(BROKERS, now())
    state.set_controller(2, 1, now())
    written(redis, state)
    assert "There is no topic yet" in people["viewer"].get("/topology").content.decode()


def test_in_the_past(shown: Any, local: Any, redis: Any, people: dict[str, Client]) -> None:
    lay_out(redis)
    page = people["viewer"].get(f"/at/{THEN_MS}/topology").content.decode()
    assert f'href="/at/{THEN_MS}/topics/before"' in page and "not there" in page and "every 15s" not in page


def test_rest_tells_the_same(shown: Any, tokens: dict[str, dict[str, str]]) -> None:
    path = "/api/v1/clusters/local/topology"
    answer = Client().get(f"{path}?focus=group:billing", headers=tokens["viewer"])
    assert answer.status_code == 200 and answer.json()["focus"] == "group:billing"
    check_answer("GET", path, 200, "application/json", answer.json())
    assert Client().get(f"{path}?focus=x", headers=tokens["viewer"]).status_code == 400
    assert Client().get(f"{path}?focus=topic:none", headers=tokens["viewer"]).status_code == 404
