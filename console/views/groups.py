"""The groups."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from console import queries
from console.context import encoded, live_needs
from console.snapshot.read import Snapshot
from console.views.support import number, page, pages, show


@page(query=("q", "page"))
def groups(request: Any) -> HttpResponse:
    query = request.GET.get("q", "")[:255]
    found = queries.groups_page(Snapshot(request.cluster.pk), query, number(request, "page", 1, least=1) or 1)
    live_needs(request, group_rows=encoded([row.group for row in found.rows]))
    return show(request, "groups", {"rows": found.rows, "q": query, "pages": pages(request, found.page, found.last, found.total)})
