"""Headers every answer carries, and errors of the REST interface in one shape."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from console.explained import Problem, explain_answer
from console.rules.problems import Kind

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


def security_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A strict content policy (plotly needs inline styles, nothing needs inline scripts); pages are never cached."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    return middleware


def problem(kind: Kind, detail: str, **more: object) -> HttpResponse:
    """An error of the REST interface: RFC 9457's problem+json. Its type leads to the list of all kinds."""
    body = {
        "type": f"/api/v1/problems#{kind.code}",
        "title": kind.title,
        "status": kind.status,
        "code": kind.code,
        "detail": detail,
        **{name: value for name, value in more.items() if value is not None},
    }
    return HttpResponse(json.dumps(body), status=kind.status, content_type="application/problem+json")


def told(found: Problem) -> HttpResponse:
    code, name = found.kafka or (None, None)
    return problem(found.kind, found.detail, field=found.field, kafka_code=code, kafka_name=name, errors=found.errors)


def api_problems(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Errors that Django makes below /api/ (unknown path, method, size) get the same shape as ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith("/api/") or response.status_code < 400 or "json" in response.headers.get("Content-Type", ""):
            return response
        made = told(explain_answer(request, response))
        if "Allow" in response.headers:
            made.headers["Allow"] = response.headers["Allow"]
        return made

    return middleware
