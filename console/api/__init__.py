"""REST under /api/v1: bearer tokens, lists with cursors, errors as problem+json."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from console.actions.audit import Conflict, Invalid
from console.api import brokers, clusters, groups, jobs, topics
from console.api.bearer import Bearer
from console.api.described import Described
from console.gateway.errors import GatewayError
from console.middleware import problem
from console.queries import BadQuery, NotFound
from console.roles import Refused
from console.snapshot.read import SnapshotUnavailable

NOT_FOUND_CODES = {3, 69}
CONFLICT_CODES = {36, 60, 68}


api = Described(
    title="Highwater",
    version="1",
    description="Clusters, brokers, topics, groups, events and jobs. Lists answer {items, next}; unknown figures are null.",
    auth=Bearer(),
    docs_url=None,
    openapi_url="/openapi.json",
    urls_namespace="api-1",
)
for module in (clusters, brokers, topics, groups, jobs):
    api.add_router("", module.router)


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, _error: Exception) -> HttpResponse:
    said = "Send Authorization: Bearer with a token made by: highwater token create NAME --role ROLE"
    response = problem(401, "Unauthorized", f"{getattr(request, 'refused_token', '')} {said}".strip())
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(ValidationError)
def malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first wrong field is named; all of them are listed. 400 for a value of the query, 422 for a field of the body."""
    found = [{"field": _field(e["loc"]), "detail": e["msg"]} for e in error.errors[:20]]
    if error.errors[0]["loc"][0] == "query":
        return problem(400, "Bad Request", f"{found[0]['field']}: {found[0]['detail']}", field=found[0]["field"], errors=found)
    return problem(422, "Unprocessable Content", f"{found[0]['field']}: {found[0]['detail']}", field=found[0]["field"], errors=found)


def _field(location: Any) -> str:
    words = [str(word) for word in location if word not in ("body", "query", "path", "payload")]
    return ".".join(words) or "body"


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem(error.status_code, "Bad Request" if error.status_code == 400 else "Error", str(error))


@api.exception_handler(Refused)
def refused(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(403, "Forbidden", str(error))


@api.exception_handler(NotFound)
def not_found(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(404, "Not Found", str(error))


@api.exception_handler(Invalid)
def invalid(request: HttpRequest, error: Invalid) -> HttpResponse:
    return problem(422, "Unprocessable Content", error.detail, field=error.field)


@api.exception_handler(BadQuery)
def bad_query(request: HttpRequest, error: BadQuery) -> HttpResponse:
    return problem(400, "Bad Request", str(error), field=error.field)


@api.exception_handler(Conflict)
def conflict(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(409, "Conflict", str(error))


@api.exception_handler(SnapshotUnavailable)
def snapshot_away(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(503, "Service Unavailable", str(error))


@api.exception_handler(GatewayError)
def cluster_refused(request: HttpRequest, error: GatewayError) -> HttpResponse:
    """The broker's own words and code; 503 where trying again may help."""
    status = 503 if error.retriable and error.code not in NOT_FOUND_CODES else 422
    status = 404 if error.code in NOT_FOUND_CODES else 409 if error.code in CONFLICT_CODES else status
    return problem(status, error.name, error.message, code=error.code)
