"""REST of the running system asked whatever its description allows: no error of ours, and nothing that is not described."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.console_system import ConsoleSystem
from tests.support.openapi import check_answer, document
from tests.support.rest import Rest
from tests.support.sse import heard
from tests.system.conftest import make_token

EXAMPLES = 25
JSON = ("application/json", "application/problem+json")
KNOWN = {"cluster_id": "local", "name": "__cluster_samples", "partition": 0, "broker_id": 1}
"""What is there: without it most that is asked for is not found."""
MAKES = ("/topics", "/records", "/mask-rules", "/clusters", "/{cluster_id}", "/clusters/test", "/jobs", "/{action}", "/wanted", "/mend")
MAKES += ("/tokens", "/tokens/{token_id}", "/broker-defaults", "/brokers/{broker_id}/settings")
"""Writes that would make something, change the registration, end a token or stop a broker under the other tests; all others go to names
that nobody has."""
schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document())))
OPERATIONS = [found.ok() for found in schema.get_all_operations()]
ASKED = [one for one in OPERATIONS if one.method.upper() == "GET" or not one.path.endswith(MAKES)]


@pytest.fixture(scope="module")
def headers(system: ConsoleSystem, rest: Rest) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(system, 'generated', 'admin')}", "Content-Type": "application/json"}


def begun(answer: http.client.HTTPResponse, connection: http.client.HTTPConnection) -> bytes:
    """Of an answer that has no end: hangs up after its first event."""
    kind, _, _ = next(heard(answer))
    answer.close()
    connection.close()
    return kind.encode()


@pytest.mark.parametrize("operation", ASKED, ids=lambda one: one.label)
def test_whatever_is_asked(operation: Any, system: ConsoleSystem, headers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", system.layout.console_port, timeout=60)
    method = operation.method.upper()
    known = KNOWN if method == "GET" else {"cluster_id": "local"}

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), meant=st.sets(st.sampled_from(sorted(known))))
    def ask(case: Any, meant: set[str]) -> None:
        case.path_parameters.update({name: known[name] for name in meant if name in case.path_parameters})
        asked = case.as_transport_kwargs(base_url="http://x")
        path = requests.Request(method, asked["url"], params=asked.get("params")).prepare().path_url
        connection.request(method, path, json.dumps(asked["json"]) if "json" in asked else None, headers)
        answer = connection.getresponse()
        kind = (answer.headers["Content-Type"] or "").partition(";")[0]
        body = begun(answer, connection) if kind == "text/event-stream" else answer.read()
        assert answer.status < 500 or answer.status == 503, (method, path, asked.get("json"), body[:300])
        check_answer(method, path, answer.status, kind, json.loads(body) if kind in JSON and body else body.decode(errors="replace"))

    try:
        ask()
    finally:
        connection.close()
