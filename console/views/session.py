"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.contrib.auth import login as sign_in
from django.contrib.auth import logout as sign_out
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from console.actions.tries import TooManyTries, count_try, forget_tries
from console.live.consumer import end_sockets, session_group


@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """A wrong password is answered alike for known and unknown names; after too many tries in a minute, only with how long to wait."""
    target = request.POST.get("next") or request.GET.get("next") or "/"
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = "/"
    if request.method != "POST":
        return HttpResponseRedirect(target) if request.user.is_authenticated else render(request, "login.html", {"next": target})
    name = request.POST.get("username", "")[:150]
    try:
        count_try(name)
    except TooManyTries as closed:
        answer = _again(request, target, name, 429, str(closed))
        answer.headers["Retry-After"] = str(closed.wait_s)
        return answer
    user = authenticate(request, username=name, password=request.POST.get("password", ""))
    if user is None:
        return _again(request, target, name, 401, "Name or password is wrong. The first password was printed by make up, once.")
    forget_tries(name)
    sign_in(request, user)
    return HttpResponseRedirect(target)


def _again(request: HttpRequest, target: str, name: str, status: int, detail: str) -> HttpResponse:
    context = {"next": target, "username": name, "form_error": {"title": "Not signed in", "detail": detail, "field": "password"}}
    return render(request, "login.html", context, status=status)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Ends the session and its live sockets."""
    key = request.session.session_key
    sign_out(request)
    if key:
        end_sockets(session_group(key))
    return HttpResponseRedirect("/login")
