"""API tokens: make, revoke, recognize."""

from __future__ import annotations

import re
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from console.actions.audit import audited
from console.actions.sign_in import note_failure
from console.errors import Conflict, Invalid
from console.models import ApiToken
from console.roles import ADMIN, ROLES, VIEWER, Actor

NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_ .@:-]{0,98}[A-Za-z0-9_.@:-])?")
"""No letters that look like others, no spaces at the ends: the audit tells who did something by this name."""
OURS = ("shell", "beat")
"""What the audit calls the command line and the clock."""
TOKENS_LIMIT = 200


def create_token(actor: Actor, name: str, role: str, days: int = ApiToken.DAYS) -> tuple[ApiToken, str]:
    """The row and the token, which nobody can read again; it ends by itself after so many days."""
    with audited(actor, ADMIN, "create token", name, cluster=None, after={"role": role, "days": days}):
        if not NAME.fullmatch(name):
            raise Invalid("name", "A token's name has 1 to 100 letters from a to z, digits, spaces or . @ : - _")
        if name.lower() in OURS or User.objects.filter(username__iexact=name).exists():
            raise Invalid("name", f"{name} is somebody's name already: the audit could not tell the token from them.")
        if role not in ROLES:
            raise Invalid("role", f"A role is one of {', '.join(ROLES)}.")
        if not 1 <= days <= ApiToken.DAYS_MAX:
            raise Invalid("days", f"A token lasts 1 to {ApiToken.DAYS_MAX} days.")
        if ApiToken.live().count() >= TOKENS_LIMIT:
            raise Conflict(f"There are {TOKENS_LIMIT} tokens: revoke one first.")
        return ApiToken.issue(name, role, actor.name, timedelta(days=days))


def revoke_token(actor: Actor, token: ApiToken, *, is_own: bool = False) -> None:
    """`is_own`: whoever asks does so by this very token, which needs no role."""
    with audited(
        actor,
        VIEWER if is_own else ADMIN,
        "revoke token",
        token.name,
        cluster=None,
        before={"role": token.role, "state": token.state},
        after={"state": "revoked"},
    ):
        ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


def recognize(text: str, address: str) -> tuple[ApiToken | None, str]:
    """The live token, or None and what is told to whoever holds one that has ended; that it was tried is kept in the audit."""
    row = ApiToken.find(text)
    if row is not None:
        return row, ""
    ended = ApiToken.objects.filter(digest=ApiToken.digest_of(text)).first()
    if ended is None:
        return None, ""
    note_failure(Actor(ended.name, ended.role, "api", address), "use token", ended.name, f"the token is {ended.state}")
    return None, f"This token ({ended.name}) is {ended.state}."
