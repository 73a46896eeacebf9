"""For machines that watch: `/healthz`, which tells a stranger nothing but yes or no, and `/metrics` (Prometheus text) for viewers."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from console.actions.tokens import recognize
from console.address import address_of
from console.clock import now_ms
from console.middleware import problem
from console.models import Cluster
from console.rules.problems import UNAUTHENTICATED
from console.snapshot.read import Snapshot, SnapshotUnavailable, beats

LIVE_OLD_MS = 10_000
SERIES_LIMIT = 2_000
CLUSTER_GAUGES = (
    "brokers_online",
    "brokers_total",
    "topics",
    "partitions",
    "under_replicated",
    "under_min_isr",
    "offline",
    "out_of_sync_replicas",
    "not_preferred",
    "deleting",
    "groups",
    "controller_id",
    "controller_epoch",
    "produce_bytes_per_s",
    "fetch_bytes_per_s",
    "messages_per_s",
    "requests_per_s",
)
BROKER_GAUGES = (
    *("leaders", "replicas", "out_of_sync", "size_bytes", "unmeasured", "bytes_in_per_s", "bytes_out_per_s", "messages_in_per_s"),
    *("connections", "idle_percent", "loop_stalls"),
)
LOG_DIR_GAUGES = ("free_bytes", "total_bytes", "full_in_s")
TOPIC_GAUGES = ("partitions", "under_replicated", "under_min_isr", "offline", "size_bytes", "messages", "unmeasured", "messages_per_s")


def healthz(request: HttpRequest) -> JsonResponse:
    """200 and `{"ok": true}` while pages can be served, 503 without the database. Whoever may look is also told what the pages can
    show: `redis`, `live`, `collector` (the process that asks other clusters), `history` (the one that records)."""
    ok = _database()
    state = _state() if ok and _may_look(request) else {}
    return JsonResponse({"ok": ok, **state}, status=200 if ok else 503)


def _may_look(request: HttpRequest) -> bool:
    """A signed-in person, or a token: every role may look."""
    return request.user.is_authenticated or recognize(_token(request), address_of(request))[0] is not None


def _may_scrape(request: HttpRequest) -> bool:
    """Everybody where metrics are open, who bears the token that is for metrics alone, and who may look."""
    own = settings.METRICS_TOKEN.encode()
    return settings.METRICS_OPEN or (own and secrets.compare_digest(_token(request).encode(), own)) or _may_look(request)


def _token(request: HttpRequest) -> str:
    """Empty without one."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind == "Bearer" else ""


def _state() -> dict[str, Any]:
    state: dict[str, Any] = {"database": True, "redis": True}
    try:
        known = beats()
    except SnapshotUnavailable:
        state["redis"], known = False, dict.fromkeys(("live", "collector", "history"))
    for name, at_ms in known.items():
        age_ms = None if at_ms is None else max(now_ms() - at_ms, 0)
        state |= {f"{name}_age_ms": age_ms, name: age_ms is not None and age_ms < LIVE_OLD_MS}
    return state


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True
    except DatabaseError:
        return False


def metrics(request: HttpRequest) -> HttpResponse:
    """Gauges of every cluster, broker, topic and group, as last seen; what is unknown is left out. 401 for strangers, unless
    `HIGHWATER_METRICS_OPEN` is set; `HIGHWATER_METRICS_TOKEN` opens it too."""
    if not _may_scrape(request):
        refused = problem(UNAUTHENTICATED, UNAUTHENTICATED.advice)
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused
    lines: dict[str, list[str]] = {}
    for cluster in Cluster.objects.order_by("pk"):
        try:
            for name, labels, value in _gauges(cluster.pk):
                if value is not None:
                    lines.setdefault(name, []).append(f"{name}{{{labels}}} {value}")
        except SnapshotUnavailable:
            lines.setdefault("highwater_redis_up", []).append("highwater_redis_up 0")
            break
    text = "".join(f"# TYPE {name} gauge\n" + "\n".join(rows) + "\n" for name, rows in lines.items())
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _gauges(cluster_id: str) -> Iterator[tuple[str, str, Any]]:
    snapshot = Snapshot(cluster_id)
    base = f'cluster="{_escape(cluster_id)}"'
    beat = snapshot.beat_ms()
    yield "highwater_live_age_seconds", base, None if beat is None else max(now_ms() - beat, 0) / 1000
    live = snapshot.cluster()
    for name in CLUSTER_GAUGES:
        yield f"highwater_cluster_{name}", base, live and getattr(live, name)
    for kind, question in ((live and live.questions) or {}).items():
        labels = f'{base},kind="{kind}"'
        yield "highwater_question_age_seconds", labels, None if question.age.age_ms is None else question.age.age_ms / 1000
        yield "highwater_question_interval_seconds", labels, (question.age.every_ms or 0) / 1000
        yield "highwater_question_failing", labels, int(question.error is not None)
    for broker in snapshot.brokers():
        labels = f'{base},broker="{broker.broker_id}"'
        yield "highwater_broker_online", labels, int(broker.state == "online")
        for name in BROKER_GAUGES:
            yield f"highwater_broker_{name}", labels, getattr(broker, name)
        folder = broker.log_dir
        yield "highwater_broker_log_dir_offline", labels, folder and int(folder.offline_since_ms is not None)
        for name in LOG_DIR_GAUGES:
            yield f"highwater_broker_log_dir_{name}", labels, folder and getattr(folder, name)
    for topic in snapshot.topics(snapshot.topic_names(SERIES_LIMIT)):
        labels = f'{base},topic="{_escape(topic.topic)}"'
        for name in TOPIC_GAUGES:
            yield f"highwater_topic_{name}", labels, getattr(topic, name)
    for group in snapshot.groups(snapshot.group_names(SERIES_LIMIT)):
        labels = f'{base},group="{_escape(group.group)}"'
        yield "highwater_group_lag", labels, group.lag
        yield "highwater_group_lag_seconds", labels, group.lag_s
        yield "highwater_group_members", labels, len(group.members)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
