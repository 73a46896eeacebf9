"""API tokens: make, revoke."""

from __future__ import annotations

import re

from django.utils import timezone

from console.actions.audit import Conflict, Invalid, audited
from console.models import ApiToken
from console.roles import ADMIN, ROLES, Actor

NAME = re.compile(r"[\w .@:-]{1,100}")
TOKENS_LIMIT = 200


def create_token(actor: Actor, name: str, role: str) -> tuple[ApiToken, str]:
    """The row and the token, which nobody can read again."""
    with audited(actor, ADMIN, "create token", name, after={"role": role}):
        if not NAME.fullmatch(name):
            raise Invalid("name", "A token's name has 1 to 100 letters, digits, spaces or . @ : - _")
        if role not in ROLES:
            raise Invalid("role", f"A role is one of {', '.join(ROLES)}.")
        if ApiToken.objects.filter(revoked_at=None).count() >= TOKENS_LIMIT:
            raise Conflict(f"There are {TOKENS_LIMIT} tokens: revoke one first.")
        return ApiToken.issue(name, role, actor.name)


def revoke_token(actor: Actor, token: ApiToken) -> None:
    with audited(actor, ADMIN, "revoke token", token.name):
        ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
