"""REST under /api/v1: bearer tokens, lists with cursors, errors as problem+json."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from console.api import brokers, clusters, groups, jobs, problem_kinds, records, topics
from console.api.bearer import Bearer
from console.api.described import Described, Renderer
from console.api.once import Answered, replayed
from console.explained import EXPLAINED, explain
from console.middleware import problem
from console.rules.problems import BAD_QUERY, INVALID, UNAUTHENTICATED, kind_of_status

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
for module in (clusters, brokers, topics, groups, jobs, records, problem_kinds):
    api.add_router("", module.router)


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, _error: Exception) -> HttpResponse:
    response = problem(UNAUTHENTICATED, f"{getattr(request, 'refused_token', '')} {UNAUTHENTICATED.advice}".strip())
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(ValidationError)
def malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first wrong field is named; all of them are listed. 400 for a value of the query, 422 for a field of the body."""
    found = [{"field": _field(e["loc"]), "detail": e["msg"]} for e in error.errors[:20]]
    kind = BAD_QUERY if error.errors[0]["loc"][0] == "query" else INVALID
    return problem(kind, f"{found[0]['field']}: {found[0]['detail']}", field=found[0]["field"], errors=found)


def _field(location: Any) -> str:
    words = [str(word) for word in location if word not in ("body", "query", "path", "payload")]
    return ".".join(words) or "body"


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What the framework refuses by itself: a body that is no JSON."""
    kind = kind_of_status(error.status_code)
    return problem(kind, f"{str(error).rstrip('.')}. {kind.advice}".strip())


def explained(request: HttpRequest, error: Any) -> HttpResponse:
    found = explain(error)
    code, name = found.kafka or (None, None)
    return problem(found.kind, found.detail, field=found.field, kafka_code=code, kafka_name=name)


api.add_exception_handler(Answered, replayed)
for known in EXPLAINED:
    api.add_exception_handler(known, explained)
