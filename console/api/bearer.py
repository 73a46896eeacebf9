"""Bearer tokens, and the role that a route needs: both are judged before anything else of the request is looked at."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from console.actions.audit import judge
from console.actions.tokens import recognize
from console.address import address_of
from console.models import Cluster
from console.roles import VIEWER, Actor


class Bearer(HttpBearer):
    """`Bearer(OPERATOR, "move offsets")` as a route's `auth`: who may not is refused by `Refused`, with a row in the audit."""

    def __init__(self, role: str = VIEWER, doing: str = "") -> None:
        super().__init__()
        self.role, self._doing = role, doing

    def authenticate(self, request: HttpRequest, token: str) -> Actor | None:
        address = address_of(request)
        row, request.refused_token = recognize(token, address)  # type: ignore[attr-defined]
        if row is None:
            return None
        request.api_token = row  # type: ignore[attr-defined]
        actor = Actor(row.name, row.role, "api", address)
        place = dict(request.resolver_match.kwargs) if request.resolver_match else {}
        judge(actor, self.role, self._doing, place, Cluster.objects.filter(pk=place.get("cluster_id", "")).first)
        return actor
