"""Jobs step by step: leases, kinds, cancel, a killed worker, a cluster that is away (a pretended Kafka fails on demand)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from redis import Redis

from console.actions.jobs import cancel_job, create_job, pause_job
from console.errors import Conflict, Invalid
from console.jobs.kind import JobKind
from console.jobs.registry import KINDS
from console.models import Cluster, HealthReport, Job, job_value
from console.roles import Actor
from console.rules import moves as move_rules
from console.snapshot.steps import read_steps
from tests.support.console_world import FakeKafka
from workers import runner
from workers.kinds import election, reassignment
from workers.tasks import jobs as tasks

ACTOR = Actor("someone", "operator", "api")


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: FakeKafka, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}


def make(local: Cluster, kind: str, **params: Any) -> Job:
    return create_job(ACTOR, local, kind, params)


def queued(local: Cluster, kind: str, **params: Any) -> Job:
    """A job whose topics were there when it was asked for."""
    return Job.objects.create(cluster=local, kind=kind, params=params, created_by=ACTOR.name)


def moves(*rows: tuple[int, list[int]]) -> list[dict[str, Any]]:
    return [{"topic": "orders", "partition": p, "replicas": r} for p, r in rows]


def step(job: Job, times: int = 1) -> Job:
    for _ in range(times):
        runner.advance(job.pk)
    return Job.objects.get(pk=job.pk)


def finish(job: Job, most: int = 10) -> Job:
    for _ in range(most):
        job = step(job)
        if not job.active:
            return job
    raise AssertionError(f"job {job.pk} is still {job.state}: {job.message}")


# --- the kinds


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_has_steps_and_says_what_cancelling_means(kind: JobKind) -> None:
    steps = runner.STEPS[kind.name]
    assert callable(steps.advance) and callable(steps.cancel)
    assert kind.cancel_means.endswith(".")


# --- the lease


def test_only_one_worker_takes_a_step(local: Cluster) -> None:
    job = make(local, "preferred_leader_election")
    assert runner._take(job.pk, "a") is not None
    assert runner._take(job.pk, "b") is None
    assert runner.unfinished() == []
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert runner.unfinished() == [(job.pk, "preferred_leader_election")]
    assert runner._take(job.pk, "b") is not None


def test_a_worker_that_lost_its_lease_writes_nothing(local: Cluster, kafka: FakeKafka) -> None:
    """It was taken for dead; another one has gone on."""
    job = make(local, "preferred_leader_election")
    taken = runner._take(job.pk, "slow")
    assert taken is not None
    Job.objects.update(lease_owner="other")
    runner._write(taken, runner._step(taken), "slow")
    assert Job.objects.get().step == "start"


@pytest.mark.parametrize("killed_in", ["start", "submit", "watch"])
def test_a_killed_worker_loses_nothing(local: Cluster, kafka: FakeKafka, killed_in: str) -> None:
    """The step's effect has happened, its outcome was never written: taking it again changes nothing."""
    job = make(local, "reassignment", assignments=moves((0, [3, 1, 2])))
    while job.step != killed_in:
        job = step(job)
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    reassignment.advance(dead)
    assert step(job).step == killed_in
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    while kafka.moving == {}:
        job = step(job)
    kafka.finish("orders", 0)
    job = finish(job)
    assert (job.state, job.result) == ("succeeded", {"partitions": 1, "moved": 1})


# --- elections


@pytest.mark.spec("O3")
def test_an_election_moves_leaders_home(local: Cluster, kafka: FakeKafka) -> None:
    """One partition moves."""
    kafka.leaders = {("orders", 1): 2}
    job = finish(make(local, "preferred_leader_election"))
    assert (job.state, job.result) == ("succeeded", {"elected": 1, "not_needed": 0, "failed": []})
    assert kafka.changes("elect_preferred") == [("elect_preferred", [("orders", 1)])]
    assert (job.done, job.total) == (1, 1)
    assert [row["text"] for row in job.log] == [
        "1 partition is not led by its preferred replica.",
        "1 leader moved to its preferred replica.",
    ]
    assert job.started_at
    assert job.ended_at
    assert job.stepped_at == job.ended_at


def test_an_election_with_nothing_to_do(local: Cluster, kafka: FakeKafka) -> None:
    job = finish(make(local, "preferred_leader_election", topics=["orders"]))
    assert (job.state, job.message) == ("succeeded", "Every partition is led by its preferred replica.")
    assert not kafka.changes("elect_preferred")


def test_an_election_of_a_topic_that_is_not_there(local: Cluster) -> None:
    with pytest.raises(Invalid, match="There is no topic nothing"):
        make(local, "preferred_leader_election", topics=["nothing"])
    assert finish(queued(local, "preferred_leader_election", topics=["nothing"])).message == "There is no topic nothing."


def test_an_election_that_cannot_be_done_says_why(local: Cluster, kafka: FakeKafka) -> None:
    kafka.leaders = {("orders", 1): 2, ("orders", 2): 3}
    kafka.elections = {("orders", 1): (80, "Preferred leader not available"), ("orders", 2): (84, "")}
    job = finish(make(local, "preferred_leader_election"))
    assert job.result == {
        "elected": 0,
        "not_needed": 1,
        "failed": [{"topic": "orders", "partition": 1, "error": "Preferred leader not available (80)"}],
    }


def test_elections_go_in_batches(local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "BATCH", 2)
    kafka.leaders = {("orders", p): 3 for p in range(3)}
    kafka.topics_["orders"] = {p: [1, 2, 3] for p in range(3)}
    job = step(make(local, "preferred_leader_election"), 2)
    assert (job.state, job.done, job.total) == ("running", 2, 3)
    job = finish(job)
    assert job.result is not None
    assert job.result["elected"] == 3


# --- reassignments


def test_a_reassignment_runs_to_its_end(local: Cluster, kafka: FakeKafka) -> None:
    job = make(local, "reassignment", assignments=moves((0, [2, 3]), (1, [3, 1, 2])))
    job = step(job, 3)
    assert (job.state, job.step) == ("running", "watch")
    assert kafka.changes("reassign") == [("reassign", {("orders", 0): [2, 3], ("orders", 1): [3, 1, 2]})]
    kafka.finish("orders", 1)
    job = step(job)
    assert [row["state"] for row in job.plan["detail"]] == ["moving", "done"]
    kafka.finish("orders", 0)
    job = finish(job)
    assert (job.state, job.message) == ("succeeded", "2 of 2 partitions have moved.")
    assert [row["text"] for row in job.log][-1] == "2 of 2 partitions have moved."


def test_progress_comes_from_the_new_replicas_ends(local: Cluster, kafka: FakeKafka, redis: Any, shown: Any) -> None:
    kafka.topics_["orders"][0] = [1, 2]
    job = step(make(local, "reassignment", assignments=moves((0, [1, 3]))), 3)
    assert (job.done, job.total, job.unit) == (100, 100, "records")
    kafka.finish("orders", 0)
    assert finish(job).state == "succeeded"


@pytest.mark.parametrize(
    ("assignments", "why"),
    [
        (moves((9, [1, 2])), "There is no partition orders-9."),
        ([{"topic": "no", "partition": 0, "replicas": [1]}], "There is no partition no-0."),
        (moves((0, [1, 7])), "orders-0 cannot move to broker 7: it is not online."),
    ],
)
def test_a_move_that_cannot_be_is_refused_before_anything_changes(
    local: Cluster, kafka: FakeKafka, assignments: list[dict[str, Any]], why: str
) -> None:
    """By the worker too: what was there when it was asked for may have gone."""
    with pytest.raises(Invalid):
        make(local, "reassignment", assignments=assignments)
    job = finish(queued(local, "reassignment", assignments=assignments))
    assert (job.state, job.message) == ("failed", why)
    assert not kafka.changes("reassign")


def test_somebody_elses_move_is_left_alone(local: Cluster, kafka: FakeKafka) -> None:
    kafka.moving = {("orders", 0): [2, 1]}
    job = finish(make(local, "reassignment", assignments=moves((0, [3, 1]))))
    assert job.state == "failed"
    assert "by somebody else" in job.message
    assert kafka.moving == {("orders", 0): [2, 1]}


def test_a_move_taken_back_by_somebody_else_fails(local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_rules, "DOUBT_MS", 0)
    job = step(make(local, "reassignment", assignments=moves((0, [3, 1, 2]))), 2)
    kafka.moving.clear()
    job = finish(job)
    assert job.state == "failed"
    assert "its replicas are [1, 2, 3]" in job.message


def test_a_broker_that_has_not_heard_of_a_moves_end_yet_does_not_fail_it(local: Cluster, kafka: FakeKafka) -> None:
    """The controller lists it no more, and some broker still tells of the replicas before."""
    job = step(make(local, "reassignment", assignments=moves((0, [3, 1, 2]))), 2)
    kafka.moving.clear()
    job = step(job, 3)
    assert job.state == "running"
    kafka.topics_["orders"][0] = [3, 1, 2]
    assert finish(job).state == "succeeded"


def test_cancelling_takes_back_what_is_under_way(local: Cluster, kafka: FakeKafka) -> None:
    job = step(make(local, "reassignment", assignments=moves((0, [3, 1, 2]), (1, [3, 1, 2]))), 2)
    kafka.finish("orders", 1)
    step(job)
    cancel_job(ACTOR, job)
    assert step(job).state == "cancelling"
    assert kafka.changes("reassign")[-1] == ("reassign", {("orders", 0): None})
    job = finish(job)
    assert (job.state, job.result) == ("cancelled", {"partitions": 2, "moved": 1})
    assert [row["state"] for row in job.plan["detail"]] == ["cancelled", "done"]


def test_a_move_begins_as_another_ends(local: Cluster, kafka: FakeKafka) -> None:
    wanted = moves((0, [1, 2, 4]), (1, [1, 2, 4]), (2, [2, 1, 3]))
    kafka.online = {1, 2, 3, 4}
    job = step(make(local, "reassignment", assignments=wanted, at_once=1), 2)
    assert set(kafka.moving) == {("orders", 0), ("orders", 2)}, "what copies nothing needs no room"
    kafka.finish("orders", 2)
    job = step(job)
    assert (set(kafka.moving), job.message) == ({("orders", 0)}, "1 of 3 partitions is moving, 1 waits for room.")
    kafka.finish("orders", 0)
    job = step(job)
    assert set(kafka.moving) == {("orders", 1)}
    kafka.finish("orders", 1)
    assert finish(job).result == {"partitions": 3, "moved": 3}


def test_a_pause_begins_nothing_and_is_resumed(local: Cluster, kafka: FakeKafka) -> None:
    kafka.online = {1, 2, 3, 4}
    job = step(make(local, "reassignment", assignments=moves((0, [1, 2, 4]), (1, [1, 2, 4])), at_once=1), 2)
    pause_job(ACTOR, job, paused=True)
    kafka.finish("orders", 0)
    job = step(job, 3)
    assert (kafka.moving, job.state, job_value(job).is_paused) == ({}, "running", True)
    assert job.message == "0 of 2 partitions are moving, 1 waits as the job is paused."
    pause_job(ACTOR, job, paused=False)
    step(job)
    assert set(kafka.moving) == {("orders", 1)}
    kafka.finish("orders", 1)
    job = finish(job)
    assert job.state == "succeeded"
    with pytest.raises(Conflict, match="nothing to pause"):
        pause_job(ACTOR, job, paused=True)
    with pytest.raises(Conflict, match="cannot be paused"):
        pause_job(ACTOR, make(local, "preferred_leader_election"), paused=True)


def test_a_worker_that_died_as_it_asked_for_more_does_nothing_twice(local: Cluster, kafka: FakeKafka) -> None:
    """The row still waits where the move is under way: it is taken over, and by a cancel taken back."""
    kafka.online = {1, 2, 3, 4}
    job = step(make(local, "reassignment", assignments=moves((0, [1, 2, 4]), (1, [1, 2, 4])), at_once=1), 2)
    kafka.finish("orders", 0)
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    reassignment.advance(dead)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert set(kafka.moving) == {("orders", 1)}
    asked = len(kafka.changes("reassign"))
    job = step(job)
    assert [row["state"] for row in job.plan["detail"]] == ["done", "moving"]
    assert len(kafka.changes("reassign")) == asked
    Job.objects.update(plan={**job.plan, "detail": [job.plan["detail"][0], {**job.plan["detail"][1], "state": "waiting"}]})
    cancel_job(ACTOR, job)
    job = finish(job)
    assert (kafka.moving, job.result) == ({}, {"partitions": 2, "moved": 1})


def test_moves_that_a_dead_worker_began_are_told_as_taken(local: Cluster, kafka: FakeKafka) -> None:
    """Its successor asks for none itself, and nobody has paused the job."""
    job = step(make(local, "reassignment", assignments=moves((0, [3, 1, 2]))))
    kafka.moving = {("orders", 0): [3, 1, 2]}
    assert (job.step, job.plan["detail"][0]["state"]) == ("submit", "waiting")
    assert step(job).log[-1]["text"] == "The controller has taken 1 move."


def test_cancelling_before_it_began_changes_nothing(local: Cluster, kafka: FakeKafka) -> None:
    job = make(local, "reassignment", assignments=moves((0, [3, 1, 2])))
    cancel_job(ACTOR, job)
    assert finish(job).state == "cancelled"
    assert not kafka.changes("reassign")


@pytest.mark.parametrize("over", [False, True])
def test_a_cancel_after_a_worker_died_asking_takes_the_moves_back(local: Cluster, kafka: FakeKafka, over: bool) -> None:
    """The controller had them, the plan did not say so yet; what is over by then counts as moved."""
    kafka.moving = {("orders", 2): [2, 1]}
    job = make(local, "reassignment", assignments=moves((0, [3, 1, 2]), (2, [3, 2, 1])))
    while job.step != "submit":
        job = step(job)
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    reassignment.advance(dead)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    if over:
        kafka.finish("orders", 0)
    cancel_job(ACTOR, job)
    job = finish(job)
    assert (job.state, job.result) == ("cancelled", {"partitions": 2, "moved": int(over)})
    assert kafka.moving == {("orders", 2): [2, 1]}, "somebody else's move goes on"


def test_a_cancel_during_a_step_is_not_lost(local: Cluster, kafka: FakeKafka) -> None:
    job = step(make(local, "reassignment", assignments=moves((0, [3, 1, 2]))), 2)
    taken = runner._take(job.pk, "me")
    assert taken is not None
    outcome = runner._step(taken)
    cancel_job(ACTOR, job)
    runner._write(taken, outcome, "me")
    assert Job.objects.get().state == "cancelling"
    assert finish(job).state == "cancelled"


def test_the_same_partition_twice_is_a_clash(local: Cluster) -> None:
    first = make(local, "reassignment", assignments=moves((0, [3, 1, 2])))
    with pytest.raises(Conflict, match=f"orders-0 is being moved by job {first.pk}"):
        make(local, "reassignment", assignments=moves((1, [1, 2]), (0, [1, 2])))
    make(local, "reassignment", assignments=moves((1, [1, 2])))
    Job.objects.filter(pk=first.pk).update(state="succeeded")
    make(local, "reassignment", assignments=moves((0, [1, 2])))


# --- a cluster that is away


def test_a_cluster_that_is_away_is_waited_for(local: Cluster, kafka: FakeKafka) -> None:
    kafka.away = True
    job = step(make(local, "preferred_leader_election"))
    assert job.state == "running"
    assert job.message.startswith("Waiting: CLUSTER_UNREACHABLE")
    kafka.away = False
    assert finish(job).state == "succeeded"


def test_but_not_for_ever(local: Cluster, kafka: FakeKafka) -> None:
    kafka.away = True
    job = make(local, "preferred_leader_election")
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=runner.PATIENCE_S + 1))
    job = step(job)
    assert job.state == "running", "its age does not count, but how long the cluster is away"
    Job.objects.update(plan={**job.plan, runner.AWAY_SINCE: job.plan[runner.AWAY_SINCE] - runner.PATIENCE_S})
    assert step(job).state == "failed"


def test_a_refusal_ends_the_job(local: Cluster, kafka: FakeKafka) -> None:
    kafka.refuse = (31, "Cluster authorization failed.")
    job = step(make(local, "preferred_leader_election"))
    assert (job.state, job.message) == ("failed", "CLUSTER_AUTHORIZATION_FAILED (31): Cluster authorization failed.")


def test_an_error_of_ours_ends_the_job_with_a_word(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "advance", lambda job: 1 / 0)
    assert step(make(local, "preferred_leader_election")).message == "An error of ours: ZeroDivisionError: division by zero"


def test_steps_are_counted_by_how_they_ended(local: Cluster, kafka: FakeKafka) -> None:
    """In Redis, where the console finds them: workers come and go."""
    assert not any(read_steps(KINDS)["preferred_leader_election"].outcomes.values())
    kafka.away = True
    job = step(make(local, "preferred_leader_election"), 2)
    kafka.away = False
    finish(job)
    kafka.refuse = (31, "Cluster authorization failed.")
    step(make(local, "preferred_leader_election"))
    counted = read_steps(KINDS)["preferred_leader_election"]
    some = {name: count for name, count in counted.outcomes.items() if name != "unfinished"}
    assert some == {"waiting": 2, "succeeded": 1, "failed": 1, "cancelled": 0}
    assert sum(counted.times.counts) == sum(counted.outcomes.values())


def test_a_step_is_taken_whether_or_not_it_can_be_counted(local: Cluster, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.snapshot.steps.sync_client", lambda: Redis(port=1))
    assert finish(make(local, "preferred_leader_election")).state == "succeeded"


# --- health


def test_no_report_on_old_figures(local: Cluster, redis: Any) -> None:
    from console.snapshot import keys

    redis.set(keys.named("local", "beat"), 1000)
    job = finish(make(local, "health_report"), 20)
    assert job.state == "failed"
    assert "Is manage.py live running?" in job.message
    assert not HealthReport.objects.exists()


def test_a_job_that_no_worker_has_taken_says_so(local: Cluster) -> None:
    """With the workers gone that is all there is to be seen of it."""
    job = make(local, "health_report")
    assert job_value(job).message == "Waiting for a worker."
    assert job_value(finish(job)).message != "Waiting for a worker."


def test_the_table_of_jobs_is_bounded(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "KEEP", 5)
    for _ in range(9):
        make(local, "health_report")
        Job.objects.update(state="succeeded")
    assert Job.objects.count() == 5 + 1, "and the one that was under way as it was cut"


# --- the task


def test_a_task_of_slow_steps_leaves_the_rest_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps of six seconds would meet the task's time limit, and a job that is only slow would fail by it."""
    clock, taken = [100.0], []

    def slow(job_id: int) -> bool:
        taken.append(job_id)
        clock[0] += 6
        return True

    monkeypatch.setattr(tasks, "monotonic", lambda: clock[0])
    monkeypatch.setattr(tasks, "advance", slow)
    tasks.advance_job(7)
    assert taken == [7, 7]
    assert tasks.BEGIN_WITHIN_S + 10 < tasks.SOFT_S


def test_a_job_under_way_is_kept_however_many_came_after_it(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row is all that knows what has to be taken away again."""
    monkeypatch.setattr(Job, "KEEP", 2)
    move = make(local, "reassignment", assignments=moves((0, [3, 1, 2])))
    for _ in range(4):
        make(local, "health_report")
        Job.objects.filter(kind="health_report").update(state="succeeded")
    assert Job.objects.filter(pk=move.pk).exists()
    assert Job.objects.count() == 4


@pytest.mark.parametrize("state", [Job.QUEUED, Job.RUNNING, Job.CANCELLING])
@pytest.mark.parametrize("paused", [False, True])
def test_a_plan_is_refused_by_the_names_of_job_and_partition_while_the_other_lives(local: Cluster, state: str, paused: bool) -> None:
    first = make(local, "reassignment", assignments=moves((0, [3, 1, 2])))
    Job.objects.filter(pk=first.pk).update(state=state, paused=paused)
    with pytest.raises(Conflict, match=f"orders-0 is being moved by job {first.pk}, which is {state}"):
        make(local, "reassignment", assignments=moves((0, [1, 2])))
