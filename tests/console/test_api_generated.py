"""REST asked, of a pretended cluster, whatever its description allows: nothing is an error of ours, and no answer is undescribed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, given, settings

from tests.support.openapi import check_answer, document
from tests.support.wanted_world import put_in_place

schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document())))
OPERATIONS = [found.ok() for found in schema.get_all_operations()]


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from console.gateway import local as processes

    put_in_place(monkeypatch)
    for action in processes.ACTIONS:
        monkeypatch.setitem(processes.ACTIONS, action, lambda _data, _broker: None)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_whatever_is_asked(operation: Any, tokens: dict[str, dict[str, str]]) -> None:
    @settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        asked = case.as_transport_kwargs(base_url="http://testserver")
        body = asked.get("json")
        path = asked["url"].removeprefix("http://testserver")
        query = asked.get("params") or {}
        text = "" if body is None else json.dumps(body)
        headers = {**{k: v for k, v in (case.headers or {}).items() if k in ("Idempotency-Key", "Last-Event-ID")}, **tokens["admin"]}
        answer = Client(raise_request_exception=False).generic(
            asked["method"], path, text, content_type="application/json", headers=headers, query_params=query
        )
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        assert answer.status_code < 500 or answer.status_code == 503, (path, body, answer.content[:300])
        if kind == "text/event-stream":
            answer.close()  # it has no end: `live/test_stream.py` reads it
            check_answer(asked["method"], path, answer.status_code, kind, "")
            return
        found = json.loads(answer.content) if "json" in kind and answer.content else answer.content
        check_answer(asked["method"], path, answer.status_code, kind, found)

    ask()
