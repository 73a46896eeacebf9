"""A health report as a job: facts from snapshot, events and jobs; what it is compared with; the first one of a cluster."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from msgspec.structs import replace

from console.actions.jobs import create_job
from console.models import Cluster, Event, HealthReport, Job
from console.roles import Actor
from console.rules.report import FORMAT
from console.rules.report.rules import RULES
from console.snapshot import keys, write
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS, add_topic
from tests.support.feed_rows import batch, claim, group_claim
from workers import runner
from workers.kinds import health_facts
from workers.tasks.health import AGAIN_AFTER, STEADY_MS, first

ACTOR = Actor("someone", "operator", "api")
DAY_MS = 24 * 3_600_000


@pytest.fixture(autouse=True)
def stage(local: Cluster, shown: Any, kafka: Any, sent: Any) -> None:
    Cluster.objects.filter(pk="local").update(created_at=timezone.now() - timedelta(days=3))
    local.refresh_from_db()


def made(local: Cluster) -> HealthReport:
    job = create_job(ACTOR, local, "health_report", {})
    runner.advance(job.pk)
    assert Job.objects.get(pk=job.pk).state == Job.SUCCEEDED
    return HealthReport.objects.latest("id")


def check(row: HealthReport, identity: str) -> Any:
    return next(one for one in row.checks if one["id"] == identity)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.spec("O2", "O3")
def test_a_report_and_its_change(local: Cluster, shown: Any, redis: Any) -> None:
    before = made(local)
    assert [one["number"] for one in before.checks] == [rule.number for rule in RULES]
    assert (before.format, before.compared) == (FORMAT, None)
    now = now_ms()
    shown.set_brokers({b: BROKERS[b] for b in (2, 3)}, now)
    shown.take(now)
    publish(redis, shown, now)
    after = made(local)
    assert (after.level, after.compared) == ("bad", before.pk)
    assert "orders-0" in [one["key"] for one in after.changed["new"]["items"] if one["number"] == "HW-001"]
    job = Job.objects.latest("id")
    assert job.result == {"report": after.pk, "level": "bad", **{kind: rows["count"] for kind, rows in after.changed.items()}}


def test_reports_are_compared_with_the_last_that_was_made_in_the_same_way(local: Cluster) -> None:
    same = made(local)
    HealthReport.objects.create(cluster=local, level="ok", sentence="", checks=[], changed={}, format=1)
    HealthReport.objects.create(cluster=local, level="ok", sentence="", checks=[], changed={}, format=FORMAT, basis="collector x")
    assert made(local).compared == same.pk


def test_each_cluster_keeps_its_own_reports(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Cluster.objects.create(pk="north", name="north", bootstrap_servers="127.0.0.1:1")
    kept = HealthReport.objects.create(cluster=other, level="ok", sentence="", checks=[], changed={})
    monkeypatch.setattr(HealthReport, "KEEP", 2)
    for _ in range(4):
        made(local)
    assert HealthReport.objects.filter(cluster=local).count() == 2
    assert HealthReport.objects.filter(pk=kept.pk).exists()


def test_a_topic_that_is_being_deleted_is_not_reported(local: Cluster, shown: Any, redis: Any) -> None:
    """Neither its partitions without a leader, nor its settings."""
    now = now_ms()
    shown.set_deleting({"orders"}, now)
    for partition in range(3):
        shown.set_partition("orders", partition, -1, 6, [])
    shown.set_topic("orders", replace(shown.topics["orders"], unclean=True), now)
    shown.take(now)
    publish(redis, shown, now)
    row = made(local)
    found = [one["key"] for each in row.checks for one in each["findings"]]
    assert [key for key in found if key.startswith("orders") and not key.startswith("orders-")] == []
    assert [key for key in found if key in ("orders-0", "orders-1", "orders-2")] == []


def test_a_silent_client_of_ours_is_a_finding(local: Cluster, redis: Any) -> None:
    redis.set("hw:{local}:clients", json.dumps([{"name": "samples", "doing": "that writes the samples", "sentence": "…"}]))
    with_it = made(local)
    redis.delete("hw:{local}:clients")
    without = made(local)
    assert [check(row, "clients")["level"] for row in (with_it, without)] == ["warn", "ok"]
    assert [one["key"] for one in without.changed["gone"]["items"]] == ["samples"]


def test_a_report_counts_all_that_is_in_trouble(local: Cluster, shown: Any, redis: Any) -> None:
    now = now_ms()
    add_topic(shown, "wide", 3_000, now)
    for partition in range(3_000):
        shown.set_partition("wide", partition, 1, 6, [1])
    rows = [
        claim("wide", p, 1, [p % 3 + 1, (p + 1) % 3 + 1, (p + 2) % 3 + 1], leader=1, isr=[1], end=0, leader_epoch=6) for p in range(3_000)
    ]
    shown.apply_batch(batch(1, rows, now), now)
    shown.take(now)
    publish(redis, shown, now)
    assert check(made(local), "under_min_isr")["sentence"] == "3\u202f000 found; the worst 20 are listed."


# --- the facts


def test_where_groups_stand_and_where_logs_begin(local: Cluster, shown: Any, redis: Any) -> None:
    now = now_ms()
    rows = [claim("orders", 0, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=100, log_start_offset=70)]
    shown.apply_batch(batch(1, rows, now, groups=[group_claim("billing", {"orders": {0: 50}})]), now)
    shown.take(now)
    publish(redis, shown, now)
    found = health_facts.facts(local, now)
    assert found.lags is not None
    assert found.logs is not None
    assert [(row.group, row.topic, row.partition, row.committed) for row in found.lags.rows] == [("billing", "orders", 0, 50)]
    assert {row.log_start_offset for row in found.logs.rows if (row.topic, row.partition) == ("orders", 0)} == {70}
    assert [one["key"] for one in check(made(local), "loss_ahead")["findings"]] == ["billing on orders-0"]


def test_facts_are_bounded(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is counted; the topics that lagging groups read come first."""
    monkeypatch.setattr(health_facts, "PARTITIONS_LIMIT", 3)
    monkeypatch.setattr(health_facts, "LAGS_LIMIT", 0)
    found = health_facts.facts(local, now_ms())
    assert found.logs is not None
    assert found.lags is not None
    assert (len(found.logs.rows) <= 3, found.logs.skipped >= 1, found.lags.skipped) == (True, True, 1)


def test_events_of_the_last_day_are_counted(local: Cluster) -> None:
    now = now_ms()

    def event(kind: str, hours: float, **more: Any) -> Event:
        return Event(cluster=local, at_ms=now - int(hours * 3_600_000), kind=kind, level="warn", sentence="…", **more)

    Event.objects.bulk_create(
        [
            *(event("isr_shrink", n, broker_id=2, topic="orders", partition=0) for n in (1, 2, 3, 30)),
            event("isr_shrink", 1, broker_id=2, topic="orders", partition=1),
            event("isr_expand", 1, broker_id=2, topic="orders", partition=0),
            *(event("controller_moved", n, broker_id=1) for n in (1, 2, 26)),
        ]
    )
    found = health_facts.happened(local, now)
    assert found.since_ms == now - DAY_MS
    assert [(one.broker, one.topic, one.partition, one.times) for one in found.shrinks] == [(2, "orders", 0, 3), (2, "orders", 1, 1)]
    assert found.controller_moves == 2


def test_events_that_were_trimmed_shorten_what_was_watched(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Event, "KEEP", 1)
    now = now_ms()
    Event.objects.create(cluster=local, at_ms=now - 60_000, kind="isr_shrink", level="warn", sentence="…", broker_id=1)
    assert health_facts.happened(local, now).since_ms == now - 60_000


def test_a_throttle_belongs_to_the_job_that_is_under_way(local: Cluster) -> None:
    plan = {"throttle": {"rate": 1000, "before": {"1": {}, "2": {}}, "topics": {"orders": {}}}}
    job = Job.objects.create(cluster=local, kind="reassignment", created_by="x", state=Job.RUNNING, plan=plan)
    found = health_facts.throttling(local)
    assert [(one.job, one.brokers, one.topics) for one in found] == [(job.pk, {1, 2}, {"orders"})]
    Job.objects.update(state=Job.SUCCEEDED)
    assert health_facts.throttling(local) == []


# --- the first report


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Milliseconds that the snapshot's watch believes; the snapshot itself is ahead of the machine's clock."""
    at = [now_ms()]
    monkeypatch.setattr("console.snapshot.steady.now_ms", lambda: at[0])
    return at


def asked() -> list[str]:
    return list(Job.objects.order_by("pk").values_list("cluster_id", flat=True))


def test_the_first_report_is_asked_for_once_the_snapshot_was_fresh_for_two_minutes(local: Cluster, clock: list[int]) -> None:
    first()
    clock[0] += STEADY_MS - 1
    first()
    assert asked() == []
    clock[0] += 1
    first()
    first()
    assert [(job.kind, job.created_by) for job in Job.objects.all()] == [("health_report", "beat")]


def test_a_snapshot_that_was_old_in_between_begins_anew(local: Cluster, clock: list[int], redis: Any) -> None:
    first()
    clock[0] += STEADY_MS
    write_beat(redis, 1000)
    first()
    write_beat(redis, now_ms() + 600_000)
    first()
    assert asked() == []


def write_beat(redis: Any, at_ms: int) -> None:
    pipe = redis.pipeline()
    write.beat(pipe, "local", at_ms, at_ms)
    pipe.execute()


def test_what_nobody_looked_at_for_a_time_is_forgotten(local: Cluster, redis: Any, clock: list[int]) -> None:
    first()
    assert 0 < redis.pttl(keys.named("local", "fresh_since")) <= 90_000


def test_a_cluster_with_a_report_or_a_try_of_late_is_left_alone(local: Cluster, clock: list[int]) -> None:
    failed = Job.objects.create(cluster=local, kind="health_report", created_by="beat", state=Job.FAILED)
    first()
    clock[0] += STEADY_MS
    first()
    assert asked() == ["local"]
    Job.objects.filter(pk=failed.pk).update(created_at=timezone.now() - AGAIN_AFTER)
    first()
    clock[0] += STEADY_MS
    first()
    assert asked() == ["local", "local"]
    HealthReport.objects.create(cluster=local, level="ok", sentence="", checks=[], changed={})
    Job.objects.all().delete()
    first()
    assert asked() == []
