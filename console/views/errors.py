"""Our own pages for what Django answers by itself: 400, 403, 404, 405 and 500. REST gets the same as problem JSON (`middleware`)."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render

SAID = {
    400: (
        "This request cannot be read",
        "It is malformed, has more than 500 fields or 1 MB, or names a host that this console does not serve.",
    ),
    403: ("Not allowed", "The form is too old or came from another site. Load the page again, and send the form from there."),
    404: ("Not found", "There is no such page. What it was about may have been deleted or renamed."),
    500: (
        "Something went wrong here",
        "The console met an error of its own; its log has the details. Nothing more is known of what was asked.",
    ),
}


def own_page(request: HttpRequest, status: int, title: str = "", detail: str = "") -> HttpResponse:
    """Inside the frame for who is signed in; by itself for strangers, and for 500, where the frame may be what failed."""
    known = SAID.get(status, ("", ""))
    context = {"form_error": {"title": title or known[0], "detail": detail or known[1], "field": ""}, "status": status}
    user = getattr(request, "user", None)
    inside = status < 500 and user is not None and user.is_authenticated
    return render(request if inside else None, "error.html" if inside else "stop.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return own_page(request, 400)


def forbidden(request: HttpRequest, exception: Exception | None = None, reason: str = "") -> HttpResponse:
    """Also what Django's protection against forged forms answers."""
    return own_page(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return own_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return own_page(request, 500)


def not_allowed_pages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: a 405 has a page that says what the address takes."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or request.path.startswith("/api/"):
            return response
        allowed = response.headers["Allow"]
        page = "A form is sent to it; open the page that has the form." if "GET" not in allowed else "It is a page to be read."
        made = own_page(request, 405, "Not to be asked so", f"This address takes {allowed}, not {request.method}. {page}")
        made.headers["Allow"] = allowed
        return made

    return middleware
