"""The form of settings: errors at their fields, changes made meanwhile, and what is put back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.gateway.errors import from_code
from tests.console.test_api import BASE, ask

pytestmark = pytest.mark.spec("O1")
PATH = "/topics/orders/settings"


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, kafka: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    kafka.configs["orders"] = {"retention.ms": "604800000", "segment.ms": "3600000"}


def refusing(kafka: Any, *names: str) -> None:
    """The brokers refuse these, the first by its name."""
    real = kafka.alter_topic_config

    def alter(topic: str, changes: Any, **more: Any) -> None:
        if wrong := [name for name in names if name in changes]:
            raise from_code(40, f"Invalid value for {wrong[0]}")
        real(topic, changes, **more)

    kafka.alter_topic_config = alter


def test_units_are_taken_and_shown_both_ways(people: dict[str, Client]) -> None:
    page = people["operator"].get(PATH).content.decode()
    assert 'value="7 d"' in page
    asked = people["operator"].post(PATH, {"v:retention.ms": "14 d", "w:retention.ms": "604800000"}).content.decode()
    assert 'name="set:retention.ms" value="1209600000"' in asked
    assert "= 14\u202fd</ins>" in asked


def test_a_search_needs_no_script(people: dict[str, Client]) -> None:
    page = people["viewer"].get(f"{PATH}?q=Retention").content.decode()
    assert "retention.ms" in page and "segment.ms" not in page
    assert "<form" not in page.partition('class="settings-form"')[2].partition("</form>")[0]
    assert "Save…" not in page


def test_each_error_stands_at_its_field(people: dict[str, Client], tokens: Any, kafka: Any) -> None:
    refusing(kafka, "retention.ms", "segment.ms")
    wrong = {"v:retention.ms": "1", "w:retention.ms": "2", "v:segment.ms": "3", "w:segment.ms": "4", "v:min.insync.replicas": "9"}
    answer = people["operator"].post(PATH, wrong)
    page = answer.content.decode()
    assert answer.status_code == 422
    for name in ("retention.ms", "segment.ms"):
        assert f"Invalid value for {name}" in page.partition(f'id="e-{name}"')[2].partition("</p>")[0]
    assert 'id="e-min.insync.replicas"' not in page
    assert 'name="v:min.insync.replicas" value="9"' in page, "what was typed stays"
    body = {"configs": {"retention.ms": "604800001", "segment.ms": "3", "min.insync.replicas": "1"}, "dry_run": True}
    told = json.loads(ask(tokens["operator"], "PATCH", f"{BASE}/topics/orders/settings", body).content)
    assert [one["field"] for one in told["errors"]] == ["configs.retention.ms", "configs.segment.ms"]
    assert told["field"] == "configs.retention.ms"


def test_a_wrong_unit_is_said_before_the_brokers_are_asked(people: dict[str, Client], kafka: Any) -> None:
    answer = people["operator"].post(PATH, {"v:retention.ms": "7 GiB", "w:retention.ms": "604800000"})
    assert "no length of time" in answer.content.decode().partition('id="e-retention.ms"')[2].partition("</p>")[0]
    assert not kafka.changes("validate_topic_config")


def test_a_change_made_meanwhile_is_told_and_not_overwritten(people: dict[str, Client], kafka: Any) -> None:
    browser = people["operator"]
    form = {"v:retention.ms": "14 d", "w:retention.ms": "604800000", "v:segment.ms": "1 h", "w:segment.ms": "3600000"}
    kafka.configs["orders"]["segment.ms"] = "7200000"
    review = browser.post(PATH, form)
    assert "segment.ms was" in review.content.decode() and "it is" in review.content.decode()
    assert [change.label for change in review.context["preview"].changes] == ["retention.ms"]
    save = {"set:retention.ms": "1209600000", "save": "yes", "seen": review.context["preview"].seen}
    kafka.configs["orders"]["segment.ms"] = "1"
    again = browser.post(PATH, save)
    assert "nothing was saved" in again.content.decode()
    assert kafka.configs["orders"]["retention.ms"] == "604800000"
    assert browser.post(PATH, {**save, "seen": again.context["preview"].seen}).status_code == 303
    assert kafka.configs["orders"]["retention.ms"] == "1209600000"


def test_what_was_saved_is_put_back(people: dict[str, Client], kafka: Any) -> None:
    """What was inherited is inherited again."""
    browser = people["operator"]
    changes = {"set:retention.ms": "1209600000", "set:min.insync.replicas": "1", "save": "yes"}
    assert browser.post(PATH, changes).status_code == 303
    (past,) = browser.get(PATH).context["past_changes"]
    asked = browser.post(PATH, {"put_back": past.entry.pk})
    assert "Type <code>orders</code>" in asked.content.decode(), "less retention is asked about, as ever"
    form = {"set:retention.ms": "604800000", "reset": "min.insync.replicas", "save": "yes", "risks": "taken", "confirm": "orders"}
    assert browser.post(PATH, form).status_code == 303
    assert kafka.configs["orders"] == {"retention.ms": "604800000", "segment.ms": "3600000"}
    assert browser.post(PATH, {"put_back": "999"}).status_code == 409


def test_how_much_goes_is_counted(people: dict[str, Client], kafka: Any) -> None:
    """In the pretended log record n is of the time n ms: all of three partitions' hundred are old."""
    page = people["operator"].post(PATH, {"v:retention.ms": "1 h", "w:retention.ms": "604800000"}).content.decode()
    assert "Up to 300 of 300" in page.replace("\u202f", " ")
    assert "Records can be lost" in page


def test_the_three_are_changed_by_rest(tokens: Any, kafka: Any) -> None:
    for path, name in (("topics/orders/settings", "min.insync.replicas"), ("brokers/2/settings", "num.replica.fetchers")):
        read = ask(tokens["admin"], "GET", f"{BASE}/{path}")
        tag = read.headers["ETag"]
        tried = json.loads(ask(tokens["admin"], "PATCH", f"{BASE}/{path}", {"configs": {name: "1"}, "dry_run": True}).content)
        assert tried["items"] is None and tried["changes"][0]["after"] == "1"
        done = ask({**tokens["admin"], "If-Match": tag}, "PATCH", f"{BASE}/{path}", {"configs": {name: "1"}})
        assert {row["name"]: row["own"] for row in json.loads(done.content)["items"]}[name] == "1"
        assert ask({**tokens["admin"], "If-Match": tag}, "PATCH", f"{BASE}/{path}", {"configs": {name: None}}).status_code == 412
    body = {"configs": {"num.replica.fetchers": "3"}}
    assert ask(tokens["admin"], "PATCH", f"{BASE}/broker-defaults", body).status_code == 200
    found = {row["name"]: row for row in json.loads(ask(tokens["viewer"], "GET", f"{BASE}/broker-defaults").content)["items"]}
    assert (found["num.replica.fetchers"]["own"], found["num.replica.fetchers"]["set_for"]) == ("3", "all brokers")
    assert ask(tokens["operator"], "PATCH", f"{BASE}/broker-defaults", body).status_code == 403
