"""REST under /api/v1: bearer tokens, lists with cursors, errors as problem+json."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError

from console.api import (
    alert_rules,
    alerts,
    analytics,
    brokers,
    clusters,
    controller,
    group_changes,
    groups,
    jobs,
    loggers,
    masking,
    plans,
    problem_kinds,
    reassignments,
    record_copies,
    records,
    schedules,
    schema_registry,
    settings,
    spark_queries,
    stream,
    tokens,
    topic_offsets,
    topic_records,
    topics,
    transactions,
    wanted,
)
from console.api.bearer import Bearer
from console.api.described import Described, Renderer
from console.api.once import Answered, replayed
from console.explained import EXPLAINED, explain
from console.middleware import problem, told
from console.rules.problems import UNAUTHENTICATED

api = Described(
    title="Highwater",
    version="1",
    description="Clusters, brokers, topics, groups, events and jobs. Lists answer {items, next}; unknown figures are null. Errors are "
    "problems (RFC 9457): programs go by their `code`, which stays; all codes are at /api/v1/problems.",
    auth=Bearer(),
    renderer=Renderer(),
    docs_url=None,
    openapi_url="/openapi.json",
    urls_namespace="api-1",
)
for module in (
    clusters,
    stream,
    settings,
    loggers,
    brokers,
    controller,
    topics,
    topic_offsets,
    topic_records,
    record_copies,
    masking,
    group_changes,
    groups,
    spark_queries,
    transactions,
    jobs,
    plans,
    reassignments,
    schedules,
    alert_rules,
    alerts,
    records,
    schema_registry,
    wanted,
    analytics,
    tokens,
    problem_kinds,
):
    api.add_router("", module.router)


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, _error: Exception) -> HttpResponse:
    response = problem(UNAUTHENTICATED, f"{getattr(request, 'refused_token', '')} {UNAUTHENTICATED.advice}".strip())
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def explained(request: HttpRequest, error: Any) -> HttpResponse:
    return told(explain(error))


api.add_exception_handler(Answered, replayed)
for known in EXPLAINED:
    api.add_exception_handler(known, explained)
