"""What every page has: cluster, live figures, verdict, role, navigation and the websocket's address."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import reverse

from broker_core.contract.sentences import Verdict
from console.addressing import base_of, cluster_named
from console.alert_values import firing_count
from console.clock import now_ms
from console.models import Cluster
from console.past import look_back_url, past_of
from console.queries import clusters_or_none, local_cluster, seen
from console.roles import ADMIN, OPERATOR, Actor, actor_of
from console.rules.tour import steps

NAVIGATION = (
    ("overview", "Overview"),
    ("brokers", "Brokers"),
    ("topics", "Topics"),
    ("groups", "Groups"),
    ("transactions", "Transactions"),
    ("controller", "Controller"),
    ("jobs", "Jobs"),
    ("schedules", "Schedules"),
    ("analytics", "Analytics"),
    ("health", "Health"),
    ("alerts", "Alerts"),
    ("wanted", "Wanted state"),
    ("events", "Events"),
    ("audit", "Audit"),
    ("settings", "Settings"),
)
SECTION = {
    "heat_map": "overview",
    "topology": "overview",
    "clusters": "settings",
    "cluster_new": "settings",
    "cluster_change": "settings",
    "znodes": "controller",
    "broker": "brokers",
    "broker_if_stopped": "brokers",
    "broker_graded_kill": "brokers",
    "broker_settings": "brokers",
    "broker_defaults": "brokers",
    "topic": "topics",
    "partition": "topics",
    "partition_log": "topics",
    "partition_producers": "topics",
    "transaction_abort": "topics",
    "topic_create": "topics",
    "topic_settings": "topics",
    "topic_records": "topics",
    "topics_bulk": "topics",
    "topic_record": "topics",
    "topic_records_new": "topics",
    "topic_records_delete": "topics",
    "topic_records_copy": "topics",
    "topic_records_export": "topics",
    "console_settings": "settings",
    "masking": "settings",
    "mask_rule": "settings",
    "mask_rule_new": "settings",
    "schema_registry": "settings",
    "schema": "settings",
    "group": "groups",
    "group_offsets": "groups",
    "group_members": "groups",
    "group_forget": "groups",
    "offset_change": "groups",
    "lag": "groups",
    "transaction": "transactions",
    "transaction_end": "transactions",
    "hanging_transactions": "transactions",
    "job": "jobs",
    "job_form": "jobs",
    "moves": "jobs",
    "schedule": "schedules",
    "schedule_new": "schedules",
    "schedule_preview": "schedules",
    "schedule_change": "schedules",
    "schedule_delete": "schedules",
    "schedule_run": "schedules",
    "changes": "events",
    "alert_rule_new": "alerts",
    "alert_rule_switch": "alerts",
    "alert_rule_preview": "alerts",
    "alert_rule_change": "alerts",
    "alert_rule_delete": "alerts",
    "alert_silence_new": "alerts",
    "alert_silence_end": "alerts",
    "alert_destination_new": "alerts",
    "alert_destination_change": "alerts",
    "alert_destination_switch": "alerts",
    "alert_destination_test": "alerts",
    "alert_destination_remove": "alerts",
    "wanted_mend": "wanted",
    "health_report": "health",
    "health_compare": "health",
}
NOTHING_SAID = "Nothing is known of this cluster yet: the live feed has not written anything."
NOTHING_KNOWN = Verdict("unknown", NOTHING_SAID, brief="Nothing is known yet")


def console(request: HttpRequest) -> dict[str, Any]:
    """Django's context processor; the login page gets nothing."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"page": _page(request)}
    actor = actor_of(request)
    cluster = _cluster(request)
    live = request.live_before if hasattr(request, "live_before") else seen(cluster)[0]
    verdict = (live and live.verdict) or NOTHING_KNOWN
    page = _page(request)
    past = past_of(request, cluster)
    can_change = past is None and not cluster.read_only
    return {
        "cluster": cluster,
        "base": base_of(cluster.pk),
        "all_clusters": clusters_or_none,
        "live": live,
        "verdict": verdict,
        "role": actor.role,
        "can_operate": actor.may(OPERATOR) and can_change,
        "can_admin": actor.may(ADMIN) and can_change,
        "is_operator": actor.may(OPERATOR),
        "is_admin": actor.may(ADMIN),
        "username": actor.name,
        "nav": [item for item in _navigation(page) if item["name"] != "audit" or actor.may(ADMIN)],
        "alerts_firing": partial(_firing, cluster, is_past=past is not None),
        "page": page,
        "query_notes": getattr(request, "query_notes", []),
        "ws_url": "" if past else f"/ws/v1/live?cluster={cluster.pk}" + getattr(request, "live_needs", ""),
        "old": "" if past else _old(verdict),
        "past": past,
        "look_back": look_back_url(request, page, cluster, now_ms()),
        "tour": _tour(actor, cluster),
    }


def _firing(cluster: Cluster, *, is_past: bool) -> int | None:
    """How many alerts fire, asked where a page shows it; 0 on pages of the past, which have none; None while the database is away."""
    try:
        return 0 if is_past else firing_count(cluster)
    except DatabaseError:
        return None


def _cluster(request: Any) -> Cluster:
    """Of a page that no view made, as of one that is not there, too."""
    shown: Cluster | None = getattr(request, "cluster", None) or Cluster.objects.filter(pk=cluster_named(request)).first()
    return shown or local_cluster()


def live_needs(request: Any, **needs: str) -> None:
    """What the page at hand shows live: the parameters of its websocket (see `console/live/subscription.py`)."""
    request.live_needs = "".join(f"&{name}={value}" for name, value in needs.items() if value)


def encoded(names: list[str]) -> str:
    """Group ids as the websocket's query wants them: encoded once for the list, once more for the query."""
    return ",".join(quote(quote(name, safe=""), safe="") for name in names)


def _page(request: HttpRequest) -> str:
    return (request.resolver_match.url_name or "") if request.resolver_match else ""


def _old(verdict: Verdict) -> str:
    """The words over a page whose values nobody writes any more; the browser counts on."""
    first = verdict.parts[0] if verdict.parts else None
    return first.text if first and first.level == "unknown" else ""


def _tour(actor: Actor, cluster: Cluster) -> list[dict[str, Any]]:
    """None through a cluster that is only looked at: there is nothing to try."""
    if cluster.read_only:
        return []
    labels = dict(NAVIGATION)
    found = steps(may_operate=actor.may(OPERATOR), may_kill=actor.may(ADMIN) and cluster.is_local)
    return [
        {"title": step.title, "words": step.words, "url": reverse(step.page), "label": labels[step.page], "targets": step.targets}
        for step in found
    ]


def _navigation(page: str) -> list[dict[str, Any]]:
    here = SECTION.get(page, page)
    return [{"name": name, "label": label, "url": reverse(name), "active": name == here} for name, label in NAVIGATION]
