"""Headers every answer carries, and errors of the REST interface in one shape."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from console.rules.problems import Kind, kind_of_status

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


def api_problems(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Errors that Django makes below /api/ (unknown path, method, size) get the same shape as ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith("/api/") or response.status_code < 400 or "json" in response.headers.get("Content-Type", ""):
            return response
        allowed = response.headers.get("Allow")
        kind = kind_of_status(response.status_code)
        said = f"this address takes {allowed}." if allowed else f"{response.reason_phrase}. {kind.advice}"
        made = problem(kind, f"{request.method} {request.path}: {said}")
        if allowed:
            made.headers["Allow"] = allowed
        return made

    return middleware
