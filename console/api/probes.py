"""For machines that watch: `/healthz`, which tells a stranger nothing but yes or no."""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from console.actions.tokens import recognize
from console.address import address_of
from console.clock import now_ms
from console.snapshot.freshness import LIVE_OLD_MS
from console.snapshot.read import SnapshotUnavailable, beats


def healthz(request: HttpRequest) -> JsonResponse:
    """200 and `{"ok": true}` while pages can be served, 503 without the database. Whoever may look is also told what the pages can
    show: `redis`, `live`, `collector` (the process that asks other clusters), `history` (the one that records)."""
    ok = _database()
    state = _state() if ok and may_look(request) else {}
    return JsonResponse({"ok": ok, **state}, status=200 if ok else 503)


def may_look(request: HttpRequest) -> bool:
    """A signed-in person, or a token: every role may look."""
    return request.user.is_authenticated or recognize(token_of(request), address_of(request))[0] is not None


def token_of(request: HttpRequest) -> str:
    """Empty without one."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind == "Bearer" else ""


def _state() -> dict[str, Any]:
    state: dict[str, Any] = {"database": True, "redis": True}
    try:
        known = beats()
    except SnapshotUnavailable:
        state["redis"], known = False, dict.fromkeys(("live", "collector", "history"))
    for name, at_ms in known.items():
        age_ms = None if at_ms is None else max(now_ms() - at_ms, 0)
        state |= {f"{name}_age_ms": age_ms, name: age_ms is not None and age_ms < LIVE_OLD_MS}
    return state


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True
    except DatabaseError:
        return False
