"""A cluster that is read-only here: every change is refused in one place, and no form for one is offered."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import pytest

from console import actions
from console.actions.jobs import create_job
from console.actions.reassignments import Move
from console.errors import ReadOnly
from console.jobs.registry import KINDS
from console.models import AuditEntry, Cluster, Job, OffsetChange
from console.roles import ADMIN, Actor
from console.rules.settings.model import Owner
from tests.console.test_api import BASE, WRITES, ask, assert_problem

SOMEBODY = Actor("somebody", ADMIN, "page")
NO_CHANGES = {
    "console.actions.clusters.change": "of the registration, not of the cluster",
    "console.actions.clusters.delete": "of the registration, not of the cluster",
    "console.actions.clusters.test": "changes nothing",
    "console.actions.audit": "is what refuses",
    "console.actions.masking": "of what the console shows of records",
    "console.actions.mask_preview": "the same",
    "console.actions.records": "only reads",
    "console.actions.one_record": "the same",
    "console.actions.wanted.keep_wanted": "of what the console compares the cluster with",
    "console.actions.wanted.forget_wanted": "the same",
    "console.actions.jobs.refuse_hidden": "only refuses",
    "console.actions.record_copy.plan_copy": "changes nothing",
    "console.actions.jobs.follow": "goes with a change that was not refused",
    "console.actions.offset_changes.committing": "goes with one, too",
    "console.actions.alerts": "of what the console tells people of the cluster",
    "console.actions.schema_registry": "of what the console decodes records with",
}
ARGUMENTS: dict[str, Any] = {
    "name": "orders",
    "names": ["orders"],
    "key": "retention.ms",
    "value": "1000",
    "group": "billing",
    "topic": "orders",
    "partitions": 3,
    "replication_factor": 3,
    "configs": {},
    "changes": {"retention.ms": "1000"},
    "owner": Owner("topic", "orders"),
    "total": 9,
    "spans": None,
    "to": "latest",
    "transactional_id": "payments",
    "broker_id": 1,
    "action": "kill",
    "kind": "preferred_leader_election",
    "params": {},
    "confirm": "orders",
    "levels": {"root": "INFO"},
    "places": [("orders", 0)],
    "pace": {},
    "moves": [Move("orders", 0, [1, 2, 3], [3], [1], None)],
    "is_on": True,
    "change": OffsetChange(group="billing", rows={"orders": [[0, 1, 2]]}),
}
"""What actions are asked with. Of what is not named here None: it is refused before it is looked at."""


def changing() -> list[Callable[..., Any]]:
    """Every public function of the actions that is given somebody and a cluster, or a job of one."""
    found = []
    for module in pkgutil.iter_modules(actions.__path__, "console.actions."):
        if module.name in NO_CHANGES:
            continue
        for name, one in vars(importlib.import_module(module.name)).items():
            if inspect.isfunction(one) and one.__module__ == module.name and not name.startswith("_"):
                takes = inspect.signature(one).parameters
                if "actor" in takes and takes.keys() & {"cluster", "job"} and f"{module.name}.{name}" not in NO_CHANGES:
                    found.append(one)
    return found


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: Any, sent: Any) -> None:
    Cluster.objects.filter(pk="local").update(read_only=True)
    local.refresh_from_db()


def test_the_actions_are_found() -> None:
    assert {"create_topic", "set_offsets", "act_on_broker", "elect_unclean", "cancel_job"} <= {one.__name__ for one in changing()}


@pytest.mark.parametrize("action", changing(), ids=lambda one: one.__name__)
def test_every_action_is_refused(action: Callable[..., Any], local: Cluster, kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from console.gateway import local as processes

    done: list[Any] = []
    monkeypatch.setattr(processes, "act", lambda *what: done.append(what))
    job = Job.objects.create(cluster=local, kind="reassignment", params={"assignments": []}, created_by="x")
    known = {"actor": SOMEBODY, "cluster": local, "job": job, **ARGUMENTS}
    takes = inspect.signature(action).parameters.values()
    given = {one.name: known.get(one.name) for one in takes if one.name in known or one.default is one.empty}
    with pytest.raises(ReadOnly, match="local is read-only here"):
        action(**given)
    assert (kafka.asked, done, Job.objects.get(pk=job.pk).state) == ([], [], Job.QUEUED)
    row = AuditEntry.objects.latest("id")
    assert (row.outcome, row.cluster) == ("refused", "local")


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_jobs_that_change_something_are_refused_and_those_that_look_are_not(kind: Any, local: Cluster) -> None:
    if not kind.on_request:
        return
    if kind.changes_cluster:
        with pytest.raises(ReadOnly):
            create_job(SOMEBODY, local, kind.name, {})
    else:
        assert create_job(SOMEBODY, local, kind.name, {}).state == Job.QUEUED


OWN = ("/alert-silences", "/mask-rules", "/wanted")
"""Of the console itself, beneath a cluster's address."""
ROUTES = [route for route in WRITES if route[1].startswith((BASE, "/api/v1/jobs")) and not route[1].endswith(OWN)]


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_rest_has_a_code_for_it(tokens: dict[str, dict[str, str]], route: tuple[str, str]) -> None:
    found = assert_problem(ask(tokens["admin"], *route, WRITES[route][0]), 409)
    assert found["code"] == "cluster-read-only"


@pytest.mark.parametrize("path", ["/brokers", "/topics", "/topics/orders", "/groups/billing", "/jobs", "/health"])
def test_no_page_offers_a_change(people: dict[str, Any], path: str) -> None:
    """Buttons and dialogs are gone; the forms left ask for a report and keep favourites."""
    page = people["admin"].get(path).content.decode()
    posts = [form for form in page.split("<form")[1:] if 'method="post"' in form.partition(">")[0]]
    assert [form for form in posts if not any(f'action="{it}"' in form for it in ("/logout", "/health/run", "/topics-at-once"))] == []
    assert re.findall(r'name="action" value="(\w+)"', page) in ([], ["favourite"])
    assert set(re.findall(r'data-dialog="([\w-]+)"', page)) == {"keys"}, "what keys lead where changes nothing"
    assert "read-only" in page


def test_a_form_that_is_sent_anyway_is_told_so(people: dict[str, Any], kafka: Any) -> None:
    answer = people["admin"].post("/topics/orders/delete", {"confirm": "orders"})
    assert answer.status_code == 409
    assert "local is read-only here" in answer.content.decode()
    assert kafka.changes("delete_topic") == []
    assert people["admin"].get("/new-topic").status_code == 409
