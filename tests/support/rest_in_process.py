"""The commands' questions, answered by the console within the test's own process."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from cli.errors import Problem
from cli.rest import Rest


def answer_here(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]) -> None:
    """`headers` are of the one who asks."""

    def ask(_self: Rest, method: str, path: str, query: dict[str, Any], body: Any = None, more: Any = None) -> Any:
        asked = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        where = f"/api/v1{path}" + (f"?{asked}" if asked else "")
        said = "" if body is None else json.dumps(body)
        answer = Client().generic(method, where, said, content_type="application/json", headers=headers)
        found = json.loads(answer.content) if answer.content else None
        if answer.status_code >= 300:
            raise Problem(found)
        return found

    monkeypatch.setattr(Rest, "_ask", ask)
    monkeypatch.setenv("HIGHWATER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HIGHWATER_TOKEN", "taken")
