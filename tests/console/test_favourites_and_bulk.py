"""Favourites, one change to several topics, and a new topic made like another."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.actions import topics_bulk as bulk
from console.gateway.errors import from_code
from console.models import AuditEntry, Favourite, Job
from tests.support.console_world import FakeKafka

pytestmark = pytest.mark.spec("O1")
AT_ONCE = "/topics-at-once"


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """`orders` and `clicks`."""


def names(browser: Client, path: str, field: str = "topic") -> list[str]:
    return [getattr(row, field) for row in browser.get(path).context["rows"]]


# --- favourites


def test_a_star_is_ones_own_and_comes_first(people: dict[str, Client]) -> None:
    viewer = people["viewer"]
    assert names(viewer, "/topics?stars=first") == ["clicks", "orders"]
    assert viewer.post("/favourites", {"kind": "topic", "name": "orders"}).status_code == 303
    assert names(viewer, "/topics?stars=first") == ["orders", "clicks"]
    assert names(viewer, "/topics?stars=only") == ["orders"]
    page = viewer.get("/topics?stars=only").content.decode()
    assert "favourites only" in page and 'aria-pressed="true" aria-label="Favourite orders"' in page
    assert names(people["operator"], "/topics?stars=only") == []
    button = viewer.post("/favourites", {"kind": "topic", "name": "orders"}, headers={"HX-Request": "true"})
    assert b'aria-pressed="false"' in button.content and not Favourite.objects.exists()
    viewer.post("/favourites", {"kind": "group", "name": "billing"})
    assert names(viewer, "/groups?stars=only", "group") == ["billing"]
    assert not AuditEntry.objects.exists()


def test_favourites_are_bounded(people: dict[str, Client], local: Any) -> None:
    user = User.objects.get(username="viewer")
    Favourite.objects.bulk_create([Favourite(user=user, cluster=local, kind="topic", name=f"t{n}") for n in range(Favourite.KEEP)])
    answer = people["viewer"].post("/favourites", {"kind": "topic", "name": "orders"})
    assert answer.status_code == 422 and "200 favourite topics" in answer.content.decode()
    assert people["viewer"].post("/favourites", {"kind": "topic", "name": "t7"}).status_code == 303
    assert people["viewer"].post("/favourites", {"kind": "topic", "name": "orders"}).status_code == 303


@pytest.mark.parametrize(
    "asked", [{}, {"kind": "broker", "name": "1"}, {"kind": "topic", "name": ""}, {"kind": "topic", "name": "x" * 250}]
)
def test_no_star_for_what_cannot_be(people: dict[str, Client], asked: dict[str, str]) -> None:
    assert people["viewer"].post("/favourites", asked).status_code == 422
    assert not Favourite.objects.exists()


# --- several topics


def test_several_become_favourites(people: dict[str, Client]) -> None:
    assert people["viewer"].post(AT_ONCE, {"action": "favourite", "topic": ["orders", "clicks", "orders"]}).status_code == 303
    assert Favourite.objects.count() == 2


def test_deletion_tells_first_what_would_be_lost(people: dict[str, Client], kafka: FakeKafka) -> None:
    answer = people["admin"].post(AT_ONCE, {"action": "delete", "topic": ["orders", "clicks"]})
    page = answer.content.decode()
    assert answer.status_code == 200 and not kafka.changes("delete_topic")
    assert "2 topics with 500 records would be removed from every broker. 1 of them is read by groups" in page.replace("\u202f", " ")
    assert 'data-must-be="orders, clicks"' in page
    wrong = people["admin"].post(AT_ONCE, {"action": "delete", "topic": ["orders", "clicks"], "do": "1", "confirm": "orders"})
    assert wrong.status_code == 422 and not kafka.changes("delete_topic")
    assert "Type orders, clicks to delete 2 topics" in wrong.content.decode().replace("\u202f", " ")


def test_each_deletion_is_an_action_of_its_own(people: dict[str, Client], kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    def delete(_self: Any, name: str) -> None:
        kafka.asked.append(("delete_topic", name))
        if name == "orders":
            raise from_code(44, "not now")

    monkeypatch.setattr("console.gateway.kafka_cluster.KafkaCluster.delete_topic", delete)
    asked = {"action": "delete", "topic": ["orders", "clicks"], "do": "1", "confirm": "orders, clicks"}
    answer = people["admin"].post(AT_ONCE, asked)
    assert [(one.topic, one.outcome) for one in answer.context["results"]] == [("orders", "failed"), ("clicks", "done")]
    assert kafka.changes("delete_topic") == [("delete_topic", "orders"), ("delete_topic", "clicks")]
    rows = AuditEntry.objects.order_by("id").values_list("action", "target", "outcome")
    assert list(rows) == [("delete topic", "orders", "failed"), ("delete topic", "clicks", "done")]


def test_a_setting_is_shown_as_a_difference_and_then_set(people: dict[str, Client], kafka: FakeKafka) -> None:
    kafka.configs = {"orders": {"retention.ms": "1000"}, "clicks": {"retention.ms": "5000"}}
    first = people["operator"].post(AT_ONCE, {"action": "set", "topic": ["orders", "clicks"]})
    assert 'name="key"' in first.content.decode()
    asked = {"action": "set", "topic": ["orders", "clicks"], "key": "retention.ms", "value": "5000"}
    plan = people["operator"].post(AT_ONCE, asked).context["plan"]
    assert [(one.topic, one.before, one.after) for one in plan.changes] == [("orders", "1000", "5000"), ("clicks", "5000", "5000")]
    assert "1 have it so already" in plan.sentence or "1 has it so already" in plan.sentence
    assert not kafka.changes("alter_topic_config")
    done = people["operator"].post(AT_ONCE, {**asked, "do": "1"})
    assert [one.outcome for one in done.context["results"]] == ["done", "done"]
    assert kafka.configs == {"orders": {"retention.ms": "5000"}, "clicks": {"retention.ms": "5000"}}
    assert list(AuditEntry.objects.order_by("id").values_list("target", "after")) == [
        ("orders", {"retention.ms": "5000"}),
        ("clicks", {"retention.ms": "5000"}),
    ]


def test_the_preview_of_a_setting_names_its_risks(people: dict[str, Client], kafka: FakeKafka) -> None:
    kafka.configs = {"orders": {"unclean.leader.election.enable": "false"}}
    asked = {"action": "set", "topic": ["orders", "clicks"], "key": "unclean.leader.election.enable", "value": "true"}
    plan = people["operator"].post(AT_ONCE, asked).context["plan"]
    assert "a replica that lacks records may lead orders" in plan.changes[0].risks[0]
    kafka.refuse = (40, "no such setting")
    refused = people["operator"].post(AT_ONCE, asked).context["plan"]
    assert [one.error for one in refused.changes if "no such setting" in one.error] and not kafka.changes("alter_topic_config")


def test_a_setting_that_loses_records_wants_a_phrase(people: dict[str, Client], kafka: FakeKafka) -> None:
    kafka.configs = {"orders": {"retention.ms": "900000000"}}
    asked = {"action": "set", "topic": ["orders", "clicks"], "key": "retention.ms", "value": "1000"}
    page = people["operator"].post(AT_ONCE, asked).content.decode()
    assert 'data-must-be="orders, clicks"' in page
    wrong = people["operator"].post(AT_ONCE, {**asked, "do": "1"})
    assert wrong.status_code == 422
    assert 'id="wrong-bulk-confirm"' in wrong.content.decode() and not kafka.changes("alter_topic_config")
    people["operator"].post(AT_ONCE, {**asked, "do": "1", "confirm": "orders, clicks"})
    assert kafka.configs["orders"]["retention.ms"] == "1000"


def test_partitions_of_several_are_shown_first_and_then_added(people: dict[str, Client], kafka: FakeKafka) -> None:
    """`orders` has 3 and `clicks` 2."""
    kafka.topics_ = {"orders": {p: [1] for p in range(3)}, "clicks": {p: [1] for p in range(2)}}
    asked = {"action": "grow", "topic": ["orders", "clicks"]}
    assert 'name="count"' in people["operator"].post(AT_ONCE, asked).content.decode()
    plan = people["operator"].post(AT_ONCE, {**asked, "count": "3"}).context["plan"]
    assert [(one.topic, one.before, one.after) for one in plan.changes] == [("orders", "3", "3"), ("clicks", "2", "3")]
    assert "give a larger number" in plan.changes[0].error and not plan.changes[1].error
    assert "1 topic would get 1 partition more" in plan.sentence.replace("\u202f", " ")
    done = people["operator"].post(AT_ONCE, {**asked, "count": "3", "do": "1"})
    assert [(one.topic, one.outcome) for one in done.context["results"]] == [("orders", "failed"), ("clicks", "done")]
    assert AuditEntry.objects.filter(action="add partitions", target="clicks", outcome="done").count() == 1
    wrong = people["operator"].post(AT_ONCE, {**asked, "count": "many"})
    assert wrong.status_code == 422 and 'id="wrong-bulk-count"' in wrong.content.decode()


def test_leaders_of_several_are_elected_by_one_job(people: dict[str, Client], sent: Any) -> None:
    asked = {"action": "elect", "topic": ["orders", "clicks"]}
    plan = people["operator"].post(AT_ONCE, asked).context["plan"]
    assert [(one.topic, one.before, one.after) for one in plan.changes] == [("orders", "3", "0"), ("clicks", "2", "0")]
    assert not Job.objects.exists()
    people["operator"].post(AT_ONCE, {**asked, "do": "1"})
    job = Job.objects.get()
    assert (job.kind, job.params) == ("preferred_leader_election", {"topics": ["orders", "clicks"]})


def test_time_that_is_up_leaves_the_rest(people: dict[str, Client], kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "TIME_S", 0.0)
    asked = {"action": "set", "topic": ["orders"], "key": "retention.ms", "value": "5000", "do": "1", "confirm": "orders"}
    (result,) = people["operator"].post(AT_ONCE, asked).context["results"]
    assert result.outcome == "not begun" and not kafka.changes("alter_topic_config")


@pytest.mark.parametrize(
    ("who", "asked", "status"),
    [
        ("viewer", {"action": "delete", "topic": ["orders"]}, 403),
        ("operator", {"action": "delete", "topic": ["orders"], "do": "1", "confirm": "orders"}, 403),
        ("viewer", {"action": "set", "topic": ["orders"], "key": "retention.ms", "value": "1"}, 403),
        ("viewer", {"action": "set", "topic": ["orders"], "key": "retention.ms", "value": "1", "do": "1"}, 403),
        ("viewer", {"action": "grow", "topic": ["orders"], "count": "9", "do": "1"}, 403),
        ("viewer", {"action": "elect", "topic": ["orders"], "do": "1"}, 403),
        ("admin", {"action": "grow", "topic": ["orders"], "count": "10001"}, 422),
        ("admin", {"action": "delete"}, 422),
        ("admin", {"action": "explode", "topic": ["orders"]}, 422),
        ("admin", {"action": "delete", "topic": ["orders", "gone"]}, 422),
        ("admin", {"action": "delete", "topic": [f"t{n}" for n in range(51)]}, 422),
    ],
)
def test_what_is_refused(people: dict[str, Client], kafka: FakeKafka, who: str, asked: dict[str, Any], status: int) -> None:
    assert people[who].post(AT_ONCE, asked).status_code == status
    assert not kafka.changes("delete_topic") and not kafka.changes("alter_topic_config")
    assert AuditEntry.objects.filter(outcome="refused").count() == (status == 403)


def test_what_is_to_be_typed() -> None:
    assert bulk.phrase(["a", "b"]) == "a, b"
    assert bulk.phrase(["x" * 40, "y" * 40]) == "delete 2 topics"


# --- one topic like another


def test_a_new_topic_takes_over_another_ones_figures_and_settings(people: dict[str, Client], kafka: FakeKafka) -> None:
    kafka.configs = {"clicks": {"retention.ms": "60000", "segment.bytes": "2097152"}}
    answer = people["operator"].get("/new-topic?from=clicks")
    page = answer.content.decode()
    assert answer.context["values"] == {"name": "", "like": "clicks", "partitions": 2, "replication_factor": 3}
    assert 'name="config.segment.bytes" value="2097152"' in page and 'name="config.retention.ms" value="60000"' in page
    sent = {
        "name": "likewise",
        "partitions": "2",
        "replication_factor": "3",
        "config.segment.bytes": "2097152",
        "config.retention.ms": "60000",
    }
    assert people["operator"].post("/new-topic", sent).status_code == 303
    assert kafka.changes("create_topic")[-1][4] == {"segment.bytes": "2097152", "retention.ms": "60000"}
    assert people["operator"].get("/new-topic?from=nothing").status_code == 404
    kafka.away = True
    away = people["operator"].get("/new-topic?from=clicks")
    assert away.status_code == 200 and "could not be read" in away.context["query_notes"][0]
