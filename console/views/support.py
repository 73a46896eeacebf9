"""What views share: sign-in, the cluster, page or partial, and how a refused change is answered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.views.decorators.http import require_http_methods

from console import explained
from console.actions.audit import judge
from console.addressing import cluster_named
from console.errors import Conflict, Invalid
from console.gateway.errors import GatewayError
from console.looking_back import PAGES, address_at, moment_of, present_of
from console.models import Cluster, Job
from console.queries import NotFound, NotKnown, cluster_of, local_cluster, look_back, seen
from console.roles import VIEWER, Refused, actor_of
from console.rules.settings.model import Setting
from console.rules.words import whole
from console.searches.store import TooMany
from console.snapshot.moments import HistoryUnavailable, NotRecorded
from console.snapshot.read import SnapshotUnavailable

View = Callable[..., HttpResponseBase]
NOTES_LIMIT = 5
"""Notes on one address's query."""


def page(*methods: str, role: str = VIEWER, doing: str = "", query: Sequence[str] = (), of_console: bool = False) -> Callable[[View], View]:
    """A signed-in view of the cluster that the address names; what it raises becomes an error page with the right status. A POST needs
    the role, which is judged before the form is looked at; `doing` is what the audit calls it. `query` names what may be asked for in the
    address: of all else the page says that it was not looked at. What is `of_console` is no cluster's and has one address only."""

    def decorate(view: View) -> View:
        @require_http_methods(methods or ("GET", "HEAD"))
        @functools.wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _sign_in_first(request)
            for name in sorted(request.GET.keys() - set(query))[:NOTES_LIMIT] if request.method == "GET" else ():
                note_query(request, f"{name[:60]!r} is nothing that this page can be asked for: it was not looked at.")
            try:
                cluster = enter(request, of_console=of_console)
                if elsewhere := _looking_back(request):
                    return elsewhere
                if request.method != "POST":
                    request.live_before = seen(cluster)[0]  # type: ignore[attr-defined]
                else:
                    judge(actor_of(request), role, doing, kwargs, lambda: None if of_console else cluster)
                return view(request, *args, **kwargs)
            except (*KNOWN, NotFound) as error:
                status, shown = explain(error)
                if moment_of(request) is not None:
                    set_script_prefix(f"{present_of(request)}/")
                return render(request, "error.html", {"form_error": shown, "status": status}, status=status)

        wrapped.is_read = not methods or "GET" in methods  # type: ignore[attr-defined]
        return wrapped

    return decorate


def enter(request: Any, *, of_console: bool) -> Cluster:
    """The cluster of the page, also as `request.cluster`; `NotFound` where the address names one that is not registered."""
    request.cluster = cluster = local_cluster()
    named = cluster_named(request)
    if named is not None:
        if of_console:
            raise NotFound("This page is the console's and no cluster's: its address has no cluster before it.")
        request.cluster = cluster = _registered(named)
    return cluster


def _registered(cluster_id: str) -> Cluster:
    """Of one that is not, the page that says so leads to the own cluster's pages."""
    try:
        return cluster_of(cluster_id)
    except NotFound:
        set_script_prefix("/")
        raise


def _looking_back(request: Any) -> HttpResponse | None:
    """Has the cluster read as it was at the moment that the address names; a page without a past leads to its present."""
    at_ms = moment_of(request)
    if at_ms is None:
        return None
    if request.method not in ("GET", "HEAD"):
        raise Conflict("This page shows the past: nothing can be changed there. Go back to now.")
    if request.resolver_match.url_name not in PAGES:
        return HttpResponseRedirect(address_at(request, None))
    look_back(request.cluster, at_ms)
    return None


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """To the sign-in and from there back to the page; the address of a form that was sent is none. htmx takes the whole page there."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else get_script_prefix()
    answer = redirect_to_login(back, login_url="/login")
    return HttpResponse(status=204, headers={"HX-Redirect": answer.url}) if is_htmx(request) else answer


KNOWN = (Refused, Invalid, Conflict, GatewayError, SnapshotUnavailable, NotKnown, HistoryUnavailable, NotRecorded, TooMany)


def explain(error: Exception) -> tuple[int, dict[str, str]]:
    """Status and `form_error` of something that was refused or could not be done."""
    found = explained.explain(error)
    return found.kind.status, {"title": found.kind.title, "detail": found.detail, "field": found.field or ""}


def show(request: HttpRequest, name: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """`<name>.html`, or `<name>_partial.html` for htmx where there is one."""
    templates = [f"{name}_partial.html", f"{name}.html"] if is_htmx(request) else [f"{name}.html"]
    return render(request, templates, context, status=status)


def refused(request: HttpRequest, name: str, context: dict[str, Any], error: Exception, form: str) -> HttpResponse:
    """The page again: the form (a dialog is open) has what was typed, and says at the field what is wrong with it."""
    status, shown = explain(error)
    return show(request, name, {**context, "form_error": {**shown, "form": form}, "typed": {**request.POST.dict(), "": form}}, status)


def refused_again(request: HttpRequest, name: str, context: Callable[[], dict[str, Any]], error: Exception, form: str) -> HttpResponse:
    """The same of a page whose thing may be gone by now: then there is only the error to tell."""
    try:
        known = context()
    except (NotFound, NotKnown):
        raise error from None
    return refused(request, name, known, error, form)


def settings_or_why(cluster: Cluster, ask: Callable[[], list[Setting]]) -> tuple[list[Setting], str]:
    """Settings, which a broker is asked for, or why there are none: without one the page still shows everything else."""
    if cluster.moment_ms is not None:
        return [], "They are not kept for the past."
    try:
        return ask(), ""
    except GatewayError as error:
        return [], str(error)


def is_confirmed(request: HttpRequest) -> bool:
    return request.POST.get("confirm") == "yes"


def ask_first(request: HttpRequest, title: str, risks: Sequence[str], *, button: str, back: str) -> HttpResponse:
    """A page that says what the form would do, and asks: the same is sent again with `confirm`."""
    again = [(name, value) for name, values in request.POST.lists() for value in values if name not in ("csrfmiddlewaretoken", "confirm")]
    return render(request, "confirm.html", {"title": title, "risks": risks, "again": again, "button": button, "back": back})


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-Boosted") != "true"


def followed(request: HttpRequest, job: Job) -> HttpResponse:
    """The cluster goes on with what was asked: to the job that shows it."""
    return done(request, reverse("job", args=[job.pk]), f"The cluster is still at it; job {job.pk} follows it to its end.")


def done(request: HttpRequest, url: str, said: str) -> HttpResponse:
    """After a change: back to a page that says so (303, or HX-Redirect for htmx)."""
    messages.success(request, said)
    if is_htmx(request):
        response = HttpResponse(status=204)
        response.headers["HX-Redirect"] = url
        return response
    redirect = HttpResponseRedirect(url)
    redirect.status_code = 303
    return redirect


def note_query(request: Any, said: str) -> None:
    """The page says so on top: what the address asks for and is not shown."""
    notes = request.__dict__.setdefault("query_notes", [])
    if len(notes) < NOTES_LIMIT:
        notes.append(said)


def number(request: HttpRequest, name: str, default: int | None = None, *, least: int = 0, most: int = 10**15) -> int | None:
    """A whole number from the query or form; the default where there is none or it is none, of which a page that is read says so."""
    text = (request.POST if request.method == "POST" else request.GET).get(name, "").strip()
    found = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    if found is not None and least <= found <= most:
        return found
    if text and request.method != "POST":
        wanted = f"a whole number from {whole(least)} on" if most == 10**15 else f"a whole number from {whole(least)} to {whole(most)}"
        note_query(request, f"{name}={text[:60]!r} is not {wanted}: it was not looked at.")
    return default


def choice(request: HttpRequest, name: str, choices: Sequence[str]) -> str:
    """One of the choices from the query; empty where there is none, or none of them, of which the page says so."""
    text = request.GET.get(name, "")
    if text and text not in choices:
        note_query(request, f"{name}={text[:60]!r} is not one of {', '.join(choices) or 'those that are known'}: it was not looked at.")
        return ""
    return text


def required_number(request: HttpRequest, name: str) -> int:
    found = number(request, name)
    if found is None:
        raise Invalid(name, f"Give a whole number for {name}.")
    return found


def switches(request: HttpRequest, path: str, troubled: bool, count: int, key: str) -> list[dict[str, Any]]:
    """The links of a list that can be narrowed to what is troubled, with all else of the address as it is; `key` names the live value
    that has the count."""

    def url(value: str | None) -> str:
        query = request.GET.copy()
        query.pop("page", None)
        query.pop("troubled", None)
        if value:
            query["troubled"] = value
        return f"{path}?{query.urlencode()}" if query else path

    return [
        {"label": "All", "url": url(None), "chosen": not troubled, "count": None},
        {"label": "Troubled only", "url": url("1"), "chosen": troubled, "count": count, "key": key},
    ]


def pages(request: HttpRequest, page: int, last: int, total: int) -> dict[str, Any]:
    """What a list needs to link its neighbours."""

    def url(wanted: int) -> str | None:
        if not 1 <= wanted <= last:
            return None
        query = request.GET.copy()
        query["page"] = str(wanted)
        return f"?{query.urlencode()}"

    return {"page": page, "last": last, "total": total, "prev_url": url(page - 1), "next_url": url(page + 1)}
