"""Addresses of clusters: the pages of another than the system's own stand after `/c/<id>`, with the same names.

A middleware takes the prefix off and makes it Django's script prefix, so that all addresses that are made for the page lead within the
cluster. What is the console's own (sign-in, REST, the list of clusters) is not found there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import get_script_prefix, reverse, set_script_prefix

ADDRESS = re.compile(r"/c/(?P<cluster>[a-z0-9-]{1,64})(?P<rest>/.*)?", re.DOTALL)
OF_CONSOLE = ("api", "c", "clusters", "healthz", "login", "logout", "metrics", "static", "ws")


def base_of(cluster_id: str) -> str:
    """What stands before the addresses of a cluster's pages: nothing before those of the own one."""
    return "" if cluster_id == settings.LOCAL_CLUSTER else f"/c/{cluster_id}"


def address_within(cluster_id: str, name: str) -> str:
    """The address of a page of a cluster, wherever it is asked for."""
    before = get_script_prefix()
    set_script_prefix(base_of(cluster_id) + "/")
    try:
        return reverse(name)
    finally:
        set_script_prefix(before)


def cluster_named(request: HttpRequest) -> str | None:
    """The cluster that the address names; None where it names none, which is the own one."""
    return getattr(request, "cluster_named", None)


def within_cluster(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The middleware. The own cluster's pages have one address, the short one."""

    def middleware(request: HttpRequest) -> HttpResponse:
        found = ADDRESS.fullmatch(request.path_info)
        if found is None or ((found["rest"] or "").split("/")[1:2] and found["rest"].split("/")[1] in OF_CONSOLE):
            return get_response(request)
        if found["cluster"] == settings.LOCAL_CLUSTER and request.method in ("GET", "HEAD"):
            return _short(request, found.end("cluster"))
        request.cluster_named = found["cluster"]  # type: ignore[attr-defined]
        request.path_info = found["rest"] or "/"
        before = get_script_prefix()
        set_script_prefix(base_of(found["cluster"]) + "/")
        try:
            return get_response(request)
        finally:
            set_script_prefix(before)

    return middleware


def _short(request: HttpRequest, length: int) -> HttpResponse:
    """From the same host always: an address that began with two slashes would lead to another."""
    return HttpResponseRedirect("/" + request.get_full_path()[length:].lstrip("/"))
