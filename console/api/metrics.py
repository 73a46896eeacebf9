"""`/metrics` for Prometheus: what this process counts of its own requests, and what Redis and the database know of all else.

A scrape costs some fifteen questions and the same again for each cluster, however many partitions and groups there are: sums are read
as `live` and the collector keep them, of topics and groups come the first few hundred (`rules/metrics/defined.py`).
"""

from __future__ import annotations

import resource
import secrets
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse

from broker_core.contract.live import Broker, Cluster
from console import models
from console.api.probes import may_look, token_of
from console.clock import now_ms
from console.jobs.registry import KINDS
from console.live.browser.consumer import LiveConsumer
from console.live.browser.stream import SEATS
from console.live.sampling.spool import folder_of, waiting_bytes
from console.middleware import problem
from console.models import HealthReport, Job
from console.queue import PREFIX, QUEUES, UNACKNOWLEDGED
from console.rules.metrics.defined import (
    GROUPS_SHOWN,
    OF_BROKERS,
    OF_CLUSTERS,
    OF_TOPICS,
    TOPICS_SHOWN,
    fields_of,
)
from console.rules.metrics.text import CONTENT_TYPE, Page
from console.rules.problems import UNAUTHENTICATED
from console.searches.store import QUEUE as SEARCHES
from console.snapshot.connect import sync_client
from console.snapshot.read import Snapshot, SnapshotUnavailable, beats
from console.snapshot.steps import read_steps
from console.tally import REQUESTS

STARTED_S = time.time()
MEMORY = Path("/proc/self/statm")
"""Linux: the second number is of pages in memory."""
OF_CLUSTER = tuple(name for name in fields_of("highwater_cluster_", OF_CLUSTERS) if hasattr(Cluster, name))
OF_BROKER = tuple(name for name in fields_of("highwater_broker_", OF_BROKERS) if hasattr(Broker, name))
OF_LOG_DIR = ("free_bytes", "total_bytes", "full_in_s")
OF_TOPIC = fields_of("highwater_topic_", OF_TOPICS)
OF_GROUP = {
    "lag": ("highwater_group_lag", "kafka_consumergroup_group_sum_lag"),
    "lag_s": ("highwater_group_lag_seconds", "kafka_consumergroup_group_max_lag_seconds"),
    "members": ("highwater_group_members", "kafka_consumergroup_members"),
}
"""By the column of the list of groups."""


def metrics(request: HttpRequest) -> HttpResponse:
    """What is unknown is left out. 401 for strangers, unless `HIGHWATER_METRICS_OPEN` is set; `HIGHWATER_METRICS_TOKEN` opens it too."""
    if not _may_scrape(request):
        refused = problem(UNAUTHENTICATED, UNAUTHENTICATED.advice)
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused
    page = Page()
    _add_process(page)
    clusters = _add_of_database(page)
    _add_of_redis(page, clusters)
    return HttpResponse(page.text(), content_type=CONTENT_TYPE)


def _may_scrape(request: HttpRequest) -> bool:
    """Everybody where metrics are open, who bears the token that is for metrics alone, and who may look."""
    own = settings.METRICS_TOKEN.encode()
    return settings.METRICS_OPEN or (own and secrets.compare_digest(token_of(request).encode(), own)) or may_look(request)


def _add_process(page: Page) -> None:
    page.add("process_start_time_seconds", STARTED_S)
    page.add("process_cpu_seconds_total", time.process_time())
    if MEMORY.exists():
        page.add("process_resident_memory_bytes", int(MEMORY.read_text().split()[1]) * resource.getpagesize())
    for (route, method, status), count in REQUESTS.counts().items():
        page.add("highwater_console_http_requests_total", count, route, method, status)
    for (route, method), times in REQUESTS.times().items():
        page.add_histogram("highwater_console_http_request_duration_seconds", times, route, method)
    page.add("highwater_console_websockets", len(LiveConsumer.open_sockets))
    page.add("highwater_console_streams", len(SEATS))


def _add_of_database(page: Page) -> list[str]:
    """Returns the clusters that there are; none while the database does not answer."""
    try:
        clusters = list(models.Cluster.objects.order_by("pk").values_list("pk", flat=True))
        counts = Job.objects.values_list("cluster", "kind", "state").annotate(Count("id")).order_by("cluster", "kind", "state")
        for cluster, kind, state, count in counts:
            page.add("highwater_jobs", count, cluster, kind, state)
        reports = HealthReport.objects.values_list("cluster").annotate(Max("at")).order_by("cluster")
        _add_ages(page, "highwater_health_report_age_seconds", reports)
        done = Job.objects.filter(kind="analytics", state=Job.SUCCEEDED).values_list("cluster").annotate(Max("ended_at"))
        _add_ages(page, "highwater_analysis_age_seconds", done.order_by("cluster"))
    except DatabaseError:
        page.add("highwater_database_up", 0)
        return []
    page.add("highwater_database_up", 1)
    return clusters


def _add_ages(page: Page, name: str, found: Any) -> None:
    for cluster, at in found:
        page.add(name, _age_s(at), cluster)


def _age_s(at: datetime) -> float:
    return max(now_ms() / 1000 - at.timestamp(), 0.0)


def _add_of_redis(page: Page, clusters: list[str]) -> None:
    try:
        for process, at_ms in beats().items():
            page.add("highwater_beat_age_seconds", _since_s(at_ms), process)
        _add_queues(page)
        for cluster_id in clusters:
            _add_cluster(page, Snapshot(cluster_id))
    except (SnapshotUnavailable, redis.RedisError):
        page.add("highwater_redis_up", 0)
    else:
        page.add("highwater_redis_up", 1)


def _since_s(at_ms: int | None) -> float | None:
    return None if at_ms is None else max(now_ms() - at_ms, 0) / 1000


def _add_queues(page: Page) -> None:
    pipe = sync_client().pipeline(transaction=False)
    for queue in QUEUES:
        pipe.llen(f"{PREFIX}{queue}")
    pipe.llen(SEARCHES)
    pipe.hlen(UNACKNOWLEDGED)
    *lengths, unacknowledged = pipe.execute()
    for queue, length in zip((*QUEUES, "records"), lengths, strict=True):
        page.add("highwater_queue_length", length, queue)
    page.add("highwater_queue_unacknowledged", unacknowledged)
    for kind, steps in read_steps(KINDS).items():
        for outcome, count in steps.outcomes.items():
            page.add("highwater_job_steps_total", count, kind, outcome)
        page.add_histogram("highwater_job_step_duration_seconds", steps.times, kind)


def _add_cluster(page: Page, snapshot: Snapshot) -> None:
    cluster = snapshot.cluster_id
    page.add("highwater_live_age_seconds", _since_s(snapshot.beat_ms()), cluster)
    page.add("highwater_samples_spool_bytes", waiting_bytes(folder_of(settings.CONSOLE_DIR, cluster)), cluster)
    live = snapshot.cluster()
    if live is None:
        return
    if live.feed is not None:
        page.add("highwater_live_brokers_heard", sum(age.state == "live" for age in live.feed.brokers.values()), cluster)
    for name in OF_CLUSTER:
        page.add(f"highwater_cluster_{name}", getattr(live, name), cluster)
    page.add("kafka_brokers", live.brokers_online, cluster)
    _add_questions(page, live)
    for broker in snapshot.brokers():
        _add_broker(page, cluster, broker)
    _add_topics(page, snapshot)
    _add_groups(page, snapshot)


def _add_questions(page: Page, live: Cluster) -> None:
    for kind, question in (live.questions or {}).items():
        age = question.age
        page.add("highwater_question_age_seconds", None if age.age_ms is None else age.age_ms / 1000, live.id, kind)
        page.add("highwater_question_interval_seconds", (age.every_ms or 0) / 1000, live.id, kind)
        page.add("highwater_question_failing", int(question.error is not None), live.id, kind)


def _add_broker(page: Page, cluster: str, broker: Broker) -> None:
    where = (cluster, broker.broker_id)
    page.add("highwater_broker_online", int(broker.state == "online"), *where)
    for name in OF_BROKER:
        page.add(f"highwater_broker_{name}", getattr(broker, name), *where)
    folder = broker.log_dir
    if folder is not None:
        page.add("highwater_broker_log_dir_offline", int(folder.offline_since_ms is not None), *where)
        for name in OF_LOG_DIR:
            page.add(f"highwater_broker_log_dir_{name}", getattr(folder, name), *where)


def _add_topics(page: Page, snapshot: Snapshot) -> None:
    cluster = snapshot.cluster_id
    topics = snapshot.topics(mark.name for mark in snapshot.ordered("topic", "state", 0, TOPICS_SHOWN))
    for topic in topics:
        for name in OF_TOPIC:
            page.add(f"highwater_topic_{name}", getattr(topic, name), cluster, topic.topic)
        page.add("kafka_topic_partitions", topic.partitions, cluster, topic.topic)
    page.add("highwater_cluster_topics_left_out", max(snapshot.how_many("topic") - TOPICS_SHOWN, 0), cluster)


def _add_groups(page: Page, snapshot: Snapshot) -> None:
    """By the indexes that the list of groups is sorted by, which have their figures turned round: the values hold all members."""
    cluster = snapshot.cluster_id
    names = [mark.name for mark in snapshot.ordered("group", "lag", 0, GROUPS_SHOWN)]
    for name, figures in zip(names, snapshot.scores("group", tuple(OF_GROUP), names), strict=True):
        for called, score in zip(OF_GROUP.values(), figures, strict=True):
            for metric in called:
                page.add(metric, _figure(score), cluster, name)
    page.add("highwater_cluster_group_lag", snapshot.group_lag(), cluster)
    page.add("highwater_cluster_groups_left_out", max(snapshot.how_many("group") - GROUPS_SHOWN, 0), cluster)


def _figure(score: float | None) -> float | None:
    """Counts are exact: six digits of one that grows would make its rate steps of thousands."""
    return None if score is None else int(abs(score)) if score.is_integer() else abs(score)
