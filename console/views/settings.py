"""Settings: the cluster's addresses and API tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings
from django.http import HttpResponse
from django.urls import reverse

from console.actions.schema_registry import registry_row
from console.actions.tokens import create_token, revoke_token
from console.live.browser.consumer import end_sockets, token_group
from console.models import ApiToken, MaskRule
from console.queries import NotFound
from console.roles import ADMIN, ROLES, actor_of
from console.templatetags.times import ago
from console.views.support import KNOWN, ask_first, done, is_confirmed, page, refused, required_number, show


def _context(request: Any) -> dict[str, Any]:
    actor = actor_of(request)
    tokens = ApiToken.objects.order_by("-id")[:200] if actor.may(ADMIN) else []
    where = {
        "bootstrap_servers": request.cluster.bootstrap_servers,
        "zookeeper": request.cluster.zookeeper,
        "data_folder": str(django_settings.DATA_DIR),
    }
    rules = MaskRule.objects.filter(cluster=request.cluster).count() if actor.may(ADMIN) else 0
    registry = registry_row(request.cluster) if actor.may(ADMIN) else None
    days = {"days": ApiToken.DAYS, "days_max": ApiToken.DAYS_MAX}
    of_records = {"mask_rules": rules, "registry_url": registry.url if registry else ""}
    return {**of_records, "tokens": tokens, "roles": ROLES, "addresses": where, **days}


@page()
def settings(request: Any) -> HttpResponse:
    return show(request, "settings", _context(request))


@page("POST", role=ADMIN, doing="create token", of_console=True)
def token_create(request: Any) -> HttpResponse:
    """The answer shows the token; it cannot be shown again."""
    try:
        days = required_number(request, "days") if "days" in request.POST else ApiToken.DAYS
        row, token = create_token(actor_of(request), request.POST.get("name", "").strip(), request.POST.get("role", ""), days)
    except KNOWN as error:
        return refused(request, "settings", _context(request), error, "new-token")
    return show(request, "settings", {**_context(request), "new_token": token, "new_token_name": row.name})


@page("POST", role=ADMIN, doing="revoke token", of_console=True)
def token_revoke(request: Any, token_id: int) -> HttpResponse:
    """Its live sockets end too."""
    found = ApiToken.objects.filter(pk=token_id).first()
    if found is None:
        raise NotFound(f"There is no token {token_id}.")
    if not is_confirmed(request):
        used = f"It was last used {ago(found.last_used_at)}." if found.last_used_at else "It was never used."
        risk = f"Whatever holds it is turned away at once, and its live connections end. {used} It cannot be brought back."
        return ask_first(request, f"Revoke the token {found.name}?", [risk], button="Revoke", back=reverse("settings"))
    revoke_token(actor_of(request), found)
    end_sockets(token_group(found.pk))
    return done(request, reverse("settings"), f"Token {found.name} is revoked.")
