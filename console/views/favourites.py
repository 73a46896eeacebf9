"""The star of a topic or a group: pressed it is a favourite, pressed again it is none."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.actions.favourites import add_favourites, drop_favourite, favourites
from console.errors import Invalid
from console.snapshot.sorting import Kind
from console.views.support import done, is_htmx, page

KINDS: dict[str, Kind] = {"topic": "topic", "group": "group"}
NAME_MAX = {"topic": 249, "group": 255}


@page("POST", doing="choose a favourite")
def favourite(request: Any) -> HttpResponse:
    kind, name = KINDS.get(request.POST.get("kind", "")), request.POST.get("name", "")
    if kind is None:
        raise Invalid("kind", "A favourite is a topic or a group.")
    if not name or len(name) > NAME_MAX[kind]:
        raise Invalid("name", f"Give a name of 1 to {NAME_MAX[kind]} characters.")
    starred = name not in favourites(request.user, request.cluster, kind)
    if starred:
        add_favourites(request.user, request.cluster, kind, [name])
    else:
        drop_favourite(request.user, request.cluster, kind, name)
    if is_htmx(request):
        return render(request, "parts/star.html", {"kind": kind, "name": name, "starred": starred})
    return done(request, reverse(f"{kind}s"), f"{name} is {'a' if starred else 'no'} favourite{'' if starred else ' any more'}.")
