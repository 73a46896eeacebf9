"""Moving data by the page: what is picked stays picked, the plan is struck out and edited row by row, and starts as it is shown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from console.models import AuditEntry, Job

PATH = "/jobs/move"
FEWER = {"chosen": "orders", "goal": "factor", "rf": "2"}


@pytest.fixture(autouse=True)
def stage(shown: Any, kafka: Any, sent: Any) -> None:
    """In the snapshot every partition of orders lies on 1, 2, 3."""
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}, "clicks": {p: [1, 2, 3] for p in range(3)}}


def planned(browser: Client, **more: str) -> Any:
    return browser.post(PATH, {**FEWER, "plan": "1", **more}).context["plan"]


def pressed(browser: Client, plan: dict[str, Any], **button: str) -> Any:
    return browser.post(PATH, {**FEWER, "planned": plan["text"], "struck": plan["struck"], "rows": "1", **button})


def test_topics_are_picked_from_lists_and_stay_picked(people: dict[str, Client]) -> None:
    browser = people["operator"]
    assert browser.get(f"{PATH}?topic=orders").context["chosen"].topics == ["orders"]
    answer = browser.post(PATH, {"topic": ["orders", "clicks"]})
    assert answer.context["chosen"].topics == ["clicks", "orders"]
    assert browser.post(PATH, {"chosen": "clicks\norders", "drop": "clicks"}).context["chosen"].topics == ["orders"]
    assert browser.post(PATH, {"chosen": "clicks\norders", "clear": "1"}).context["chosen"].topics == []
    found = browser.post(PATH, {"q": "ORD", "all": "1", "chosen": "clicks"})
    assert found.context["chosen"].topics == ["clicks", "orders"]
    assert [topic.topic for topic in found.context["found"]] == ["orders"]


def test_a_plan_is_shown_and_nothing_is_started(people: dict[str, Client]) -> None:
    plan = planned(people["operator"])
    assert {len(row["replicas"]) for row in plan["rows"]} == {2}
    assert all(set(row["before"]) == {1, 2, 3} for row in plan["rows"])
    assert plan["sentence"].startswith(f"{len(plan['rows'])} partitions would change.")
    assert not Job.objects.exists()


def test_a_balance_is_planned_for_the_whole_cluster(people: dict[str, Client]) -> None:
    answer = people["operator"].post(PATH, {"goal": "balance", "plan": "1"})
    plan = answer.context["plan"]
    assert all(row["move"].serves for row in plan["rows"])
    assert all(each.why in answer.text for each in plan["unmet"])
    assert not any(each.aim == "traffic" for each in plan["unmet"]), "what nobody tells is not asked for"


def test_a_row_is_struck_out_edited_and_the_rest_starts(people: dict[str, Client]) -> None:
    browser = people["operator"]
    plan = planned(browser)
    count = plan["kept_count"]
    plan = pressed(browser, plan, strike="orders/0").context["plan"]
    assert (plan["kept_count"], plan["struck_count"], plan["rows"][0]["struck"]) == (count - 1, 1, True)
    last = plan["rows"][1]["replicas"][-1]
    plan = pressed(browser, plan, first=f"orders/1/{last}").context["plan"]
    assert plan["rows"][1]["replicas"][0] == last
    plan = pressed(browser, plan, toggle=f"orders/1/{last}").context["plan"]
    assert len(plan["rows"][1]["replicas"]) == 1
    assert pressed(browser, plan, start="1", throttle="1 MiB").status_code == 303
    job = Job.objects.get()
    assert [row["partition"] for row in job.params["assignments"]] == [row["partition"] for row in plan["rows"][1:]]
    assert job.params["assignments"][0]["replicas"] == plan["rows"][1]["replicas"]
    assert job.params["throttle"] == 2**20
    assert AuditEntry.objects.latest("id").action == "start reassignment"


def test_what_was_struck_out_is_put_back(people: dict[str, Client]) -> None:
    plan = planned(people["operator"])
    struck = pressed(people["operator"], plan, strike="orders/0").context["plan"]
    assert pressed(people["operator"], struck, unstrike="orders/0").context["plan"]["kept_count"] == plan["kept_count"]


def test_with_all_struck_out_nothing_starts(people: dict[str, Client]) -> None:
    plan = planned(people["operator"], partition="0")
    answer = pressed(people["operator"], plan | {"struck": "orders/0"}, start="1")
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "plan")
    assert not Job.objects.exists()


def test_the_plan_comes_and_goes_as_kafkas_json(people: dict[str, Client]) -> None:
    plan = planned(people["operator"])
    answer = pressed(people["operator"], plan, json="1")
    assert answer.headers["content-disposition"].startswith("attachment")
    found = json.loads(answer.content)
    assert (found["version"], len(found["partitions"])) == (1, plan["kept_count"])
    file = SimpleUploadedFile("plan.json", answer.content)
    again = people["operator"].post(PATH, {"read": "1", "file": file}).context["plan"]
    assert again["text"] == plan["text"]
    assert people["operator"].post(PATH, {"read": "1", "assignments": answer.content.decode()}).context["plan"]["text"] == plan["text"]


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"plan": "1", "chosen": "orders", "goal": "to"}, "to"),
        ({"plan": "1", "chosen": "orders", "goal": "factor", "rf": "many"}, "rf"),
        ({"plan": "1", "goal": "away"}, "away"),
        ({"plan": "1", "chosen": "nothing", "goal": "to", "to": "1"}, "topics"),
        ({"read": "1", "assignments": "?"}, "assignments"),
        (
            {"read": "1", "assignments": '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": 5}]}'},
            "assignments.0.log_dirs",
        ),
        ({"planned": "orders 0 1,1", "start": "1"}, "assignments.0.replicas"),
        ({"planned": "orders 0 1,2", "start": "1", "throttle": "fast"}, "throttle"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(people: dict[str, Client], form: dict[str, str], field: str) -> None:
    answer = people["operator"].post(PATH, form)
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, field)
    assert ("planned" in form and field == "throttle") == ("plan" in answer.context), "what was planned is not lost by a refusal"
    assert not Job.objects.exists()


def test_who_may_not_move_is_told(people: dict[str, Client]) -> None:
    assert "An operator moves data here" in people["viewer"].get(PATH).content.decode()
    assert people["viewer"].post(PATH, {**FEWER, "plan": "1"}).status_code == 403


def test_a_typed_job_has_a_page_where_no_script_opens_its_dialog(people: dict[str, Client]) -> None:
    for name, field in (("move", "assignments"), ("elect", "topics")):
        assert f'name="{field}"' in people["operator"].get(f"/jobs/new/{name}").content.decode()
        assert f'name="{field}"' not in people["viewer"].get(f"/jobs/new/{name}").content.decode()
    assert people["operator"].get("/jobs/new/nothing").status_code == 404


@pytest.mark.parametrize(("total", "words"), [(1, "1</span> partition"), (2, "2</span> partitions")])
def test_one_partition_is_no_partitions(people: dict[str, Client], local: Any, total: int, words: str) -> None:
    job = Job.objects.create(cluster=local, kind="reassignment", params={}, created_by="somebody", done=1, total=total)
    for path in ("/jobs", f"/jobs/{job.pk}"):
        page = people["viewer"].get(path).content.decode()
        assert f"{words}<" in re.sub(r'<span data-field="progress" data-as="unit" data-quiet>', "", page)
