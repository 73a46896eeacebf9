"""`/metrics` of the console: all that is defined is told, labels are bounded, and a scrape costs the same however large a cluster is."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace
from redis import Redis

from broker_core.contract.live import Age, Question
from broker_core.contract.live import Cluster as LiveCluster
from console import tally
from console.actions.jobs import create_job
from console.live.merging.state import ClusterState
from console.live.sampling.spool import Spool, folder_of
from console.models import Cluster, HealthReport, Job
from console.queue import ADVANCE, QUEUES, queue
from console.roles import OPERATOR, Actor
from console.rules.metrics.defined import GROUPS_SHOWN, METRICS, TOPICS_SHOWN
from console.snapshot import keys, write
from console.snapshot.steps import note_step
from tests.support.console_fixtures import publish
from tests.support.console_world import add_topic, cluster_state
from tests.support.feed_rows import batch, claim, group_claim
from tests.support.metrics import Known, exported

TOKEN = "what-prometheus-has-been-given"
FOLDER = {
    "path": "/data",
    "offline_since_ms": None,
    "error": None,
    "free_bytes": 1 << 29,
    "total_bytes": 1 << 30,
    "used_bytes_per_s": 1.0,
    "full_in_s": 4000,
}

ASKED = LiveCluster(id="away", source="collector", questions={"groups": Question(Age("live", 900, 1, 5_000))})


@pytest.fixture(autouse=True)
def opened(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test counts from nothing."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(tally, "REQUESTS", tally.Requests())
    monkeypatch.setattr("console.api.metrics.REQUESTS", tally.REQUESTS)


def scrape() -> str:
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return answer.content.decode()


def figures(text: str) -> dict[str, float]:
    return {row: float(value) for row, _, value in (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))}


def test_queues_are_as_long_as_celery_makes_them(local: Cluster, redis: Any, redis_url: str) -> None:
    queue.cache_clear()
    try:
        for number in range(3):
            queue().send_task(ADVANCE, args=[number], queue="jobs", ignore_result=True, retry=False)
    finally:
        queue().close()
        queue.cache_clear()
    told = figures(scrape())
    lengths = {name: told[f'highwater_queue_length{{queue="{name}"}}'] for name in (*QUEUES, "records")}
    assert lengths == {**dict.fromkeys((*QUEUES, "records"), 0), "jobs": 3}
    assert told["highwater_queue_unacknowledged"] == 0


def test_requests_are_told_by_route_and_never_by_address(shown: Any, people: dict[str, Client], kafka: Any) -> None:
    """Whoever asks for addresses that are not there makes no row of its own."""
    browser = people["viewer"]
    for path in ("/topics/orders", "/topics/clicks", "/topics/no-such-topic", "/no/such/page", "/another", "/static/none.css"):
        browser.get(path)
    browser.generic("BREW", "/topics")
    Client().get("/api/v1/clusters/local/topics")
    told = figures(scrape())
    of = {row: count for row, count in told.items() if row.startswith("highwater_console_http_requests_total")}
    counted = {
        ("topic", "GET", "2xx"): 2,
        ("topic", "GET", "4xx"): 1,
        ("none", "GET", "4xx"): 2,
        ("static", "GET", "4xx"): 1,
        ("topics", "other", "4xx"): 1,
        ("api-1:topics", "GET", "4xx"): 1,
    }
    rows = {
        f'highwater_console_http_requests_total{{route="{route}",method="{method}",status="{status}"}}': count
        for (route, method, status), count in counted.items()
    }
    assert of == rows
    times = 'highwater_console_http_request_duration_seconds_{}{{route="topic",method="GET"{}}}'
    assert told[times.format("count", "")] == told[times.format("bucket", ',le="+Inf"')] == 3
    assert 0 < told[times.format("sum", "")] < 60


def test_what_workers_did_is_told_by_kind_and_outcome(local: Cluster, redis: Any) -> None:
    note_step("no_such_kind", "failed", 3.0)
    assert "no_such_kind" not in scrape()
    for outcome, seconds in (("failed", 0.02), ("unfinished", 3.0), ("failed", 100.0)):
        note_step("preferred_leader_election", outcome, seconds)
    told = figures(scrape())
    assert told['highwater_job_steps_total{kind="preferred_leader_election",outcome="failed"}'] == 2
    assert told['highwater_job_steps_total{kind="preferred_leader_election",outcome="cancelled"}'] == 0
    name = "highwater_job_step_duration_seconds"
    buckets = {bound: told[f'{name}_bucket{{kind="preferred_leader_election",le="{bound}"}}'] for bound in ("0.01", "0.025", "5.0", "+Inf")}
    assert buckets == {"0.01": 0, "0.025": 1, "5.0": 2, "+Inf": 3}
    assert told[f'{name}_sum{{kind="preferred_leader_election"}}'] == pytest.approx(103.02)


def test_jobs_and_ages_come_from_the_database(local: Cluster, redis: Any, sent: Any) -> None:
    create_job(Actor("anna", OPERATOR, "shell"), local, "health_report", {})
    for hours in (3, 1):
        HealthReport.objects.create(cluster=local, level="ok", sentence="", at=timezone.now() - timedelta(hours=hours))
        Job.objects.create(cluster=local, kind="analytics", state="succeeded", ended_at=timezone.now() - timedelta(hours=2 * hours))
    Job.objects.create(cluster=local, kind="analytics", state="failed", ended_at=timezone.now())
    told = figures(scrape())
    assert told['highwater_jobs{cluster="local",kind="health_report",state="queued"}'] == 1
    assert told['highwater_jobs{cluster="local",kind="analytics",state="succeeded"}'] == 2
    assert told['highwater_health_report_age_seconds{cluster="local"}'] == pytest.approx(3600, abs=60)
    assert told['highwater_analysis_age_seconds{cluster="local"}'] == pytest.approx(7200, abs=60)
    assert (told["highwater_database_up"], told["highwater_redis_up"]) == (1, 1)


def test_without_redis_it_says_so_and_tells_the_rest(local: Cluster, redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.snapshot.read.sync_client", lambda: Redis(port=1))
    told = figures(scrape())
    assert (told["highwater_database_up"], told["highwater_redis_up"]) == (1, 0)
    assert not any(row.startswith("highwater_cluster_") for row in told)


def test_without_the_database_it_says_so_and_tells_the_rest(local: Cluster, redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_names: str) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(Job.objects, "values_list", refuse)
    told = figures(scrape())
    assert (told["highwater_database_up"], told["highwater_redis_up"]) == (0, 1)
    assert told['highwater_queue_length{queue="jobs"}'] == 0


def test_a_spool_that_this_process_cannot_see_is_not_told_as_empty(shown: Any, local: Cluster, settings: Any, tmp_path: Any) -> None:
    settings.CONSOLE_DIR = tmp_path
    row = 'highwater_samples_spool_bytes{cluster="local"}'
    assert row not in figures(scrape())
    spool = Spool(folder_of(tmp_path, "local"))
    spool.add([(b"key", b"value")])
    assert figures(scrape())[row] == spool.size_bytes > 0
    spool.settle(1)
    assert figures(scrape())[row] == 0


# --- large clusters


def written(redis: Any, state: ClusterState, now_ms: int) -> None:
    publish(redis, state, now_ms)
    write.put_group_lag(redis, "local", state.groups.lag)


def of_size(topics: int, groups: int) -> ClusterState:
    """Ten partitions each; group number n has read all but n of the records of orders-0 that consumers see."""
    now = time.time_ns() // 1_000_000
    state = cluster_state(now)
    for number in range(topics):
        add_topic(state, f"t{number:04}", 10, now)
    rows = [claim(f"t{n:04}", p, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=9) for n in range(topics) for p in range(10)]
    rows.append(claim("orders", 0, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=5_000))
    told = [group_claim(f"g{n:04}", {"orders": {0: 4_990 - n}}, members=2) for n in range(groups)]
    state.apply_batch(batch(1, rows, now + 10, groups=told), now + 10)
    state.take(now + 20)
    return state


def cost(redis: Any) -> tuple[int, int]:
    """(commands that Redis ran, questions to the database) of one scrape; those inside scripts count too."""

    def commands() -> int:
        return sum(row["calls"] for name, row in redis.info("commandstats").items() if name not in ("cmdstat_info", "cmdstat_client"))

    scrape()
    before = commands()
    with CaptureQueriesContext(connection) as asked:
        scrape()
    return commands() - before, len(asked)


def test_a_scrape_costs_the_same_however_large_the_cluster(local: Cluster, redis: Any) -> None:
    now = time.time_ns() // 1_000_000
    written(redis, of_size(10, GROUPS_SHOWN), now)
    small = cost(redis)
    written(redis, of_size(1_000, 1_000), now)
    assert cost(redis) == small
    assert small[1] < 10
    assert small[0] < 30 + 3 * GROUPS_SHOWN


def test_the_groups_with_the_most_lag_are_told_and_the_rest_is_counted(local: Cluster, redis: Any) -> None:
    now = time.time_ns() // 1_000_000
    state = of_size(2, 300)
    written(redis, state, now)
    told = figures(scrape())
    rows = [row for row in told if row.startswith("highwater_group_lag{")]
    others = len(state.groups.groups) - 300
    assert len(rows) == GROUPS_SHOWN
    assert told['highwater_group_lag{cluster="local",group="g0299"}'] == 299
    assert told['highwater_group_members{cluster="local",group="g0299"}'] == 2
    assert told['kafka_consumergroup_group_sum_lag{cluster_name="local",group="g0299"}'] == 299
    assert 'highwater_group_lag{cluster="local",group="g0001"}' not in told
    assert told['highwater_cluster_groups_left_out{cluster="local"}'] == 300 + others - GROUPS_SHOWN
    assert told['highwater_cluster_group_lag{cluster="local"}'] == sum(group.lag or 0 for group in state.groups.values.values())
    assert told['highwater_cluster_group_lag{cluster="local"}'] >= sum(range(300))
    assert told['highwater_cluster_topics_left_out{cluster="local"}'] == 0


def test_topics_in_trouble_are_among_those_told(local: Cluster, redis: Any) -> None:
    now = time.time_ns() // 1_000_000
    state = of_size(TOPICS_SHOWN + 50, 0)
    bad = claim(f"t{TOPICS_SHOWN + 49:04}", 3, 1, [1, 2, 3], leader=1, isr=[1], end=9, leader_epoch=6)
    state.apply_batch(batch(1, [bad], now + 30), now + 30)
    state.take(now + 40)
    written(redis, state, now)
    told = figures(scrape())
    assert told[f'highwater_topic_under_replicated{{cluster="local",topic="t{TOPICS_SHOWN + 49:04}"}}'] == 1
    assert sum(row.startswith("highwater_topic_partitions{") for row in told) == TOPICS_SHOWN
    assert told['highwater_cluster_topics_left_out{cluster="local"}'] == 52


def test_the_sum_of_lag_follows_what_groups_do() -> None:
    state = of_size(0, 5)

    def is_right() -> bool:
        return state.groups.lag == sum(value.lag or 0 for value in state.groups.values.values())

    assert state.groups.lag > 0
    assert is_right()
    state.apply_batch(batch(1, [], 2, groups=[group_claim("g0004", {"orders": {0: 4_990}}, members=0)], removed_groups=["g0003"]), 2)
    state.take(3)
    assert is_right()


# --- all that is defined

RATES = ("produce_bytes_per_s", "fetch_bytes_per_s", "messages_per_s", "requests_per_s", "bytes_in_per_s", "bytes_out_per_s")
RATES += ("messages_in_per_s", "connections", "idle_percent", "loop_stalls", "groups_behind", "lag_s")


def filled(value: Any, names: tuple[str, ...]) -> Any:
    """With figures that take two looks, or a broker that tells of itself."""
    return replace(value, **{name: 1 for name in names if hasattr(value, name)})


def test_all_that_is_defined_is_exported_and_nothing_else(
    shown: Any, local: Cluster, people: dict[str, Client], kafka: Any, redis: Any, settings: Any, tmp_path: Any
) -> None:
    """So docs/metrics.md, which is made of the definitions, names what there is."""
    settings.CONSOLE_DIR = tmp_path
    Spool(folder_of(tmp_path, "local")).add([(b"key", b"value")])
    now = time.time_ns() // 1_000_000
    shown.apply_batch(batch(1, [], now, said={"log_dir": FOLDER}), now)
    shown.take(now)
    written(redis, shown, now)
    redis.mset({keys.COLLECTOR: now, keys.RECORDER: now})
    note_step("analytics", "succeeded", 1.0)
    HealthReport.objects.create(cluster=local, level="ok", sentence="")
    Job.objects.create(cluster=local, kind="analytics", state="succeeded", ended_at=timezone.now())
    people["viewer"].get("/")
    everything = shown.everything(now)
    values = {name: filled(everything[name], RATES) for name in ("cluster", "broker/1", "topic/orders", "group/billing")}
    pipe = redis.pipeline()
    write.put(pipe, "local", values)
    write.put(pipe, "away", {keys.CLUSTER: ASKED})
    pipe.execute()
    Cluster.objects.create(pk="away", name="away", bootstrap_servers="127.0.0.1:1")
    found = exported(scrape())
    assert found == {name: Known(metric.kind, frozenset(metric.labels)) for name, metric in METRICS.items()}
