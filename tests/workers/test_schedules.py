"""Schedules as their times come: exactly one job a time, whoever is killed; what is skipped, missed or refused says so; and elections after
a broker's return."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace

from console.actions import return_elections, schedule_runs
from console.actions.jobs import create_job
from console.actions.schedules import (
    REPORT_NAME,
    change_schedule,
    create_schedule,
    delete_schedule,
    first_schedules,
    pause_schedule,
    run_schedule,
    set_after_return,
)
from console.errors import Conflict, Invalid, ReadOnly
from console.models import AuditEntry, Cluster, Event, Job, ReturnElection, Schedule, ScheduleRun
from console.roles import VIEWER, Actor, Refused
from console.schedule_values import after_return_of, runs_of, schedules_of
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS, FakeKafka
from workers import runner
from workers.tasks import schedules as tasks

ACTOR = Actor("someone", "operator", "api")
ELECTION = "preferred_leader_election"
DUE = datetime(2026, 6, 1, 2, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: FakeKafka, sent: Any) -> None:
    kafka.topics_ = {"orders": {p: [p % 3 + 1, (p + 1) % 3 + 1, (p + 2) % 3 + 1] for p in range(3)}}


def made(cluster: Cluster, kind: str = ELECTION, *, due: datetime | None = DUE, **more: Any) -> Schedule:
    """An hourly schedule whose next time is `due`."""
    parts = {"name": f"hourly {kind}", "params": {}, "cron": "0 * * * *", "zone": "UTC", **more}
    row = create_schedule(ACTOR, cluster, kind=kind, **parts)
    Schedule.objects.filter(pk=row.pk).update(next_at=due)
    return Schedule.objects.select_related("cluster").get(pk=row.pk)


def come(row: Schedule, now: datetime = DUE + timedelta(seconds=3)) -> list[tuple[str, str]]:
    """What the history has after the time has come."""
    for due in schedule_runs.due_schedules(now):
        schedule_runs.begin_due(due, now)
    return history(row)


def history(row: Schedule) -> list[tuple[str, str]]:
    return [(run.outcome, run.sentence) for run in runs_of(row)]


def end_jobs() -> None:
    Job.objects.update(state=Job.SUCCEEDED, ended_at=timezone.now())


def test_a_due_schedule_begins_its_job(local: Cluster, sent: Any, django_capture_on_commit_callbacks: Any) -> None:
    """It says who asked for it and why; the audit does, too."""
    row = made(local, params={"topics": ["orders"]})
    with django_capture_on_commit_callbacks(execute=True):
        come(row)
    job = Job.objects.get()
    assert (job.kind, job.params, job.created_by) == (ELECTION, {"topics": ["orders"]}, "beat")
    why = "Schedule “hourly preferred_leader_election” was due Mon 2026-06-01 02:00 UTC."
    assert job.log[0]["text"] == why
    assert sent == [(job.pk, ELECTION)]
    entry = AuditEntry.objects.order_by("-id").first()
    assert entry is not None
    assert (entry.actor, entry.action, entry.outcome, entry.after["why"]) == ("beat", f"start {ELECTION}", "done", why)
    run = runs_of(row)[0]
    assert (run.outcome, run.state, run.job, run.by, run.due_at) == ("begun", "queued", job.pk, "beat", "2026-06-01T02:00:00.000Z")
    row.refresh_from_db()
    assert (row.next_at, row.lease_until) == (DUE + HOUR, None)


def test_nothing_due_costs_one_query(local: Cluster, redis: Any) -> None:
    for number in range(5):
        made(local, name=f"n{number}", due=timezone.now() + HOUR)
    with CaptureQueriesContext(connection) as asked:
        tasks.look()
    assert len(asked) == 1
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {asked[0]['sql']}")
        assert "USING INDEX console_sch_next_at" in str(cursor.fetchall())


def test_each_due_schedule_is_sent_as_a_task(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(tasks.begin, "apply_async", lambda args, **how: asked.append((args, how["queue"])))
    row = made(local)
    tasks.look()
    assert asked == [((row.pk,), "health")]


@pytest.mark.parametrize("killed_in", ["_job_params", "create_job", "_written", "trim"])
def test_a_worker_that_is_killed_leaves_the_time_due(local: Cluster, monkeypatch: pytest.MonkeyPatch, killed_in: str) -> None:
    """Whatever it was at: nobody else takes it before the lease ends, and then there is one job."""
    row = made(local)

    class Killed(BaseException):
        """As nothing in the code catches."""

    real = getattr(schedule_runs, killed_in)

    def killed(*args: Any, **more: Any) -> Any:
        real(*args, **more)
        raise Killed

    now = DUE + timedelta(seconds=3)
    with monkeypatch.context() as patched:
        patched.setattr(schedule_runs, killed_in, killed)
        if killed_in == "create_job":  # after its transaction: the job is there, with its row
            with pytest.raises(Killed):
                schedule_runs.begin_due(row.pk, now)
            assert Job.objects.count() == ScheduleRun.objects.count() == 1
        else:
            with pytest.raises(Killed):
                schedule_runs.begin_due(row.pk, now)
            assert Job.objects.count() == ScheduleRun.objects.count() == 0
    assert schedule_runs.begin_due(row.pk, now + timedelta(seconds=5)) is None
    later = now + schedule_runs.LEASE + timedelta(seconds=1)
    come(row, later)
    assert Job.objects.count() == 1
    assert [run.due_at for run in ScheduleRun.objects.all()] == [DUE]
    assert come(row, later + timedelta(seconds=9)) == history(row)
    assert Job.objects.count() == 1


def test_two_workers_make_one_job(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """One was taken for dead and is only slow: what it found is not begun a second time."""
    row = made(local)
    now = DUE + timedelta(seconds=3)
    real = schedule_runs._job_params

    def slow(taken: Schedule) -> Any:
        monkeypatch.setattr(schedule_runs, "_job_params", real)
        Schedule.objects.update(lease_until=None)
        assert schedule_runs.begin_due(row.pk, now) is not None
        end_jobs()
        return real(taken)

    monkeypatch.setattr(schedule_runs, "_job_params", slow)
    assert schedule_runs.begin_due(row.pk, now) is None
    assert Job.objects.count() == ScheduleRun.objects.count() == 1


@pytest.mark.parametrize("change", ["pause", "delete", "edit"])
def test_a_change_that_comes_meanwhile_wins(local: Cluster, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    row = made(local)
    real = schedule_runs._job_params

    def slow(taken: Schedule) -> Any:
        fresh = Schedule.objects.select_related("cluster").get(pk=row.pk)
        if change == "pause":
            pause_schedule(ACTOR, fresh, paused=True)
        elif change == "delete":
            delete_schedule(ACTOR, fresh)
        else:
            change_schedule(ACTOR, fresh, {"cron": "30 3 * * *"})
        return real(taken)

    monkeypatch.setattr(schedule_runs, "_job_params", slow)
    assert schedule_runs.begin_due(row.pk, DUE + timedelta(seconds=3)) is None
    assert Job.objects.count() == ScheduleRun.objects.count() == 0


def test_one_that_runs_still_is_not_begun_again(local: Cluster) -> None:
    row = made(local)
    come(row)
    job = Job.objects.get()
    assert come(row, DUE + HOUR)[0] == ("skipped", f"Job {job.pk}, which this schedule began before, is queued still.")
    end_jobs()
    assert come(row, DUE + 2 * HOUR)[0][0] == "begun"
    assert Job.objects.count() == 2


def test_a_job_that_somebody_else_began_stands_in_the_way(local: Cluster) -> None:
    other = create_job(ACTOR, local, ELECTION, {})
    row = made(local)
    assert come(row) == [("skipped", f"Job {other.pk} does the same and is queued.")]


def test_after_the_console_was_down_one_run_is_made_up_at_most(local: Cluster) -> None:
    row = made(local)
    come(row, DUE + 5 * HOUR + timedelta(minutes=10))
    assert [run.outcome for run in ScheduleRun.objects.order_by("id")] == ["missed", "begun"]
    missed, begun = ScheduleRun.objects.order_by("id")
    assert missed.said == "5 times passed, from this one on over 5\u202fh: nobody was there to begin them in time."
    assert (missed.due_at, begun.due_at) == (DUE, DUE + 5 * HOUR)
    assert Job.objects.get().log[0]["text"].endswith("and is made up 10\u202fmin later.")
    row.refresh_from_db()
    assert row.next_at == DUE + 6 * HOUR


def test_what_is_too_late_is_missed(local: Cluster) -> None:
    row = made(local)
    assert come(row, DUE + timedelta(minutes=40)) == [
        ("missed", "Nobody was there to begin it in time: it would have been 40\u202fmin late.")
    ]
    assert not Job.objects.exists()


def test_what_cannot_be_begun_says_why(local: Cluster, kafka: FakeKafka) -> None:
    row = made(local, params={"topics": ["orders"]})
    Schedule.objects.update(params={"topics": ["gone"]})
    assert come(row) == [("refused", "There is no topic gone.")]
    kafka.away = True
    assert come(row, DUE + HOUR)[0] == ("refused", "CLUSTER_UNREACHABLE: no broker answers")


def test_a_cluster_that_became_read_only_is_not_changed(local: Cluster) -> None:
    row, report = made(local), made(local, "health_report")
    Cluster.objects.update(read_only=True)
    come(row)
    assert history(row)[0][0] == "refused"
    assert "is read-only here" in history(row)[0][1]
    assert [run.outcome for run in runs_of(report)] == ["begun"]


def test_a_schedule_of_a_zone_that_is_gone_is_due_no_more(local: Cluster) -> None:
    row = made(local)
    Schedule.objects.update(zone="Europe/Atlantis")
    assert come(row)[0][0] == "refused"
    assert schedule_runs.due_schedules(DUE + HOUR) == []
    assert schedules_of(local, DUE)[0].next is None


def test_the_history_is_bounded(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScheduleRun, "KEEP", 3)
    row = made(local)
    for hour in range(5):
        come(row, DUE + hour * HOUR + timedelta(seconds=1))
        end_jobs()
    assert len(history(row)) == 3


def test_a_run_whose_job_is_kept_no_longer_says_so(local: Cluster) -> None:
    row = made(local)
    come(row)
    number = Job.objects.get().pk
    Job.objects.all().delete()
    run = runs_of(row)[0]
    assert (run.state, run.job, run.sentence) == ("unknown", None, f"Job {number} was begun. That job is kept no longer.")


# --- kinds


@pytest.mark.parametrize("throttle", [1_000_000, {"floor": 1_000_000, "ceiling": 2_000_000}])
def test_moves_are_planned_when_their_time_has_come(local: Cluster, kafka: FakeKafka, throttle: Any) -> None:
    """With the limits that were set: so many partitions at most, a rate, so many at once."""
    params = {"topics": ["orders"], "goal": {"to": [1, 2], "replication_factor": 2}, "moves_max": 2, "throttle": throttle, "at_once": 1}
    row = made(local, "reassignment", params=params)
    [(outcome, _)] = come(row)
    assert outcome == "begun"
    job = Job.objects.get()
    assert (job.params["throttle"], job.params["at_once"], len(job.params["assignments"])) == (throttle, 1, 2)
    assert all(set(move["replicas"]) <= {1, 2} for move in job.params["assignments"])
    assert "2 partitions would change" in ScheduleRun.objects.get().said


def test_a_plan_that_moves_nothing_begins_nothing(local: Cluster) -> None:
    row = made(local, "reassignment", params={"topics": ["orders"], "goal": {"to": [1, 2, 3]}})
    assert come(row) == [("nothing_to_do", "Nothing would change: all is as it should be.")]
    assert not Job.objects.exists()


@pytest.mark.parametrize(("copied", "why"), [(2048, "2.00\u202fKiB"), (None, "it is not known how much")])
def test_a_plan_that_copies_too_much_is_not_begun(local: Cluster, monkeypatch: pytest.MonkeyPatch, copied: int | None, why: str) -> None:
    row = made(
        local, "reassignment", params={"topics": ["orders"], "goal": {"to": [1, 2], "replication_factor": 2}, "copy_bytes_max": 1024}
    )
    real = schedule_runs.planned
    monkeypatch.setattr(schedule_runs, "planned", lambda *asked: replace(real(*asked), copy_bytes=copied))
    assert come(row) == [("refused", f"The plan copies more than this schedule may (1.00\u202fKiB): {why}.")]
    assert not Job.objects.exists()


def test_a_plan_within_its_limit_is_begun(local: Cluster) -> None:
    params = {"topics": ["orders"], "goal": {"to": [1], "replication_factor": 1}, "copy_bytes_max": 0}
    row = made(local, "reassignment", params=params)
    assert come(row)[0][0] == "begun"  # replicas only go: nothing is copied


def test_nothing_is_planned_on_what_is_old(local: Cluster, redis: Any, shown: Any) -> None:
    publish(redis, shown, int(timezone.now().timestamp() * 1000), ahead_ms=-60_000)
    row = made(local, "reassignment", params={"goal": {"leaders": True}})
    outcome, said = come(row)[0]
    assert outcome == "refused"
    assert said.startswith("Nothing is planned, as what is known is")


def test_an_election_of_one_broker_leaves_what_others_are_preferred_for(local: Cluster, kafka: FakeKafka) -> None:
    kafka.leaders = {("orders", 0): 3, ("orders", 1): 1, ("orders", 2): 2}
    row = made(local, params={"broker": 2})
    come(row)
    job = Job.objects.get()
    for _ in range(3):
        runner.advance(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["elected"]) == ("succeeded", 1)  # type: ignore[index]
    assert kafka.changes("elect_preferred") == [("elect_preferred", [("orders", 1)])]


# --- asked for by people


def test_a_schedule_is_run_by_hand(local: Cluster) -> None:
    row = made(local, "health_report", paused=True, due=None)
    run = run_schedule(ACTOR, row)
    assert (run.by, run.outcome) == ("someone", "begun")
    assert Job.objects.get().log[0]["text"] == "Schedule “hourly health_report” was run by hand by someone."
    with pytest.raises(Conflict, match="is queued still"):
        run_schedule(ACTOR, row)
    assert len(history(row)) == 1
    row.refresh_from_db()
    assert row.next_at is None


@pytest.mark.parametrize(
    ("more", "field", "said"),
    [
        ({"name": " "}, "name", "Give it a name"),
        ({"name": "x" * 101}, "name", "1 to 100"),
        ({"name": "TAKEN"}, "name", "Another schedule is called TAKEN"),
        ({"kind": "record_copy"}, "kind", "A schedule begins one of"),
        ({"cron": "0 0 31 2 *"}, "cron", "would never be due"),
        ({"zone": "Mars/Base"}, "zone", "No time zone"),
        ({"params": {"topics": ["nothing"]}}, "topics", "There is no topic nothing."),
        ({"params": {"broker": 9}}, "broker", "Broker 9 is not online"),
        ({"params": {"broker": 1, "topics": ["orders"]}}, "broker", "Name topics or a broker"),
        ({"params": {"throttle": 5}}, "throttle", "takes no throttle"),
        ({"kind": "health_report", "params": {"topics": ["orders"]}}, "topics", "takes no topics"),
        ({"kind": "reassignment"}, "goal", "Say what is wanted"),
        ({"kind": "reassignment", "params": {"goal": {"to": [1]}}}, "topics", "Name the topics"),
        ({"kind": "reassignment", "params": {"goal": {"away": [1], "instead": 1}}}, "goal.away", "cannot be emptied and be moved to"),
        ({"kind": "reassignment", "params": {"goal": {"leaders": True, "instead": 1}}}, "goal.instead", "takes the place of one"),
        ({"kind": "reassignment", "params": {"goal": {"leaders": True}, "moves_max": 0}}, "moves_max", "greater than or equal"),
        ({"kind": "reassignment", "params": {"goal": {"nothing": True}}}, "goal.nothing", "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused_by_name(local: Cluster, more: dict[str, Any], field: str, said: str) -> None:
    made(local, name="taken")
    with pytest.raises(Invalid) as refused:
        made(local, **{"kind": ELECTION, **more})
    assert refused.value.field == field
    assert said in str(refused.value)
    assert Schedule.objects.count() == 1


def test_schedules_are_bounded(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "MOST", 2)
    for name in "ab":
        made(local, name=name)
    with pytest.raises(Conflict, match="There are 2 schedules"):
        made(local, name="c")


def test_viewers_change_nothing_and_the_audit_says_so(local: Cluster) -> None:
    row, viewer = made(local), Actor("guest", VIEWER, "page")
    for act in (
        lambda: create_schedule(viewer, local, name="x", kind=ELECTION, params={}, cron="0 0 * * *", zone="UTC"),
        lambda: change_schedule(viewer, row, {"name": "x"}),
        lambda: pause_schedule(viewer, row, paused=True),
        lambda: delete_schedule(viewer, row),
        lambda: run_schedule(viewer, row),
        lambda: set_after_return(viewer, local, is_on=True),
    ):
        with pytest.raises(Refused):
            act()
    assert AuditEntry.objects.filter(actor="guest", outcome="refused").count() == 6


def test_of_a_read_only_cluster_only_what_looks_is_scheduled(local: Cluster) -> None:
    row = made(local)
    Cluster.objects.update(read_only=True)
    local.refresh_from_db()
    row = Schedule.objects.select_related("cluster").get(pk=row.pk)
    made(local, "health_report")
    pause_schedule(ACTOR, row, paused=True)
    for act in (
        lambda: made(local, name="other"),
        lambda: change_schedule(ACTOR, row, {"cron": "0 1 * * *"}),
        lambda: pause_schedule(ACTOR, row, paused=False),
        lambda: run_schedule(ACTOR, row),
        lambda: set_after_return(ACTOR, local, is_on=True),
    ):
        with pytest.raises(ReadOnly):
            act()
    delete_schedule(ACTOR, row)


def test_a_changed_schedule_goes_by_its_new_times(local: Cluster) -> None:
    row = change_schedule(ACTOR, made(local), {"cron": "0  4 * * *", "zone": "Europe/Berlin"})
    assert (row.cron, row.changed_by) == ("0 4 * * *", "someone")
    assert row.next_at is not None
    assert row.next_at > timezone.now()
    paused = pause_schedule(ACTOR, row, paused=True)
    assert paused.next_at is None
    assert schedules_of(local, timezone.now())[0].next_words == "Paused."
    again = pause_schedule(ACTOR, paused, paused=False).next_at
    assert again is not None
    assert again > timezone.now()


@pytest.mark.parametrize(("hour", "cron", "paused"), [(6, "0 6 * * *", False), (23, "0 23 * * *", False), (None, "0 6 * * *", True)])
def test_each_cluster_begins_with_a_daily_report(local: Cluster, settings: Any, hour: int | None, cron: str, paused: bool) -> None:
    settings.REPORT_HOUR = hour
    first_schedules(local)
    row = Schedule.objects.get()
    assert (row.name, row.kind, row.cron, row.paused) == (REPORT_NAME, "health_report", cron, paused)
    assert (row.next_at is None) is paused


# --- elections after a broker's return


def returned(cluster: Cluster, broker: int, kind: str = "broker_returned") -> None:
    at_ms = int(timezone.now().timestamp() * 1000)
    Event.objects.create(cluster=cluster, at_ms=at_ms, kind=kind, level="ok", sentence="", broker_id=broker)


def behind(redis: Any, shown: Any, *, isr: list[int]) -> None:
    """`orders-0` with this ISR."""
    now = int(timezone.now().timestamp() * 1000)
    shown.set_partition("orders", 0, isr[0], 5 + len(isr), isr)
    shown.take(now)
    publish(redis, shown, now)


@pytest.mark.spec("O3")
def test_leaders_go_home_once_a_returned_broker_is_whole(local: Cluster, redis: Any, shown: Any) -> None:
    set_after_return(ACTOR, local, is_on=True)
    behind(redis, shown, isr=[2, 3])
    returned(local, 1, "broker_died")
    returned(local, 1)
    tasks.look_for_returned_brokers()
    assert not Job.objects.exists()
    assert after_return_of(local).waiting == [1]
    behind(redis, shown, isr=[2, 3, 1])
    for _ in range(3):
        tasks.look_for_returned_brokers()
        end_jobs()
    job = Job.objects.get()
    assert (job.kind, job.params, job.created_by) == (ELECTION, {"broker": 1}, "beat")
    assert job.log[0]["text"].startswith("Broker 1 was down and is back since")
    entry = AuditEntry.objects.order_by("-id").first()
    assert entry is not None
    assert (entry.actor, entry.after["why"]) == ("beat", job.log[0]["text"])
    assert after_return_of(local).waiting == []


def test_it_is_off_unless_somebody_wants_it(local: Cluster) -> None:
    returned(local, 1)
    tasks.look_for_returned_brokers()
    set_after_return(ACTOR, local, is_on=True)
    tasks.look_for_returned_brokers()
    assert not Job.objects.exists()
    assert after_return_of(local).sentence.startswith("On: ")
    set_after_return(ACTOR, local, is_on=False)
    returned(local, 1)
    with CaptureQueriesContext(connection) as asked:
        tasks.look_for_returned_brokers()
    assert len(asked) == 1
    assert after_return_of(local).sentence.startswith("Off: ")


def test_two_that_return_are_elected_one_after_the_other(local: Cluster) -> None:
    set_after_return(ACTOR, local, is_on=True)
    returned(local, 2)
    returned(local, 1)
    tasks.look_for_returned_brokers()
    tasks.look_for_returned_brokers()
    assert [job.params for job in Job.objects.order_by("id")] == [{"broker": 1}]
    end_jobs()
    tasks.look_for_returned_brokers()
    assert [job.params for job in Job.objects.order_by("id")] == [{"broker": 1}, {"broker": 2}]


def test_a_worker_killed_in_an_answer_leaves_the_return_unanswered(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    set_after_return(ACTOR, local, is_on=True)
    returned(local, 1)
    with monkeypatch.context() as patched:
        patched.setattr(return_elections, "_taken", killed)
        with pytest.raises(Killed):
            tasks.look_for_returned_brokers()
    assert not Job.objects.exists()
    tasks.look_for_returned_brokers()
    assert Job.objects.count() == 1


def test_what_two_workers_saw_is_answered_once(local: Cluster) -> None:
    set_after_return(ACTOR, local, is_on=True)
    returned(local, 1)
    slow = ReturnElection.objects.select_related("cluster").get()
    tasks.look_for_returned_brokers()
    end_jobs()
    assert return_elections.look(slow) is None
    slow.seen_event, slow.waiting = ReturnElection.objects.values_list("seen_event").get()[0], {"1": 10**13}
    with pytest.raises(Conflict, match="answered by somebody else"):
        return_elections.look(slow)
    assert Job.objects.count() == 1


def test_a_broker_that_is_away_or_old_figures_are_waited_for(local: Cluster, redis: Any, shown: Any) -> None:
    set_after_return(ACTOR, local, is_on=True)
    returned(local, 1)
    now = int(timezone.now().timestamp() * 1000)
    publish(redis, shown, now, ahead_ms=-60_000)
    tasks.look_for_returned_brokers()
    shown.set_brokers({b: r for b, r in BROKERS.items() if b != 1}, now)
    shown.take(now)
    publish(redis, shown, now)
    tasks.look_for_returned_brokers()
    assert not Job.objects.exists()
    assert after_return_of(local).waiting == [1]


def test_a_read_only_cluster_is_left_alone(local: Cluster) -> None:
    set_after_return(ACTOR, local, is_on=True)
    Cluster.objects.update(read_only=True)
    returned(local, 1)
    tasks.look_for_returned_brokers()
    assert not Job.objects.exists()
    assert not AuditEntry.objects.filter(actor="beat").exists()
