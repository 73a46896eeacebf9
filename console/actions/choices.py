"""What a person has chosen to see of a list: kept for that person alone. It changes nothing of a cluster, so it asks for no role but to be
signed in, and no row of the audit tells of it."""

from __future__ import annotations

from typing import Any

from console.models import Cluster, ListChoice


def chosen(user: Any, cluster: Cluster, page: str) -> str:
    """The query that was last chosen; empty where there was none."""
    found = ListChoice.objects.filter(user=user, cluster=cluster, page=page).first()
    return found.query if found else ""


def choose(user: Any, cluster: Cluster, page: str, query: str) -> None:
    """Keeps the query; an empty one, or one too long to keep, forgets what was chosen."""
    if query == chosen(user, cluster, page):
        return
    if not query or len(query) > ListChoice.QUERY_MAX:
        ListChoice.objects.filter(user=user, cluster=cluster, page=page).delete()
    else:
        ListChoice.objects.update_or_create(user=user, cluster=cluster, page=page, defaults={"query": query})
