"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth import login as sign_in
from django.contrib.auth import logout as sign_out
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from console.actions.sign_in import check_password, note_sign_out
from console.actions.tries import TooManyTries
from console.address import address_of
from console.live.browser.consumer import end_sockets, session_group
from console.roles import actor_of
from console.views.device import device_of, remember_device


@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """A wrong password is answered alike for known and unknown names; after some of them more slowly, and in a flood not at all."""
    target = request.POST.get("next") or request.GET.get("next") or "/"
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = "/"
    if request.method != "POST":
        return HttpResponseRedirect(target) if request.user.is_authenticated else render(request, "login.html", {"next": target})
    name = request.POST.get("username", "").replace("\0", "")[:150]
    try:
        user = check_password(name, request.POST.get("password", ""), address_of(request), device_of(request, name))
    except TooManyTries as closed:
        answer = _again(request, target, name, 429, str(closed))
        answer.headers["Retry-After"] = str(closed.wait_s)
        return answer
    if user is None:
        return _again(request, target, name, 401, "Name or password is wrong. The first password was printed by make up, once.")
    sign_in(request, user)
    return remember_device(HttpResponseRedirect(target), request, name)


def _again(request: HttpRequest, target: str, name: str, status: int, detail: str) -> HttpResponse:
    context = {"next": target, "username": name, "form_error": {"title": "Not signed in", "detail": detail, "field": "password"}}
    return render(request, "login.html", context, status=status)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Ends the session and its live sockets."""
    key = request.session.session_key
    if request.user.is_authenticated:
        note_sign_out(actor_of(request))
    sign_out(request)
    if key:
        end_sockets(session_group(key))
    return HttpResponseRedirect("/login")
