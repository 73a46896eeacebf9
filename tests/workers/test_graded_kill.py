"""A broker is killed and the forecast graded: step by step, each twice, with workers that die, and cancelled before and after the kill."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.actions.jobs import create_job
from console.errors import Invalid, Unconfirmed
from console.gateway import local as processes
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import AuditEntry, Cluster, Job
from console.roles import Actor, Refused
from tests.support.console_world import FakeKafka
from workers import runner
from workers.kinds import graded_kill

ADMIN = Actor("someone", "admin", "api")
ASKED = {"broker": 1, "start_again": False, "confirm": True}
SIZES = {"orders": 3, "clicks": 2}


class Stage:
    """The local brokers' processes, and how the cluster tells its partitions; `kill` has the controller's work done at once."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka
        self.states = dict.fromkeys((1, 2, 3), "running")
        self.acted: list[tuple[str, int]] = []
        self.refuses = ""
        self.rows = {
            (topic, p): {"leader_id": p % 3 + 1, "isr_nodes": [(p + i) % 3 + 1 for i in range(3)]}
            for topic, n in SIZES.items()
            for p in range(n)
        }
        self.replicas = {place: list(row["isr_nodes"]) for place, row in self.rows.items()}

    def act(self, action: str, broker: int) -> None:
        if self.refuses:
            raise GatewayError("NOT_DONE", self.refuses)
        self.acted.append((action, broker))
        self.states[broker] = {"kill": "stopped", "start": "running"}[action]
        if action == "kill":
            self.kafka.online.discard(broker)
            for place, row in self.rows.items():
                row["isr_nodes"] = [b for b in row["isr_nodes"] if b != broker]
                if row["leader_id"] == broker:
                    row["leader_id"] = next(b for b in self.replicas[place] if b in row["isr_nodes"])

    def topics(self, names: Any = None) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "partitions": [
                    {"partition_index": p, "replica_nodes": self.replicas[topic, p], **row}
                    for (topic, p), row in self.rows.items()
                    if topic == name
                ],
            }
            for name in names
        ]


@pytest.fixture
def stage(local: Cluster, shown: Any, kafka: FakeKafka, sent: Any, monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage(kafka)
    monkeypatch.setattr(processes, "processes", lambda: made.states)
    monkeypatch.setattr(processes, "act", made.act)
    monkeypatch.setattr(KafkaCluster, "topics", lambda _self, names=None: made.topics(names))
    return made


def make(local: Cluster, **params: Any) -> Job:
    return create_job(ADMIN, local, "graded_kill", {**ASKED, **params})


def step(job: Job, times: int = 1) -> Job:
    for _ in range(times):
        runner.advance(job.pk)
    return Job.objects.get(pk=job.pk)


def until(job: Job, name: str) -> Job:
    for _ in range(10):
        if job.step == name:
            return job
        job = step(job)
    raise AssertionError(f"{job.step}: {job.message}")


def test_every_partition_is_graded_and_the_broker_stays_down(local: Cluster, stage: Stage) -> None:
    job = until(make(local), "end")
    assert job.state == Job.SUCCEEDED, job.message
    assert stage.acted == [("kill", 1)]
    assert (job.result["right"], job.result["wrong"], job.result["changed"]) == (5, 0, 0)
    assert "The forecast was right for 5 of 5 partitions." in job.message
    assert job.message.endswith("Broker 1 is down.")
    assert [row["came"] for row in job.result["partitions"]] == ["right"] * 5
    assert job.plan == {}, "what was looked at is not kept"


def test_it_is_started_again_where_that_was_asked_for(local: Cluster, stage: Stage) -> None:
    job = until(make(local, start_again=True), "end")
    assert (job.state, stage.acted) == (Job.SUCCEEDED, [("kill", 1), ("start", 1)])
    assert job.message.endswith("Broker 1 runs again.")
    assert job.result["right"] == 5


def test_what_came_otherwise_is_told_with_what_was_foretold(local: Cluster, stage: Stage) -> None:
    job = until(make(local), "wait")
    stage.rows["orders", 0]["leader_id"] = 3
    stage.rows["clicks", 1]["isr_nodes"] = [2]
    job = until(job, "end")
    assert (job.result["level"], job.result["wrong"], job.result["changed"], job.result["right"]) == ("bad", 1, 1, 3)
    first, second = job.result["partitions"][:2]
    assert (first["topic"], first["came"], "Foretold were leader 2" in first["why"]) == ("orders", "wrong", True)
    assert (second["topic"], second["came"]) == ("clicks", "changed")


def test_what_changed_before_the_kill_is_no_fault_of_the_forecast(local: Cluster, stage: Stage) -> None:
    stage.rows["orders", 0]["isr_nodes"] = [1, 3]
    job = until(make(local), "end")
    assert (job.result["changed"], job.result["wrong"], job.result["right"]) == (1, 0, 4)
    assert "the forecast was made of leader 1" in job.result["partitions"][0]["why"]


@pytest.mark.parametrize("name", ["start", "look", "kill", "wait", "start_again"])
def test_a_worker_that_dies_in_a_step_is_followed_by_one_that_repeats_it(
    local: Cluster, stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = until(make(local, start_again=True), name)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "_write", lambda *_: None)
        runner.advance(job.pk)
    Job.objects.filter(pk=job.pk).update(lease_until=None)
    job = until(job, "end")
    assert (job.state, job.result["right"]) == (Job.SUCCEEDED, 5), job.message
    assert stage.acted == [("kill", 1), ("start", 1)], "neither is done twice"


def test_it_waits_for_the_controller(local: Cluster, stage: Stage) -> None:
    job = until(make(local), "wait")
    stage.kafka.online.add(1)
    job = step(job, 3)
    assert (job.step, job.active) == ("wait", True)
    stage.kafka.online.discard(1)
    assert until(job, "end").result["right"] == 5


def test_a_cluster_that_does_not_settle_is_graded_as_it_is(local: Cluster, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    job = until(make(local), "wait")
    stage.kafka.online.add(1)
    monkeypatch.setattr(graded_kill, "PATIENCE_S", 0)
    assert "was not settled yet" in until(job, "end").message


@pytest.mark.parametrize(("at", "words", "acted"), [("look", "Broker 1 runs.", []), ("wait", "Broker 1 is down", [("kill", 1)])])
def test_a_cancellation_says_what_became_of_the_broker(local: Cluster, stage: Stage, at: str, words: str, acted: list[Any]) -> None:
    job = until(make(local, start_again=True), at)
    Job.objects.filter(pk=job.pk).update(cancel_requested=True, state=Job.CANCELLING)
    job = step(job)
    assert (job.state, words in job.message, stage.acted) == (Job.CANCELLED, True, acted)


def test_a_kill_that_fails_says_that_the_broker_runs(local: Cluster, stage: Stage) -> None:
    stage.refuses = "The lock of the data folder is held."
    job = until(make(local), "kill")
    job = step(job)
    assert job.state == Job.FAILED
    assert "could not be killed" in job.message
    assert job.message.endswith("The lock of the data folder is held. Broker 1 is running.")


def test_an_old_forecast_is_made_anew_before_the_kill(local: Cluster, stage: Stage) -> None:
    job = until(make(local), "kill")
    Job.objects.filter(pk=job.pk).update(plan={**job.plan, "at": 0.0})
    job = step(job)
    assert (job.step, stage.acted) == ("start", [])
    assert until(job, "end").result["right"] == 5


def test_a_broker_that_does_not_start_is_told(local: Cluster, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    job = until(make(local, start_again=True), "start_again")
    stage.refuses = "Its port is taken."
    monkeypatch.setattr(graded_kill, "START_PATIENCE_S", 0)
    job = step(job)
    assert (job.state, "Its port is taken." in job.message, job.result["right"]) == (Job.FAILED, True, 5)


def test_nothing_is_killed_where_nothing_can_be_foretold(local: Cluster, stage: Stage) -> None:
    stage.states[1] = "paused"
    job = until(make(local), "end")
    assert (job.state, "nothing was done" in job.message, stage.acted) == (Job.FAILED, True, [])


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"broker": "1"}, "broker"), ({"broker": -1}, "broker"), ({"broker": 9}, "broker"), ({"start_again": "yes"}, "start_again")],
)
def test_what_cannot_be_meant_is_refused(local: Cluster, stage: Stage, asked: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        make(local, **asked)
    assert refused.value.field == field


def test_it_has_to_be_confirmed_by_an_admin_of_the_own_cluster(local: Cluster, stage: Stage) -> None:
    with pytest.raises(Unconfirmed):
        make(local, confirm=None)
    with pytest.raises(Refused):
        create_job(Actor("someone", "operator", "api"), local, "graded_kill", ASKED)
    north = Cluster.objects.create(pk="north", name="north", bootstrap_servers="127.0.0.1:3")
    with pytest.raises(Invalid):
        create_job(ADMIN, north, "graded_kill", ASKED)
    assert not Job.objects.exists()


def test_rest_takes_it_and_its_page_shows_the_table(tokens: Any, people: dict[str, Client], local: Cluster, stage: Stage) -> None:
    body = json.dumps({"kind": "graded_kill", **ASKED})
    ask = lambda role: Client().post("/api/v1/jobs", body, content_type="application/json", headers=tokens[role])  # noqa: E731
    assert ask("operator").status_code == 403
    answer = ask("admin")
    assert answer.status_code == 202, answer.content
    until(Job.objects.get(pk=answer.json()["id"]), "end")
    page = people["viewer"].get(f"/jobs/{answer.json()['id']}").content.decode()
    assert "The forecast was right for 5 of 5 partitions." in page
    assert "as foretold" in page and "orders-0" in page


def test_the_page_wants_the_id_typed(people: dict[str, Client], local: Cluster, stage: Stage) -> None:
    post = lambda role, **form: people[role].post("/brokers/1/graded-kill", form)  # noqa: E731
    assert post("operator", confirm="1").status_code == 403
    wrong = post("admin", confirm="2")
    assert (wrong.status_code, wrong.context["form_error"]["field"]) == (422, "confirm")
    assert not Job.objects.exists()
    assert post("admin", confirm="1", start_again="1").status_code == 303
    assert Job.objects.get().params == {"broker": 1, "start_again": True}
    assert AuditEntry.objects.filter(action="start graded_kill", outcome="done").count() == 1
    assert post("admin", confirm="1").status_code == 409
