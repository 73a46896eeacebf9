"""All clusters on one page, and the forms that register, change, test and delete one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from console import queries
from console.actions.clusters import FIELDS, PUBLIC, blank, change, delete, register, test
from console.addressing import base_of
from console.errors import Invalid
from console.models import Cluster
from console.roles import ADMIN, actor_of
from console.rules.registration import AUTHENTICATED, ENCRYPTED, MECHANISMS, OF_SIGN_IN, OF_TLS, PROTOCOLS, SECRET
from console.rules.trial import Trial
from console.views.support import KNOWN, done, explain, is_htmx, page, show

FLAGS = ("check_hostname", "read_only")
FORM = "cluster"


@page(of_console=True)
def clusters(request: Any) -> HttpResponse:
    """The own one first, the others by name."""
    return show(request, "clusters", {"rows": queries.clusters_at_a_glance(), "limit": Cluster.LIMIT})


@page("GET", "HEAD", "POST", role=ADMIN, doing="register cluster", of_console=True)
def cluster_new(request: Any) -> HttpResponse:
    """`test=1` asks the servers and registers nothing."""
    actor = actor_of(request)
    actor.require(ADMIN, "register cluster")
    if request.method != "POST":
        return _form(request, None)
    try:
        if request.POST.get("test") == "1":
            return _form(request, None, trial=test(actor, None, _given(request)))
        made = register(actor, request.POST.get("id", "").strip(), _given(request))
    except KNOWN as error:
        return _refused(request, None, error)
    return done(request, base_of(made.pk) + "/", f"{made.name} is registered. What is known of it appears here within seconds.")


@page("GET", "HEAD", "POST", role=ADMIN, doing="change cluster", of_console=True)
def cluster_change(request: Any, cluster_id: str) -> HttpResponse:
    actor, found = actor_of(request), _registered(request, cluster_id)
    actor.require(ADMIN, "change cluster")
    if request.method != "POST":
        return _form(request, found)
    try:
        if request.POST.get("test") == "1":
            return _form(request, found, trial=test(actor, found, _given(request)))
        change(actor, found, _given(request))
    except KNOWN as error:
        return _refused(request, found, error)
    return done(request, reverse("clusters"), f"{found.name} is changed.")


@page("POST", role=ADMIN, doing="delete cluster", of_console=True)
def cluster_delete(request: Any, cluster_id: str) -> HttpResponse:
    found = _registered(request, cluster_id)
    try:
        delete(actor_of(request), found, confirm=request.POST.get("confirm", "").strip())
    except KNOWN as error:
        status, shown = explain(error)
        again = {"form_error": {**shown, "form": "delete-cluster"}, "typed": {**request.POST.dict(), "": "delete-cluster"}}
        return show(request, "cluster_form", {**_context(found, _kept(found)), **again}, status)
    return done(request, reverse("clusters"), f"The registration of {found.name} is deleted; the cluster itself was not touched.")


def _registered(request: Any, cluster_id: str) -> Cluster:
    found = queries.cluster_of(cluster_id)
    if found.pk == settings.LOCAL_CLUSTER:
        raise Invalid("cluster", "This system's own cluster is set by the environment: it is neither changed nor deleted here.")
    return found


def _given(request: Any) -> dict[str, Any]:
    """What was entered: a secret only where one was typed, and nothing that the chosen protocol has no use for, which the form hides."""
    given: dict[str, Any] = {name: request.POST.get(name, "").replace("\r\n", "\n") for name in FIELDS if name not in FLAGS}
    given |= {name: request.POST.get(name) == "yes" for name in FLAGS}
    protocol = given["security_protocol"]
    hidden = (() if protocol in AUTHENTICATED else OF_SIGN_IN) + (() if protocol in ENCRYPTED else OF_TLS)
    return {name: value for name, value in given.items() if name not in hidden and (value or name not in SECRET)}


def _refused(request: Any, found: Cluster | None, error: Exception) -> HttpResponse:
    status, shown = explain(error)
    return _form(request, found, status, form_error={**shown, "form": FORM})


def _form(request: Any, found: Cluster | None, status: int = 200, *, trial: Trial | None = None, **more: Any) -> HttpResponse:
    """What was typed stays, but for secrets: those are never sent back. With htmx only the answer is sent, and the form stays as it is;
    the form alone where it is asked for, for a dialog."""
    values = _public(request) if request.method == "POST" else {**blank(), "id": ""} if found is None else _kept(found)
    name = "cluster_answer" if is_htmx(request) and request.method == "POST" else "cluster_form"
    return show(request, name, {**_context(found, values), "trial": trial, **more}, status)


def _context(found: Cluster | None, values: dict[str, Any]) -> dict[str, Any]:
    choices = {
        "protocols": PROTOCOLS,
        "mechanisms": MECHANISMS,
        "colours": Cluster.COLOURS,
        "fields": ("id", *(name for name in FIELDS if name not in FLAGS)),
    }
    return {"values": values, "edited": found, "has_secrets": bool(found and found.secrets), **choices}


def _kept(found: Cluster) -> dict[str, Any]:
    return {"id": found.pk, **{name: getattr(found, name) for name in PUBLIC}}


def _public(request: Any) -> dict[str, Any]:
    typed = {name: request.POST.get(name, "") for name in ("id", *PUBLIC)}
    return {**typed, **{name: request.POST.get(name) == "yes" for name in FLAGS}}
