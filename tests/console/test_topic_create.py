"""Creating a topic: the page, the same in a dialog, what is said while somebody types, and where the replicas go."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from console.planning.model import Host
from console.planning.new_topic import placed, read, written
from console.planning.placing import Unreachable
from tests.support.console_world import FakeKafka

PATH = "/new-topic"
HTMX = {"HX-Request": "true"}
FORM = {"name": "new", "partitions": "3", "replication_factor": "2"}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any) -> None:
    """Brokers 1 to 3 with the replicas of `orders` and `clicks`."""


def line(page: str, field: str) -> str:
    """What is said at a field."""
    return page.partition(f'id="wrong-new-topic-{field}"')[2].partition(">")[2].partition("</p>")[0]


def test_a_dialog_gets_the_form_alone(people: dict[str, Client]) -> None:
    page = people["operator"].get(PATH, headers=HTMX).content.decode()
    assert "<html" not in page and 'name="replication_factor"' in page and "data-close" in page
    assert "<html" in people["operator"].get(PATH).content.decode()
    over = people["operator"].get("/topics").content.decode()
    assert 'href="/new-topic" data-dialog="new-topic" hx-get="/new-topic"' in over and '<dialog id="new-topic"' in over
    assert '<dialog id="new-topic"' not in people["viewer"].get("/topics").content.decode()


def test_what_is_typed_is_checked_and_nothing_is_made(people: dict[str, Client], kafka: FakeKafka) -> None:
    answer = people["operator"].post(PATH, {**FORM, "check": "1"}, headers=HTMX)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "<form" not in page and "Where the replicas go" in page
    assert line(page, "name") == ""
    assert [call[-1] for call in kafka.changes("create_topic")] == [True], "validated only"
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("form", "refusal", "field", "words"),
    [
        ({"name": "a b"}, None, "name", "letters, digits, dots"),
        ({}, (17, "Topic 'new.a' collides with existing topics: new_a"), "name", "collides with existing topics: new_a"),
        ({}, (36, "Topic 'new' already exists."), "name", "already exists"),
        ({"replication_factor": "5"}, (38, "Replication factor: 5 larger than available brokers: 3."), "replication_factor", "brokers: 3"),
        ({"partitions": "0"}, None, "partitions", "Give 1 to"),
        ({"partitions": "many"}, None, "partitions", "whole number"),
        ({"config.retention.ms": "7 GiB"}, None, "config.retention.ms", "no length of time"),
        ({"config.retention.ms": "5"}, (40, "Invalid value 5 for configuration retention.ms"), "config.retention.ms", "Invalid value 5"),
    ],
)
def test_what_the_brokers_would_refuse_is_said_at_its_field(
    people: dict[str, Client], kafka: FakeKafka, form: dict[str, str], refusal: tuple[int, str] | None, field: str, words: str
) -> None:
    kafka.refuse = refusal
    typing = people["operator"].post(PATH, {**FORM, **form, "check": "1"}, headers=HTMX)
    assert typing.status_code == 200 and words in line(typing.content.decode(), field)
    sent = people["operator"].post(PATH, {**FORM, **form}, headers=HTMX)
    assert sent.status_code in (409, 422) and words in line(sent.content.decode(), field)
    assert "<html" not in sent.content.decode(), "a dialog keeps its form"
    page = people["operator"].post(PATH, {**FORM, **form}).content.decode()
    assert words in line(page, field) and page.count('aria-invalid="true"') == 1


def test_a_cluster_that_is_away_is_said_in_the_form(people: dict[str, Client], kafka: FakeKafka) -> None:
    """htmx shows nothing of an answer that says that the server failed."""
    kafka.away = True
    answer = people["operator"].post(PATH, FORM, headers=HTMX)
    assert answer.status_code == 422 and "note bad" in answer.content.decode()
    assert people["operator"].post(PATH, FORM).status_code == 503


def test_nothing_is_said_of_a_name_that_is_not_typed_yet(people: dict[str, Client], kafka: FakeKafka) -> None:
    page = people["operator"].post(PATH, {**FORM, "name": "", "check": "1"}, headers=HTMX).content.decode()
    assert line(page, "name") == "" and not kafka.changes("create_topic")


def test_replicas_go_where_the_preview_said(people: dict[str, Client], kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    plain = FakeKafka.create_topic

    def create(self: FakeKafka, *args: Any, assignment: Any = (), **more: Any) -> None:
        made.append((args[1:3], assignment))
        plain(self, *args, **more)

    monkeypatch.setattr(type(kafka), "create_topic", create)
    placement = people["operator"].post(PATH, {**FORM, "preview": "1"}).context["placement"]
    assert len(placement.split(" ")) == 3
    answer = people["operator"].post(PATH, {**FORM, "placement": placement}, headers=HTMX)
    assert answer.status_code == 204 and answer.headers["HX-Redirect"] == "/topics"
    assert made[-1] == ((-1, -1), [[int(one) for one in row.split(",")] for row in placement.split(" ")])
    people["operator"].post(PATH, {**FORM, "partitions": "4", "placement": placement})
    assert made[-1] == ((4, 2), []), "of another number it is not: the controller places them"
    assert AuditEntry.objects.latest("id").after == {"partitions": 4, "replication_factor": 2, "configs": {}}


def test_a_model_that_is_not_there_is_said_at_its_field(people: dict[str, Client]) -> None:
    answer = people["operator"].get(f"{PATH}?from=nothing", headers=HTMX)
    assert answer.status_code == 422 and "nothing" in line(answer.content.decode(), "from")
    assert people["operator"].get(f"{PATH}?from=nothing").status_code == 404


def test_risks_are_told_in_the_form(people: dict[str, Client], kafka: FakeKafka) -> None:
    risky = {**FORM, "replication_factor": "1", "config.min.insync.replicas": "2"}
    page = people["operator"].post(PATH, risky, headers=HTMX).content.decode()
    assert "has 1 copy of each partition" in page and 'name="confirm" value="yes"' in page
    assert not kafka.changes("create_topic")
    typing = people["operator"].post(PATH, {**risky, "check": "1"}, headers=HTMX).content.decode()
    assert "has 1 copy of each partition" in typing


def host(broker: int, replicas: int = 0, *, rack: str | None = None, is_online: bool = True) -> Host:
    return Host(broker_id=broker, rack=rack, is_online=is_online, replicas=replicas, preferred=0)


def test_new_replicas_are_spread_over_brokers_and_racks() -> None:
    rows = placed([host(1, 5), host(2), host(3)], "t", 4, 2)
    assert all(len(set(row)) == 2 for row in rows)
    counts = [sum(broker in row for row in rows) for broker in (1, 2, 3)]
    assert counts[0] < counts[1] and counts[0] < counts[2], "who has many gets few"
    racks = placed([host(1, rack="a"), host(2, rack="a"), host(3, 9, rack="b")], "t", 2, 2)
    assert all(3 in row for row in racks), "each on two racks, though one broker has many"
    with pytest.raises(Unreachable):
        placed([host(1), host(2, is_online=False)], "t", 1, 2)


@pytest.mark.parametrize("text", ["1,2", "1,2 2,x", "1,1 2,1", "1,9 2,1", "1,2,3 2,3,1", "", "1,2 2,1 1,2"])
def test_a_placement_that_does_not_fit_is_none(text: str) -> None:
    assert read(text, 2, 2, [1, 2, 3]) == []


def test_a_placement_is_read_as_it_is_written() -> None:
    assert read(written([(1, 2), (3, 1)]), 2, 2, [1, 2, 3]) == [[1, 2], [3, 1]]
