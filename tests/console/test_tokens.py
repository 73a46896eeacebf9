"""API tokens: what they may be called, how long they last, what happens to one that has ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from console.models import ApiToken, AuditEntry

TOPICS = "/api/v1/clusters/local/topics"


def ask(token: str, path: str = TOPICS) -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("name", ["admin", "ADMIN", "viewer", "shell", "Beat", "аdmin", "admin ", " ci", "a\nb", "ci\u200b", ""])
def test_a_token_cannot_be_taken_for_somebody_in_the_audit(people: dict[str, Client], redis: Any, name: str) -> None:
    """Nor by letters that look alike."""
    with pytest.raises(CommandError):
        call_command("token_create", name, "--role", "viewer")
    answer = people["admin"].post("/settings/tokens/new", {"name": name, "role": "viewer"})
    if name.strip() == name:
        assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "name")
    assert not ApiToken.objects.filter(name=name).exists()


@pytest.mark.parametrize(("given", "days"), [(None, 90), ("1", 1), ("366", 366)])
def test_a_token_lasts_a_while(people: dict[str, Client], redis: Any, given: str | None, days: int) -> None:
    more = {} if given is None else {"days": given}
    people["admin"].post("/settings/tokens/new", {"name": "ci", "role": "viewer", **more})
    row = ApiToken.objects.get()
    assert abs(row.expires_at - row.created_at - timedelta(days=days)) < timedelta(minutes=5)
    assert f"{row.expires_at:%Y-%m-%d %H:%M}" in people["admin"].get("/settings").content.decode()
    assert AuditEntry.objects.latest("id").after == {"role": "viewer", "days": days}


@pytest.mark.parametrize("given", ["0", "367", "-1", "abc", "", "1.5", "9" * 30])
def test_none_lasts_for_ever(people: dict[str, Client], redis: Any, given: str) -> None:
    answer = people["admin"].post("/settings/tokens/new", {"name": "ci", "role": "viewer", "days": given})
    assert (answer.status_code, answer.context["form_error"]["field"]) == (422, "days")
    assert not ApiToken.objects.exists()


def test_an_expired_token_opens_nothing_and_is_listed_so(people: dict[str, Client], redis: Any) -> None:
    row, token = ApiToken.issue("ci", "viewer", "admin")
    assert ask(token).status_code == 200
    ApiToken.objects.update(expires_at=timezone.now())
    answer = ask(token)
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith("This token (ci) is expired.")
    assert ask(token, "/metrics").status_code == 401
    assert ask(token, "/healthz").json() == {"ok": True}
    assert ApiToken.find(token) is None
    page = people["admin"].get("/settings").content.decode()
    assert '<span class="muted">expired</span>' in page
    assert f"/settings/tokens/{row.pk}/revoke" not in page


def test_that_an_ended_token_was_tried_is_kept_once(local: Any, redis: Any) -> None:
    _row, token = ApiToken.issue("ci", "operator", "admin")
    ApiToken.objects.update(revoked_at=timezone.now())
    for _ in range(5):
        assert ask(token).status_code == 401
    ask("hw_made_up")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.via, entry.action, entry.outcome, entry.address) == ("ci", "api", "use token", "failed", "127.0.0.1")
    assert entry.after == {"tries": 5} and entry.error.endswith("the token is revoked")


def test_ended_tokens_leave_room_for_others(people: dict[str, Client], redis: Any) -> None:
    ended = {"role": "viewer", "expires_at": timezone.now()}
    ApiToken.objects.bulk_create([ApiToken(name="old", digest=str(n), **ended) for n in range(200)])
    assert people["admin"].post("/settings/tokens/new", {"name": "ci", "role": "viewer"}).status_code == 200
