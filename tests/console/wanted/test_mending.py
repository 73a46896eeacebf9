"""A wanted state is kept, compared with the cluster, and mended: by REST and by the worker, with a pretended Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.actions.wanted import look
from console.models import AuditEntry, Job, WantedDrift, WantedState
from tests.console.test_api import BASE, assert_problem
from tests.console.test_api_changes import Asked
from tests.support.wanted_world import FILE, Cluster, put_in_place
from workers.tasks.wanted import look_for_drift

WANTED = f"{BASE}/wanted"


@pytest.fixture(autouse=True)
def cluster(local: Any, shown: Any, redis: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return put_in_place(monkeypatch)


@pytest.fixture
def ask(tokens: dict[str, dict[str, str]]) -> Asked:
    return Asked(tokens["admin"])


def put(ask: Asked, text: str = FILE, **more: Any) -> dict[str, Any]:
    answer = ask("PUT", WANTED, {"files": {"a.yaml": text}, **more})
    assert answer.status_code == 200, answer.content
    return dict(json.loads(answer.content))


def by_object(drifts: list[dict[str, Any]]) -> dict[str, str]:
    return {drift["object"].removeprefix("topic/"): drift["state"] for drift in drifts}


ALL = {"fresh": "missing", "orders": "differs", "small": "impossible", "brokers": "differs", "extra": "unmanaged"}


def mend(ask: Asked, name: str, **more: Any) -> Any:
    return ask("POST", f"{WANTED}/mend", {"object": name, **more})


def test_a_dry_run_keeps_nothing(ask: Asked) -> None:
    plan = put(ask, dry_run=True)
    assert (by_object(plan["drifts"]), plan["total"], plan["kept"]) == (ALL, 5, False)
    assert not WantedState.objects.exists()
    assert not AuditEntry.objects.exists()
    assert_problem(ask("GET", WANTED), 404)


def test_a_plan_is_told_page_by_page_whatever_changes_between_them(ask: Asked, cluster: Cluster) -> None:
    page = put(ask, dry_run=True)
    assert (page["next"], page["counts"], page["at_risk"]) == (None, {"missing": 1, "differs": 2, "impossible": 1, "unmanaged": 1}, 2)
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        answer = ask("PUT", f"{WANTED}?limit=1" + (f"&cursor={cursor}" if cursor else ""), {"files": {"a.yaml": FILE}, "dry_run": True})
        page = json.loads(answer.content)
        seen += [drift["object"] for drift in page["drifts"]]
        cursor = page["next"]
        cluster.topics_ |= {"fresh": {0: [1, 2, 3], 1: [1, 2, 3]}}
    assert seen == ["topic/fresh", "topic/orders", "topic/small", "brokers", "topic/extra"]
    for wrong in ("x", "OSBh"):  # the second is "9 a"
        refused = ask("PUT", f"{WANTED}?cursor={wrong}", {"files": {"a.yaml": FILE}, "dry_run": True})
        assert assert_problem(refused, 400)["field"] == "cursor"


def test_what_is_kept_is_told_with_what_differs(ask: Asked) -> None:
    put(ask)
    found = json.loads(ask("GET", WANTED).content)
    assert (found["topics"], found["files"], found["uploaded_by"], found["error"]) == (3, ["a.yaml"], "admin", "")
    assert found["counts"] == {"missing": 1, "differs": 2, "impossible": 1, "unmanaged": 1}
    first = json.loads(ask("GET", f"{WANTED}/drift?limit=2").content)
    rest = json.loads(ask("GET", f"{WANTED}/drift?limit=9&cursor={first['next']}").content)
    assert by_object(first["items"] + rest["items"]) == ALL
    assert AuditEntry.objects.latest("id").action == "keep wanted state"
    assert ask("DELETE", WANTED).status_code == 204
    assert not WantedDrift.objects.exists()


def test_a_topic_is_mended_in_all_that_differs(ask: Asked, cluster: Cluster) -> None:
    put(ask)
    tried = json.loads(mend(ask, "topic/orders", dry_run=True).content)
    assert [(c["label"], c["before"], c["after"]) for c in tried["drift"]["changes"]] == [
        ("retention.ms", "1000", "500"),
        ("segment.ms", "5", None),
        ("partitions", 2, 4),
        ("replicas of partition 0", "1, 2", "1, 2, 3"),
        ("replicas of partition 1", "2, 3", "2, 3, 1"),
        ("replicas of partition 2", None, "1, 2, 3"),
        ("replicas of partition 3", None, "1, 2, 3"),
    ]
    assert assert_problem(mend(ask, "topic/orders"), 422)["code"] == "unconfirmed", "records would be deleted"
    done = json.loads(mend(ask, "topic/orders", confirm=True, seen=tried["drift"]["seen"]).content)
    assert cluster.configs["orders"] == {"retention.ms": "500"}
    assert [len(row) for row in cluster.topics_["orders"].values()] == [2, 2, 2, 2]
    job = Job.objects.get(pk=done["jobs"][0])
    assert [len(row["replicas"]) for row in job.params["assignments"]] == [3, 3, 3, 3]
    cluster.moving = {("orders", row["partition"]): row["replicas"] for row in job.params["assignments"]}
    look(WantedState.objects.get())
    assert "topic/orders" not in WantedDrift.objects.values_list("object", flat=True), "what is being moved is mended"
    again = json.loads(mend(ask, "topic/orders", confirm=True).content)
    assert (again["drift"], again["jobs"]) == (None, [])


def test_what_differs_otherwise_than_was_shown_is_not_mended(ask: Asked, cluster: Cluster) -> None:
    put(ask)
    seen = json.loads(mend(ask, "topic/orders", dry_run=True).content)["drift"]["seen"]
    cluster.configs["orders"]["segment.ms"] = "6"
    assert_problem(mend(ask, "topic/orders", confirm=True, seen=seen), 412)
    assert cluster.configs["orders"]["retention.ms"] == "1000"


def test_what_is_missing_is_made_and_brokers_are_set(ask: Asked, cluster: Cluster, tokens: dict[str, dict[str, str]]) -> None:
    put(ask)
    assert mend(ask, "topic/fresh").status_code == 200
    assert len(cluster.topics_["fresh"]) == 2
    assert_problem(mend(Asked(tokens["operator"]), "brokers", confirm=True), 403)
    assert mend(ask, "brokers", confirm=True).status_code == 200
    assert cluster.defaults == {"log.retention.ms": "9"}
    assert by_object(put(ask)["drifts"]) == {name: ALL[name] for name in ("orders", "small", "extra")}


@pytest.mark.parametrize("name", ["topic/small", "topic/extra", "topic/nothing", "brokers/1", "nonsense"])
def test_what_cannot_be_mended_is_refused(ask: Asked, name: str) -> None:
    put(ask)
    assert assert_problem(mend(ask, name, confirm=True), 422)["field"] == "object"


def test_nothing_can_be_mended_without_a_wanted_state(ask: Asked) -> None:
    assert_problem(mend(ask, "topic/orders"), 422)


def test_a_viewer_keeps_and_mends_nothing(tokens: dict[str, dict[str, str]]) -> None:
    viewer = Asked(tokens["viewer"])
    assert_problem(viewer("PUT", WANTED, {"files": {}}), 403)
    assert_problem(mend(viewer, "topic/orders"), 403)


def test_files_that_cannot_be_meant_are_told_with_their_lines(ask: Asked) -> None:
    answer = ask("PUT", WANTED, {"files": {"a.yaml": "topics:\n  a: {x: 1}\n  a: {}\n", "b.yaml": "topics: {b: {partitions: no}}"}})
    said = assert_problem(answer, 422)
    assert [error["field"] for error in said["errors"]] == ["a.yaml:3", "b.yaml:1"]
    for body in ({}, {"files": []}, {"files": {"a": 1}}, {"files": {}, "more": 1}):
        assert assert_problem(ask("PUT", WANTED, body), 422)["field"] == "files"


def test_five_megabytes_are_taken_and_more_are_refused(ask: Asked) -> None:
    assert put(ask, "topics:\n  fresh:\n" + "# x\n" * 1_000_000, dry_run=True)["total"] == 4
    said = assert_problem(ask("PUT", WANTED, {"files": {"a.yaml": "#" * 5_000_001}}), 422)
    assert "5 MB together are the most" in said["detail"]
    assert_problem(ask("PUT", WANTED, {"files": {"a.yaml": "#" * 8_000_000}}), 413)


def test_the_worker_looks_and_keeps_what_was_seen_of_a_cluster_that_is_away(ask: Asked, cluster: Cluster) -> None:
    put(ask)
    cluster.topics_["small"] = {0: [1]}
    look_for_drift()
    assert "topic/small" not in WantedDrift.objects.values_list("object", flat=True)
    before = WantedState.objects.get()
    cluster.away = True
    look_for_drift()
    after = WantedState.objects.get()
    assert (after.looked_at, WantedDrift.objects.count()) == (before.looked_at, 4)
    assert "No broker answers" in after.error
