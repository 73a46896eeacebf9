"""API tokens: an admin's token sees, makes and revokes all of them; any other sees and revokes itself."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from django.http import HttpResponse
from msgspec import Meta, Struct
from ninja import Router, Status
from pydantic import Field

from console.actions.tokens import create_token, revoke_token
from console.api.answers import Listed
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.once import HEADER
from console.api.shapes import Limit, Strict, listed, number_cursor
from console.errors import Invalid
from console.live.browser.consumer import end_sockets, token_group
from console.models import ApiToken
from console.queries import NotFound
from console.roles import ADMIN

router = Router(tags=["tokens"])


class Token(Struct):
    """Without what it is asked with, which nobody can read again."""

    id: int
    name: str
    role: str
    state: Literal["live", "revoked", "expired"]
    created_by: str
    created_at: datetime
    expires_at: datetime
    last_used_at: Annotated[datetime | None, Meta(description="to the minute; null: never")]
    is_own: Annotated[bool, Meta(description="the one that this is asked with")]


class MadeToken(Struct):
    token: Token
    secret: Annotated[str, Meta(description="for `Authorization: Bearer`; told this once")]


class NewToken(Strict):
    model_config = Strict.model_config | {"json_schema_extra": {"examples": [{"name": "ci", "role": "operator", "days": 30}]}}

    name: Annotated[str, Field(min_length=1, max_length=100)]
    role: Literal["viewer", "operator", "admin"]
    days: Annotated[int, Field(strict=True, ge=1, le=ApiToken.DAYS_MAX, description="until it ends by itself")] = ApiToken.DAYS


def _told(row: ApiToken, request: Any) -> Token:
    known = (row.created_by, row.created_at, row.expires_at, row.last_used_at)
    return Token(row.pk, row.name, row.role, row.state, *known, is_own=row.pk == request.api_token.pk)  # type: ignore[arg-type]  # one of three


def _seen_by(request: Any) -> QuerySet[ApiToken]:
    rows = ApiToken.objects.order_by("-id")
    return rows if request.auth.may(ADMIN) else rows.filter(pk=request.api_token.pk)


@router.get("/tokens")
@answers(Listed[Token])
def tokens(request: Any, limit: Limit = 100, cursor: str | None = None) -> Listed[Token]:
    """The newest first, revoked and expired ones too. Who is no admin sees the one that this is asked with."""
    before, rows = number_cursor(cursor), _seen_by(request)
    found = (rows if before is None else rows.filter(pk__lt=before))[: limit + 1]
    return listed([_told(row, request) for row in found], limit, lambda row: str(row.id))


@router.post("/tokens", auth=Bearer(ADMIN, "create token"), response={201: Any})
@answers(s201=MadeToken)
def make(request: Any, payload: NewToken) -> Status[Any]:
    """The secret is told in this answer and kept nowhere, which is why no `Idempotency-Key` is taken here."""
    if request.headers.get(HEADER) is not None:
        raise Invalid(HEADER, "A token is told once and kept nowhere, so that it could not be answered again: ask without a key.")
    row, secret = create_token(request.auth, payload.name.strip(), payload.role, payload.days)
    return Status(201, MadeToken(_told(row, request), secret))


@router.delete("/tokens/{int:token_id}", response={204: None})
@answers(s204=None)
def revoke(request: Any, token_id: int) -> HttpResponse:
    """Whatever holds it is turned away at once, and its live connections end. Who is no admin may revoke only the one asked with."""
    row = _seen_by(request).filter(pk=token_id).first()
    if row is None:
        raise NotFound(f"There is no token {token_id} that you may see.")
    revoke_token(request.auth, row, is_own=row.pk == request.api_token.pk)
    end_sockets(token_group(row.pk))
    return HttpResponse(status=204)
