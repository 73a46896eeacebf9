"""What an operator does with a group: offsets by file, time and length of time, put back, forgotten; members removed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from console.actions.offset_moves import listed_members, move
from console.actions.offset_texts import back_ms, read_csv, write_csv
from console.errors import Invalid
from console.models import AuditEntry, OffsetChange
from tests.console.test_api import BASE, assert_problem
from tests.console.test_api_changes import Asked

GROUP = f"{BASE}/groups/billing"
OFFSETS, CHANGES = f"{GROUP}/offsets", f"{GROUP}/offset-changes"
MEMBER = {"member_id": "app-1-x", "client_id": "app", "client_host": "/10.0.0.7", "group_instance_id": "app-1"}


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, kafka: Any, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}, "clicks": {0: [1, 2, 3]}}
    kafka.committed = {"billing": {("orders", 0): 40, ("orders", 1): 90, ("clicks", 0): 7}}


@pytest.fixture
def ask(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["admin"])


def found(answer: Any) -> Any:
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def after(answer: Any) -> dict[str, int]:
    return {f"{row['topic']}-{row['partition']}": row["after"] for row in found(answer)["items"]}


# --- what is typed


def test_kafka_s_file_is_read_and_written() -> None:
    text = "orders,0,12\n\norders,1,3\n"
    assert read_csv(text, "billing") == {("orders", 0): 12, ("orders", 1): 3}
    assert read_csv('\ufeff"group","topic","partition","offset"\r\nbilling,orders,0,12\r\nother,orders,1,5\r\n', "billing") == {
        ("orders", 0): 12
    }
    assert write_csv([("orders", 0, 12), ("orders", 1, 3)]) == "orders,0,12\norders,1,3\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no row of group billing"),
        ("other,orders,0,1", "no row of group billing"),
        ("orders,0", "Line 1 has 2 fields"),
        ("orders,0,1\norders,x,1", "Line 2: 'x' is no partition"),
        ("orders,0,-1", "Line 1: '-1' is no offset"),
        (f"orders,0,{2**63}", "is no offset"),
        (f"orders,{2**31},1", "is no partition"),
        (",0,1", "is no name of a topic"),
        ("orders,0,1\norders,0,2", "Line 2: orders-0 stands there twice"),
        ('"orders,0,1', "is no CSV"),
        ("a" * 200_000 + ",0,1", "is no CSV"),
        ("\n".join(f"orders,{n},1" for n in range(10_001)), "more than 10\u202f000 rows"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words) as refused:
        read_csv(text, "billing")
    assert refused.value.field == "csv"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2h", 7_200_000),
        ("1 d 12 h", 129_600_000),
        ("90 min", 5_400_000),
        ("500ms", 500),
        ("P1DT2H", 93_600_000),
        ("PT1.5S", 1_500),
        ("pt1m", 60_000),
    ],
)
def test_lengths_of_time(text: str, ms: int) -> None:
    assert back_ms(text) == ms


@pytest.mark.parametrize("text", ["", "2", "h", "2 hours ago", "-2h", "P", "PT", "0s", "200000000000 d", "P1Y", "2h;", "²h"])
def test_wrong_lengths_of_time(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        back_ms(text)
    assert refused.value.field == "back"


def test_what_was_deleted_counts_neither_as_skipped_nor_as_read_again() -> None:
    one = move(("orders", 0), 5, 60, (50, 100))
    assert (one.skipped, one.again, one.lag_after) == (10, 0, 40), "5 to 49 are deleted: nobody skips them"
    assert (move(("orders", 0), 130, 50, (50, 100)).again) == 50
    assert move(("orders", 0), None, 50, (50, 100)).skipped is None


def test_members_are_named_and_not_all_of_very_many() -> None:
    assert listed_members([f"m{n}" for n in range(7)]) == "m0, m1, m2, m3, m4 and 2 others"


# --- offsets moved


def test_a_preview_tells_what_is_skipped_and_what_is_read_again(ask: Asked) -> None:
    plan = found(ask("POST", OFFSETS, {"topic": "orders", "to": 50, "dry_run": True}))
    assert [(row["before"], row["skipped"], row["again"]) for row in plan["items"]] == [(40, 10, 0), (90, 0, 40), (None, None, None)]
    assert (plan["skipped"], plan["again"], plan["change"]) == (10, 40, None)
    assert plan["sentence"].startswith(
        "3 offsets of 3 partitions would change: 40 records would be read again; 10 records would be skipped"
    )
    assert not OffsetChange.objects.exists()


def test_which_and_where_to(ask: Asked) -> None:
    def dry(**more: Any) -> dict[str, int]:
        return after(ask("POST", OFFSETS, {**more, "dry_run": True}))

    assert dry(to="earliest") == {"clicks-0": 0, "orders-0": 0, "orders-1": 0}, "without a topic all that is committed"
    assert dry(to="latest", topics=[{"topic": "clicks"}, {"topic": "orders", "partitions": [2]}]) == {"clicks-0": 100, "orders-2": 100}
    assert dry(to="current", topic="orders") == {"orders-0": 40, "orders-1": 90, "orders-2": 100}, "the end where nothing is committed"
    assert dry(csv="orders,2,33\nclicks,0,500\n") == {"orders-2": 33, "clicks-0": 100}
    assert dry(offsets=[{"topic": "orders", "partition": 1, "offset": 1}]) == {"orders-1": 1}
    plan = found(ask("POST", OFFSETS, {"topic": "clicks", "back": "2h", "dry_run": True}))
    assert plan["items"][0]["after"] == 100, "no record is so new: the end"
    assert plan["time"].startswith("20")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"to": "latest", "back": "2h"}, "to"),
        ({"back": "soon"}, "back"),
        ({"csv": "orders,7,1"}, "csv"),
        ({"csv": "orders,0,1", "topic": "orders"}, "topic"),
        ({"csv": "nowhere,0,1"}, "csv"),
        ({"offsets": [{"topic": "orders", "partition": 0, "offset": 1}] * 2}, "offsets"),
        ({"partition": 1, "to": "latest"}, "topic"),
        ({"topic": "orders", "topics": [{"topic": "orders"}], "to": "latest"}, "topics"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_stands(ask: Asked, kafka: Any, more: dict[str, Any], field: str) -> None:
    assert assert_problem(ask("POST", OFFSETS, more), 422)["field"] == field
    assert not kafka.changes("set_group_offsets")


def test_what_somebody_moved_meanwhile_is_not_overwritten(ask: Asked, kafka: Any) -> None:
    body = {"topic": "orders", "partition": 0, "to": 10}
    tag = ask("POST", OFFSETS, {**body, "dry_run": True}).headers["ETag"]
    kafka.committed["billing"]["orders", 0] = 41
    assert "somebody moved it meanwhile" in assert_problem(ask("POST", OFFSETS, body, If_Match=tag), 412)["detail"]
    assert not kafka.changes("set_group_offsets")
    tag = ask("POST", OFFSETS, {**body, "dry_run": True}).headers["ETag"]
    assert after(ask("POST", OFFSETS, body, If_Match=tag)) == {"orders-0": 10}


def test_a_page_shows_a_new_preview_where_somebody_was_quicker(people: dict[str, Client], kafka: Any) -> None:
    form = {"topic": "orders", "partition": "0", "how": "offset", "to": "10"}
    seen = people["operator"].post("/group-offsets/billing", {**form, "preview": "1"}).context["plan"].seen
    kafka.committed["billing"]["orders", 0] = 41
    answer = people["operator"].post("/group-offsets/billing", {**form, "seen": seen})
    assert answer.status_code == 412
    assert "somebody moved it meanwhile" in answer.content.decode()
    assert answer.context["plan"].moves[0].before == 41
    assert not kafka.changes("set_group_offsets")
    assert people["operator"].post("/group-offsets/billing", {**form, "seen": answer.context["plan"].seen}).status_code == 303
    assert kafka.committed["billing"]["orders", 0] == 10


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"how": "earliest"}, {"clicks-0": 0, "orders-0": 0, "orders-1": 0}),
        ({"how": "latest", "topic": "orders clicks"}, {"orders-0": 100, "orders-1": 100, "orders-2": 100, "clicks-0": 100}),
        ({"how": "shift", "shift": "-10", "topic": "clicks"}, {"clicks-0": 0}),
        ({"how": "shift", "shift": "\u22125", "topic": "clicks"}, {"clicks-0": 2}),
        ({"how": "time", "time": "1970-01-01T01:00:00.050", "zone": "+01:00", "topic": "clicks"}, {"clicks-0": 50}),
        ({"how": "back", "back": "1h", "topic": "clicks"}, {"clicks-0": 100}),
        ({"how": "csv", "csv": "orders,2,3"}, {"orders-2": 3}),
        ({"how": "csv", "file": "orders,1,4\n", "csv": "what was typed before"}, {"orders-1": 4}),
    ],
)
def test_a_page_does_what_its_preview_showed(people: dict[str, Client], kafka: Any, form: dict[str, Any], expected: dict[str, int]) -> None:
    sent = {**form, "preview": "1"}
    if "file" in form:
        sent["file"] = SimpleUploadedFile("offsets.csv", form["file"].encode())
    preview = people["operator"].post("/group-offsets/billing", sent)
    assert preview.status_code == 200, preview.context["form_error"]
    assert {one.place: one.after for one in preview.context["plan"].moves} == expected
    again = {**dict(preview.context["sure"]), "seen": preview.context["plan"].seen, "confirm": "yes"}
    assert people["operator"].post("/group-offsets/billing", again).status_code == 303
    assert {f"{topic}-{n}": offset for (topic, n), offset in kafka.changes("set_group_offsets")[0][2].items()} == expected


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"how": "elsewhere"}, "how"),
        ({"how": "time", "time": ""}, "time"),
        ({"how": "time", "time": "soon"}, "time"),
        ({"how": "time", "time": "2026-01-31T09:00", "zone": "Mars"}, "time"),
        ({"how": "time", "time": "0001-01-01T00:00", "zone": "+23:00"}, "time"),
        ({"how": "back", "back": "x"}, "back"),
        ({"how": "shift", "shift": "ten"}, "shift"),
        ({"how": "shift", "shift": "5", "topic": "orders"}, "shift"),
        ({"how": "csv", "csv": "nonsense"}, "csv"),
        ({"how": "csv", "file": b"\xff\xfe"}, "csv"),
        ({"how": "latest", "topic": "orders clicks", "partition": "0"}, "partition"),
        ({"how": "latest", "partition": "0"}, "topic"),
        ({"how": "latest", "topic": "nowhere"}, "topic"),
    ],
)
def test_the_form_says_at_its_field_what_is_wrong(people: dict[str, Client], form: dict[str, Any], field: str) -> None:
    if "file" in form:
        form = {**form, "file": SimpleUploadedFile("offsets.csv", form["file"])}
    answer = people["operator"].post("/group-offsets/billing", {**form, "preview": "1"})
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, field)
    assert f'id="wrong-set-offsets-{field}"' in answer.content.decode()


def test_committed_offsets_are_exported_as_kafka_does(people: dict[str, Client]) -> None:
    answer = people["viewer"].get("/group-offsets-file/billing")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.content == b"orders,0,50\n", "as the live snapshot has it"
    assert people["viewer"].get("/group-offsets-file/nobody").status_code == 404


# --- put back


def test_a_reset_is_put_back_and_that_too(ask: Asked, kafka: Any) -> None:
    before = dict(kafka.committed["billing"])
    made = found(ask("POST", OFFSETS, {"topic": "orders", "to": "earliest"}))["change"]
    assert kafka.committed["billing"]["orders", 2] == 0
    plan = found(ask("POST", f"{CHANGES}/{made}/undo", {"dry_run": True}))
    assert [(row["before"], row["after"]) for row in plan["items"]] == [(0, 40), (0, 90), (0, None)]
    assert plan["drift"] == []
    back = found(ask("POST", f"{CHANGES}/{made}/undo", {}))["change"]
    assert kafka.committed["billing"] == before, "where nothing was committed nothing is committed again"
    assert "was put back already" in assert_problem(ask("POST", f"{CHANGES}/{made}/undo", {}), 409)["detail"]
    kept = found(ask("GET", CHANGES))["items"]
    assert [(row["id"], row["kind"], row["outcome"], row["undone_by"]) for row in kept] == [
        (back, "put back", "done", None),
        (made, "reset", "done", back),
    ]
    found(ask("POST", f"{CHANGES}/{back}/undo", {}))
    assert kafka.committed["billing"]["orders", 1] == 0
    assert AuditEntry.objects.filter(action="put offsets back", outcome="done").count() == 2


def test_where_the_group_has_moved_since_it_is_asked_first(ask: Asked, kafka: Any, people: dict[str, Client]) -> None:
    made = found(ask("POST", OFFSETS, {"topic": "orders", "partition": 0, "to": 10}))["change"]
    kafka.committed["billing"]["orders", 0] = 25
    refused = assert_problem(ask("POST", f"{CHANGES}/{made}/undo", {}), 422)
    assert refused["code"] == "unconfirmed"
    assert "orders-0 was 10, is 25" in refused["detail"]
    page = people["operator"].get(f"/offset-changes/{made}")
    assert "orders-0 was 10, is 25" in page.content.decode()
    answer = people["operator"].post(f"/offset-changes/{made}", {"seen": page.context["plan"].seen})
    assert (answer.status_code, kafka.committed["billing"]["orders", 0]) == (422, 25)
    kafka.committed["billing"]["orders", 0] = 26
    answer = people["operator"].post(f"/offset-changes/{made}", {"seen": page.context["plan"].seen, "confirm": "yes"})
    assert (answer.status_code, kafka.committed["billing"]["orders", 0]) == (412, 26), "it has moved again since it was looked at"
    sent = {"seen": answer.context["plan"].seen, "confirm": "yes"}
    assert people["operator"].post(f"/offset-changes/{made}", sent).status_code == 303
    assert kafka.committed["billing"]["orders", 0] == 40


def test_nothing_is_put_back_beneath_members_or_by_a_viewer(ask: Asked, kafka: Any, people: dict[str, Client]) -> None:
    made = found(ask("POST", OFFSETS, {"topic": "orders", "partition": 0, "to": 10}))["change"]
    assert people["viewer"].post(f"/offset-changes/{made}", {}).status_code == 403
    assert "Put them back" not in people["viewer"].get(f"/offset-changes/{made}").content.decode()
    kafka.members["billing"] = [MEMBER]
    assert "app (10.0.0.7, static app-1)" in assert_problem(ask("POST", f"{CHANGES}/{made}/undo", {}), 409)["detail"]
    assert "app (10.0.0.7, static app-1)" in people["operator"].get(f"/offset-changes/{made}").content.decode()
    assert kafka.committed["billing"]["orders", 0] == 10


def test_of_a_topic_that_is_gone_nothing_is_put_back(ask: Asked, kafka: Any) -> None:
    made = found(ask("POST", OFFSETS, {"to": "earliest"}))["change"]
    del kafka.topics_["clicks"]
    plan = found(ask("POST", f"{CHANGES}/{made}/undo", {"dry_run": True}))
    assert plan["gone"] == ["clicks-0"]
    found(ask("POST", f"{CHANGES}/{made}/undo", {}))
    assert kafka.committed["billing"]["orders", 0] == 40
    assert_problem(ask("POST", f"{BASE}/groups/other/offset-changes/{made}/undo", {}), 404)


def test_what_a_deleted_group_had_committed_is_put_back(people: dict[str, Client], kafka: Any) -> None:
    answer = people["admin"].post("/group-delete/billing", {"confirm": "billing"})
    change = OffsetChange.objects.get()
    assert answer.headers["Location"] == f"/offset-changes/{change.pk}"
    kafka.committed.pop("billing")
    assert people["operator"].post(f"/offset-changes/{change.pk}", {}).status_code == 303
    assert kafka.committed["billing"] == {("orders", 0): 40, ("orders", 1): 90, ("clicks", 0): 7}


def test_a_change_that_the_cluster_refused_says_so(ask: Asked, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(kafka), "set_group_offsets", lambda self, *_: self.brokers() and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ask("POST", OFFSETS, {"topic": "orders", "to": "earliest"})
    assert OffsetChange.objects.get().outcome == "failed"


# --- forgotten offsets, removed members


def test_offsets_are_forgotten_after_a_look_and_kept_here(people: dict[str, Client], kafka: Any) -> None:
    preview = people["admin"].post("/group-forget/billing", {"topic": "orders", "partition": "1", "preview": "1"})
    assert '<dialog id="delete-offsets" open data-again' in preview.content.decode()
    assert [(one.place, one.before) for one in preview.context["forgets"].moves] == [("orders-1", 90)]
    wrong = people["admin"].post("/group-forget/billing", {"topic": "orders", "partition": "1", "confirm": "bill"})
    assert (wrong.status_code, wrong.context["form_error"]["field"]) == (422, "confirm")
    assert "orders-1 at 90" in wrong.content.decode()
    done = people["admin"].post("/group-forget/billing", {"topic": "orders", "partition": "1", "confirm": "billing"})
    assert done.status_code == 303
    assert kafka.committed["billing"] == {("orders", 0): 40, ("clicks", 0): 7}
    people["operator"].post(done.headers["Location"], {})
    assert kafka.committed["billing"]["orders", 1] == 90


def test_offsets_of_a_topic_that_is_read_are_not_forgotten(ask: Asked, kafka: Any) -> None:
    kafka.members["billing"] = [{**MEMBER, "member_metadata": {"topics": ["orders"]}}]
    refused = assert_problem(ask("POST", f"{OFFSETS}/deletion", {"topic": "orders"}), 409)
    assert "GROUP_SUBSCRIBED_TO_TOPIC" in refused["detail"]
    assert len(found(ask("POST", f"{OFFSETS}/deletion", {"topic": "clicks"}))["items"]) == 1
    assert assert_problem(ask("POST", f"{OFFSETS}/deletion", {"topic": "clicks"}), 422)["field"] == "topic"


def test_a_member_is_removed_by_its_id_or_its_static_name(ask: Asked, kafka: Any, people: dict[str, Client]) -> None:
    other = {"member_id": "m2", "client_id": "two"}
    kafka.members["billing"] = [MEMBER, other]
    removal = f"{GROUP}/members/removal"
    plan = found(ask("POST", removal, {"members": ["app-1"], "dry_run": True}))
    assert ([one["member_id"] for one in plan["members"]], plan["staying"]) == (["app-1-x"], 1)
    assert "joins again by itself" in plan["sentence"]
    assert assert_problem(ask("POST", removal, {"members": ["gone"]}), 422)["field"] == "members"
    assert assert_problem(ask("POST", removal, {"members": ["m2"], "all": True}), 422)["field"] == "members"
    form = {"member": "app-1-x"}
    preview = people["operator"].post("/group-members/billing", {**form, "preview": "1"})
    assert '<dialog id="remove-members" open data-again' in preview.content.decode()
    assert people["operator"].post("/group-members/billing", {**form, "confirm": "no"}).status_code == 422
    assert people["viewer"].post("/group-members/billing", {**form, "confirm": "billing"}).status_code == 403
    assert people["operator"].post("/group-members/billing", {**form, "confirm": "billing"}).status_code == 303
    assert kafka.changes("remove_members") == [("remove_members", "billing", [("app-1-x", "app-1")])]
    found(ask("POST", removal, {"all": True}))
    assert assert_problem(ask("POST", removal, {"all": True}), 409)["detail"].endswith("there is nobody to remove.")


def test_a_read_only_cluster_and_the_past_offer_nothing(people: dict[str, Client], local: Any, kafka: Any) -> None:
    local.read_only = True
    local.save()
    page = people["admin"].get("/groups/billing").content.decode()
    assert "set-offsets" not in page
    assert "remove-members" not in page
    assert people["admin"].post("/group-offsets/billing", {"how": "earliest"}).status_code == 409
    assert not kafka.changes("set_group_offsets")
