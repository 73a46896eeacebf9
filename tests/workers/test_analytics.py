"""Analytics as a job: when no driver is started, how one is watched, and the rows it leaves (the driver itself is tested with Spark)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from broker_core.contract.installs import Install
from broker_core.local.process import LocalProcess
from console.analyses import resident_now
from console.gateway import driver
from console.gateway import spark as gateway
from console.live.sampling.samples import SAMPLES_TOPIC
from console.models import AnalysisTable, BrokerThroughput, Cluster, Job, LagSummary, ThroughputSummary
from console.rules.analysis.resident import Resident
from console.rules.words import THIN
from tests.support.console_world import FakeKafka
from workers import resident, runner
from workers.kinds import analytics
from workers.kinds.analysis_rows import save
from workers.tasks import analytics as periodical

RATES = {f"{what}_{how}": 5.5 for what in ("bytes", "messages") for how in ("mean", "p50", "p95", "max")}
SUMMARY: dict[str, Any] = {
    "version": 2,
    "samples": 12,
    "ended_at_ms": 90_000,
    "aside": {"counts": {"no sample": 2}, "examples": []},
    "tables": {
        "topics": {"rows": [{"cluster": "local", "topic": "orders", "window_start_ms": 60_000, **RATES}], "left_off": 0},
        "brokers": {"rows": [{"cluster": "local", "broker": 1, "window_start_ms": 0, **RATES}], "left_off": 0},
        "lag": {
            "rows": [
                {"cluster": "local", "group": "billing", "topic": "orders", "window_start_ms": 60_000, "lag_max": 9, "lag_avg": 4.5},
                {"cluster": "elsewhere", "group": "x", "topic": "y", "window_start_ms": 60_000, "lag_max": 9, "lag_avg": 4.5},
            ],
            "left_off": 0,
        },
        "skew": {"rows": [{"cluster": "local", "topic": "orders", "rate_skew": None}, {"cluster": "elsewhere"}], "left_off": 7},
    },
}


class Driver:
    """A driver that does what the test says."""

    def __init__(self) -> None:
        self.started, self.running, self.stopped, self.staying = 0, False, 0, False

    def start(self, *_args: Any, stay: bool = False) -> None:
        self.started, self.running, self.staying = self.started + 1, True, stay

    def stop(self) -> bool:
        self.stopped, self.running = self.stopped + 1, False
        return True


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Driver:
    made = Driver()
    monkeypatch.setattr(driver, "folder", lambda: tmp_path)
    monkeypatch.setattr(driver, "start", made.start)
    monkeypatch.setattr(driver, "stop", made.stop)
    monkeypatch.setattr(driver, "alive", lambda: made.running)
    monkeypatch.setattr(driver, "stays", lambda: made.running and made.staying)
    monkeypatch.setattr(driver, "last_lines", lambda: "java.lang.OutOfMemoryError")
    monkeypatch.setattr(driver, "end_words", lambda: "java.lang.OutOfMemoryError")
    monkeypatch.setattr(analytics, "missing", lambda: "")
    return made


@pytest.fixture
def job(local: Cluster, redis: Any, kafka: FakeKafka, spark: Driver) -> Job:
    kafka.topics_ = {SAMPLES_TOPIC: {0: [1, 2, 3], 1: [2, 3, 1]}}
    return Job.objects.create(cluster=local, kind="analytics", created_by="x")


def step(job: Job) -> Job:
    runner.advance(job.pk)
    return Job.objects.get(pk=job.pk)


def test_an_analysis_leaves_rows(job: Job, spark: Driver, tmp_path: Path) -> None:
    assert step(job).step == "run"
    (tmp_path / "progress.json").write_text(json.dumps({"done": 2, "total": 4, "message": "answering"}))
    running = step(job)
    assert (running.state, running.done, running.total, running.message) == ("running", 2, 5, "Spark: answering.")
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    spark.running = False
    done = step(job)
    assert done.state == "succeeded"
    assert done.result == {"samples": 12, "new": True, "throughput": 1, "lag": 1, "set_aside": {"no sample": 2}}
    assert done.message == "12 samples gave 1 window of throughput and 1 of lag. 2 records set aside."
    assert ThroughputSummary.objects.get().bytes_per_s == 5.5
    assert BrokerThroughput.objects.get().messages_max == 5.5
    assert LagSummary.objects.get().group == "billing"
    table = AnalysisTable.objects.get(name="skew")
    assert (table.rows, table.left_off) == ([{"cluster": "local", "topic": "orders", "rate_skew": None}], 7)
    assert table.at == datetime.fromtimestamp(90, UTC)


def test_a_summary_of_another_release_is_refused_by_name(job: Job, spark: Driver, tmp_path: Path) -> None:
    step(job)
    (tmp_path / "summary.json").write_text(json.dumps({"samples": 3, "throughput": [], "lag": []}))
    spark.running = False
    failed = step(job)
    assert failed.state == "failed"
    assert "version None, not 2" in failed.message


def test_windows_are_replaced_not_doubled(job: Job, local: Cluster) -> None:
    save(local, SUMMARY)
    later = json.loads(json.dumps(SUMMARY))
    later["tables"]["topics"]["rows"][0]["bytes_mean"] = 7.0
    later["tables"]["skew"] = {"rows": [], "left_off": 0}
    save(local, later)
    assert ThroughputSummary.objects.get().bytes_per_s == 7.0
    assert AnalysisTable.objects.get(name="skew").rows == []


def test_windows_that_are_as_before_are_not_written_again(job: Job, local: Cluster) -> None:
    save(local, SUMMARY)
    with CaptureQueriesContext(connection) as asked:
        save(local, SUMMARY)
    assert not [query["sql"] for query in asked if "INSERT" in query["sql"] and "summary" in query["sql"].lower()]


def test_nothing_new_no_driver(job: Job, spark: Driver, tmp_path: Path) -> None:
    for name, text in (("commits/3", "v1"), ("offsets/3", "v1\n{}\n" + json.dumps({SAMPLES_TOPIC: {"0": 100, "1": 100}}))):
        path = tmp_path / "store" / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = step(job)
    assert (done.state, done.result) == ("succeeded", {"samples": 0, "new": False})
    assert spark.started == 0


def test_samples_of_a_topic_made_anew_are_new(job: Job, spark: Driver, tmp_path: Path) -> None:
    """Its offsets begin at 0 again: nobody waits until they are past those of the topic before."""
    for name, text in (("commits/3", "v1"), ("offsets/3", "v1\n{}\n" + json.dumps({SAMPLES_TOPIC: {"0": 5000, "1": 100}}))):
        path = tmp_path / "store" / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert step(job).step == "run"
    assert spark.started == 1


@pytest.mark.parametrize("ended", [False, True])
def test_a_driver_outlives_the_worker_that_started_it(job: Job, spark: Driver, tmp_path: Path, ended: bool) -> None:
    """That died before it could say so: the next one knows the job's own driver again, and what it has found."""
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    analytics.advance(dead)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    spark.running = not ended
    assert step(job).step == "run"
    spark.running = False
    done = step(job)
    assert (done.state, spark.started, ThroughputSummary.objects.count()) == ("succeeded", 1, 1)
    assert step(Job.objects.create(cluster=job.cluster, kind="analytics", created_by="x")).step == "run"
    assert spark.started == 2


def test_cancelling_ends_a_driver_that_a_dead_worker_started(job: Job, spark: Driver) -> None:
    dead = runner._take(job.pk, "dead")
    assert dead is not None
    analytics.advance(dead)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1), cancel_requested=True, state="cancelling")
    assert step(job).state == "cancelled"
    assert (spark.stopped, spark.running) == (1, False)


def test_a_driver_that_fails_says_its_last_words(job: Job, spark: Driver) -> None:
    step(job)
    spark.running = False
    failed = step(job)
    assert failed.state == "failed"
    assert "OutOfMemoryError" in failed.message


def test_without_its_jars_the_page_says_what_to_run(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "missing", lambda: "x.jar is missing: run y")
    failed = step(job)
    assert (failed.state, failed.message) == ("failed", "x.jar is missing: run y")
    people = Client()
    people.force_login(User.objects.create_user("somebody"))
    assert "x.jar is missing: run y" in people.get("/analytics").content.decode()


@pytest.mark.parametrize(
    ("state", "said"),
    [("running", "An analysis is under way."), ("cancelled", "The last analysis was cancelled."), ("succeeded", "no samples in this span")],
)
def test_a_page_with_nothing_to_show_says_why(job: Job, local: Cluster, state: str, said: str) -> None:
    """Not that the analysis under way is the first: what earlier ones found is older than what is shown."""
    Job.objects.update(state="succeeded")
    Job.objects.create(cluster=local, kind="analytics", created_by="x", state=state)
    people = Client()
    people.force_login(User.objects.create_user("somebody"))
    assert said in people.get("/analytics").content.decode()


def test_an_analysis_is_due_a_while_after_the_last(job: Job, settings: Any) -> None:
    """Whoever asked for the last; the first one a while after the cluster became known."""
    settings.ANALYTICS_EVERY = timedelta(minutes=20)
    Job.objects.update(state="succeeded")
    for ago, jobs in ((19, 1), (21, 2)):
        Job.objects.update(created_at=timezone.now() - timedelta(minutes=ago))
        periodical.periodic()
        assert Job.objects.count() == jobs
    Job.objects.all().delete()
    periodical.periodic()
    assert not Job.objects.exists()
    Cluster.objects.update(created_at=timezone.now() - timedelta(minutes=21))
    periodical.periodic()
    assert Job.objects.get().created_by == "beat"


def test_without_a_period_it_is_done_on_request_only(job: Job, settings: Any) -> None:
    settings.ANALYTICS_EVERY = timedelta(0)
    Job.objects.all().delete()
    Cluster.objects.update(created_at=timezone.now() - timedelta(days=9))
    periodical.periodic()
    assert not Job.objects.exists()
    people = Client()
    people.force_login(User.objects.create_user("somebody"))
    assert "It runs on request only." in people.get("/analytics").content.decode()


def test_the_page_says_when_the_next_is_due(job: Job) -> None:
    """A quarter of an hour after the last by default."""
    Job.objects.update(created_at=datetime(2020, 5, 17, 11, 50, tzinfo=UTC))
    people = Client()
    people.force_login(User.objects.create_user("somebody"))
    assert '<time datetime="2020-05-17T12:05:00+00:00">17 May 12:05</time>' in people.get("/analytics").content.decode()


def test_what_is_missing_is_said_once(job: Job, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The beat looks each minute; only the first asks in vain."""
    job.delete()
    settings.ANALYTICS_EVERY = timedelta(seconds=-1)
    monkeypatch.setattr(analytics, "missing", lambda: "x.jar is missing: run y")
    for _ in range(3):
        periodical.periodic()
        for waiting in Job.objects.filter(state="queued"):
            runner.advance(waiting.pk)
    assert [found.message for found in Job.objects.all()] == ["x.jar is missing: run y"]
    monkeypatch.setattr(analytics, "missing", lambda: "")
    periodical.periodic()
    assert Job.objects.count() == 2


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Install], None]:
    """Says how far Spark's installation is."""
    return lambda said: monkeypatch.setattr(gateway, "install", lambda: said)


def page() -> str:
    people = Client()
    people.force_login(User.objects.get_or_create(username="somebody")[0])
    return people.get("/analytics").content.decode()


def test_an_analysis_waits_while_pyspark_is_installed(job: Job, spark: Driver, install: Callable[[Install], None]) -> None:
    now = timezone.now()
    install(Install(state="installing", since_ms=int(now.timestamp() * 1000), done_bytes=120_000_000, total_bytes=434_100_000))
    waiting = step(job)
    assert (waiting.state, spark.started) == ("running", 0)
    assert waiting.message == f"Waiting: PySpark is being installed: 120 of 434{THIN}MB, since {now:%H:%M}."
    shown = page()
    assert f"PySpark is being installed: 120 of 434{THIN}MB, since {now:%H:%M}." in shown
    assert 'aria-valuenow="28"' in shown
    assert "every 3s" in shown
    install(Install(state="ready"))
    assert step(job).step == "run"
    assert spark.started == 1


def test_an_analysis_without_pyspark_is_refused_with_the_reason(job: Job, spark: Driver, install: Callable[[Install], None]) -> None:
    install(Install(state="failed", since_ms=1_000, why="No space left on device"))
    failed = step(job)
    assert (failed.state, spark.started) == ("failed", 0)
    words = "PySpark could not be installed: No space left on device. Try again: .venv/bin/highwater spark, or make up."
    assert failed.message == words
    shown = page()
    assert "Analyses cannot run" in shown
    assert words in shown
    assert "every 3s" not in shown


def test_a_page_says_nothing_of_pyspark_that_is_there(job: Job, install: Callable[[Install], None]) -> None:
    install(Install(state="ready"))
    assert "PySpark" not in page()


def test_none_is_due_while_pyspark_is_installed(job: Job, settings: Any, install: Callable[[Install], None]) -> None:
    job.delete()
    settings.ANALYTICS_EVERY = timedelta(seconds=-1)
    install(Install(state="installing"))
    periodical.periodic()
    assert not Job.objects.exists()
    install(Install(state="ready"))
    periodical.periodic()
    assert Job.objects.exists()


def test_cancelling_ends_the_driver(job: Job, spark: Driver) -> None:
    step(job)
    Job.objects.update(cancel_requested=True, state="cancelling")
    assert step(job).state == "cancelled"
    assert spark.stopped == 1


def test_a_driver_that_never_ends_is_ended(job: Job, spark: Driver) -> None:
    step(job)
    plan = Job.objects.get().plan
    Job.objects.update(plan={"started": plan["started"] - analytics.RUN_LIMIT_S - 1})
    assert step(job).state == "failed"
    assert spark.stopped == 1


def test_a_driver_that_takes_its_time_is_waited_for(job: Job, spark: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    step(job)
    Job.objects.update(cancel_requested=True, state="cancelling")
    monkeypatch.setattr(driver, "stop", lambda: False)
    assert step(job).state == "cancelling"
    monkeypatch.setattr(driver, "stop", spark.stop)
    assert step(job).state == "cancelled"


def test_the_driver_finds_spark_where_an_image_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the other packages: what leads there is handed on."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(settings.BASE_DIR), "/opt/pyspark"]))
    monkeypatch.setenv("SPARK_HOME", "/opt/pyspark/pyspark")
    given = driver._environment()
    assert given["PYTHONPATH"].split(os.pathsep) == [str(settings.BASE_DIR), "/opt/pyspark"]
    assert given["SPARK_HOME"] == "/opt/pyspark/pyspark"
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.delenv("SPARK_HOME")
    assert driver._environment() == {"PYTHONPATH": str(settings.BASE_DIR), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def staying(local: Cluster, redis: Any, kafka: FakeKafka, spark: Driver, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Driver:
    settings.ANALYTICS_MODE = "continuous"
    kafka.topics_ = {SAMPLES_TOPIC: {0: [1, 2, 3]}}
    monkeypatch.setattr(resident, "cannot_run", lambda: "")
    return spark


def told() -> Resident:
    return resident_now()


def answered(folder: Path, **more: Any) -> None:
    tables = {name: table for name, table in SUMMARY["tables"].items() if name != "skew"}
    (folder / "summary.json").write_text(json.dumps({**SUMMARY, "tables": tables, **more}))


def test_a_driver_that_stays_is_started_once_and_what_it_finds_is_taken(staying: Driver, tmp_path: Path) -> None:
    for _ in range(3):
        periodical.stay()
        periodical.periodic()
    assert (staying.started, staying.staying, Job.objects.count()) == (1, True, 0)
    answered(tmp_path)
    periodical.stay()
    assert (ThroughputSummary.objects.count(), LagSummary.objects.count()) == (1, 1)
    with CaptureQueriesContext(connection) as asked:
        periodical.stay()
    assert not [query["sql"] for query in asked if "INSERT" in query["sql"]], "it was taken before"
    answered(tmp_path, ended_at_ms=190_000)
    periodical.stay()
    assert AnalysisTable.objects.get(name="skew").at == datetime.fromtimestamp(190, UTC)
    assert 'id="resident"' in page() and "A Spark driver runs since" in page()


def test_a_driver_that_stays_and_dies_is_started_again(staying: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once where it had answered, later and later where it had not; the page says why none runs."""
    periodical.stay()
    answered(tmp_path)
    periodical.stay()
    now = timezone.now()
    for wait_s, starts in ((5, 1), (60, 2), (120, 3)):
        staying.running = False
        monkeypatch.setattr(timezone, "now", lambda at=now: at)
        periodical.stay()
        assert not told().is_running and "OutOfMemoryError" in told().why
        assert "No driver runs: java.lang.OutOfMemoryError. It is tried again at" in page()
        monkeypatch.setattr(timezone, "now", lambda at=now + timedelta(seconds=wait_s - 1): at)
        periodical.stay()
        assert staying.started == starts
        now += timedelta(seconds=wait_s + 1)
        monkeypatch.setattr(timezone, "now", lambda at=now: at)
        periodical.stay()
        assert staying.started == starts + 1 and told().is_running


def test_a_driver_that_says_nothing_any_more_is_ended(staying: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    periodical.stay()
    heard = timezone.now()
    (tmp_path / "progress.json").write_text(json.dumps({"done": 3, "message": "answering", "at_ms": int(heard.timestamp() * 1000)}))
    for minutes, stopped in ((19, 0), (21, 1)):
        monkeypatch.setattr(timezone, "now", lambda at=heard + timedelta(minutes=minutes): at)
        periodical.stay()
        assert staying.stopped == stopped
    assert "said nothing for 20 minutes" in told().why


def test_a_driver_whose_starter_died_is_known_again(staying: Driver) -> None:
    staying.running = staying.staying = True
    periodical.stay()
    assert (told().is_running, staying.started) == (True, 0)


def test_none_stays_once_none_is_to(staying: Driver, settings: Any) -> None:
    periodical.stay()
    settings.ANALYTICS_MODE = "interval"
    periodical.stay()
    assert (staying.running, staying.stopped, told().is_running, told().why) == (False, 1, False, "")
    periodical.stay()
    assert staying.stopped == 1
    assert 'id="resident"' not in page()


def test_the_driver_of_a_job_is_left_alone_and_what_it_left_too(staying: Driver, local: Cluster) -> None:
    """Where the mode was changed while it ran: a start would take away the summary that the job waits for."""
    job = Job.objects.create(cluster=local, kind="analytics", created_by="x", state="running", step="run")
    staying.running = True
    periodical.stay()
    staying.running = False
    periodical.stay()
    assert (staying.started, staying.stopped) == (0, 0)
    Job.objects.filter(pk=job.pk).update(state="succeeded")
    periodical.stay()
    assert staying.started == 1


def test_what_keeps_a_driver_from_staying_is_said(staying: Driver, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka.topics_ = {}
    periodical.stay()
    assert staying.started == 0 and "__cluster_samples is not there yet" in page()
    driver.note_resident({})
    monkeypatch.setattr(resident, "cannot_run", lambda: "x.jar is missing: run y")
    periodical.stay()
    assert staying.started == 0 and "No driver runs: x.jar is missing: run y." in page()


def test_a_summary_of_another_release_ends_the_driver_that_stays(staying: Driver, tmp_path: Path) -> None:
    periodical.stay()
    answered(tmp_path, version=9)
    periodical.stay()
    assert staying.stopped == 1 and "version 9, not 2" in told().why


def test_a_job_asks_the_driver_that_stays(staying: Driver, local: Cluster, tmp_path: Path) -> None:
    """And has the first answer that was begun after it was asked for."""
    job = Job.objects.create(cluster=local, kind="analytics", created_by="x")
    assert "to be started" in step(job).message
    periodical.stay()
    asked_ms = int(Job.objects.get().created_at.timestamp() * 1000)
    answered(tmp_path, began_at_ms=asked_ms - 1)
    (tmp_path / "progress.json").write_text(json.dumps({"done": 0, "message": "waiting"}))
    assert step(job).message == "Spark: waiting."
    assert (tmp_path / driver.ASK).exists()
    answered(tmp_path, began_at_ms=asked_ms + 5)
    done = step(job)
    assert (done.state, done.result and done.result["samples"], staying.started) == ("succeeded", 12, 1)


def test_a_job_that_gets_no_answer_of_the_driver_that_stays_fails(staying: Driver, local: Cluster) -> None:
    periodical.stay()
    job = Job.objects.create(cluster=local, kind="analytics", created_by="x")
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=analytics.RUN_LIMIT_S + 1))
    failed = step(job)
    assert (failed.state, staying.stopped) == ("failed", 0)
    assert "no answer within 20 minutes" in failed.message


def test_a_job_does_not_wait_for_a_driver_that_cannot_be_started(
    staying: Driver, local: Cluster, install: Callable[[Install], None]
) -> None:
    job = Job.objects.create(cluster=local, kind="analytics", created_by="x")
    install(Install(state="installing", since_ms=1_000))
    assert "PySpark is being installed" in step(job).message
    install(Install(state="failed", since_ms=1_000, why="No space left on device"))
    failed = step(job)
    assert failed.state == "failed" and "No space left on device" in failed.message


def test_cancelling_a_job_leaves_the_driver_that_stays(staying: Driver, local: Cluster) -> None:
    periodical.stay()
    job = Job.objects.create(cluster=local, kind="analytics", created_by="x")
    step(job)
    Job.objects.update(cancel_requested=True, state="cancelling")
    assert step(job).state == "cancelled"
    assert (staying.running, staying.stopped) == (True, 0)


@pytest.mark.parametrize(
    ("status", "log", "words"),
    [(None, "WARN of no account", "it was killed"), (137, "x", "signal 9 ended it"), (1, "no space\n", "no space"), (1, "", "status 1")],
)
def test_why_a_driver_ended_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int | None, log: str, words: str) -> None:
    process = LocalProcess(driver.NAME, tmp_path)
    monkeypatch.setattr(driver, "_process", lambda: process)
    monkeypatch.setattr(driver, "last_lines", log.strip)
    if status is not None:
        process.ended_path.write_text(str(status))
    assert words in driver.end_words()
