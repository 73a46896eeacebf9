"""Tokens by REST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.models import ApiToken, AuditEntry, KeptAnswer
from tests.console.test_api import ask, assert_problem

pytestmark = pytest.mark.spec("O1")
ALL = "/api/v1/tokens"


def read(headers: dict[str, str]) -> list[dict[str, Any]]:
    return list(json.loads(ask(headers, "GET", ALL).content)["items"])


def test_an_admin_makes_sees_and_revokes_all(tokens: dict[str, dict[str, str]]) -> None:
    made = json.loads(ask(tokens["admin"], "POST", ALL, {"name": "ci", "role": "operator", "days": 2}).content)
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    assert made["token"]["name"] in {row["name"] for row in read(tokens["admin"])}
    assert json.loads(ask(bearer, "GET", "/api/v1/whoami").content) == {"name": "ci", "role": "operator"}
    assert made["secret"] not in json.dumps(list(AuditEntry.objects.values("before", "after")))
    assert ask(tokens["admin"], "DELETE", f"{ALL}/{made['token']['id']}").status_code == 204
    assert_problem(ask(bearer, "GET", "/api/v1/whoami"), 401)
    assert [row.action for row in AuditEntry.objects.filter(outcome="done").order_by("id")] == ["create token", "revoke token"]


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_see_and_revoke_their_own_alone(tokens: dict[str, dict[str, str]], role: str) -> None:
    (own,) = read(tokens[role])
    assert (own["role"], own["is_own"]) == (role, True)
    others = ApiToken.objects.exclude(pk=own["id"])
    assert_problem(ask(tokens[role], "DELETE", f"{ALL}/{others[0].pk}"), 404)
    assert_problem(ask(tokens[role], "POST", ALL, {"name": "more", "role": role}), 403)
    assert ask(tokens[role], "DELETE", f"{ALL}/{own['id']}").status_code == 204
    assert_problem(ask(tokens[role], "GET", ALL), 401)
    assert others.filter(revoked_at=None).count() == others.count()


def test_what_cannot_be_a_token_is_told_at_its_field(tokens: dict[str, dict[str, str]]) -> None:
    taken = ask(tokens["admin"], "POST", ALL, {"name": "shell", "role": "viewer"})
    assert assert_problem(taken, 422)["field"] == "name"
    assert assert_problem(ask(tokens["admin"], "POST", ALL, {"name": "x", "role": "viewer", "days": 9999}), 422)["field"] == "days"


def test_a_secret_is_kept_nowhere(tokens: dict[str, dict[str, str]]) -> None:
    keyed = {**tokens["admin"], "Idempotency-Key": "k1"}
    assert assert_problem(ask(keyed, "POST", ALL, {"name": "ci", "role": "viewer"}), 422)["field"] == "Idempotency-Key"
    assert not KeptAnswer.objects.exists()
    assert not ApiToken.objects.filter(name="ci").exists()
