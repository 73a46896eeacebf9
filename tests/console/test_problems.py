"""Errors of REST: one shape, a code that stays, a sentence that says what to do; Kafka's errors are told by one table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from broker_core.errors import RETRIABLE, ErrorCode
from console.api.described import PROBLEMS
from console.explained import Problem
from console.gateway.errors import ClusterUnreachable, GatewayError, Unfinished, from_code
from console.gateway.refusals import kind_of, sentence
from console.rules import problems
from console.rules.problems import KINDS
from console.snapshot import keys
from tests.support.openapi import document

BASE = "/api/v1/clusters/local"
JOBS = "/api/v1/jobs"
NO_NUMBER = "Input should be a valid integer, unable to parse string as an integer"
WRONG = [
    {"field": "name", "detail": "Input should be a valid string"},
    {"field": "partitions", "detail": "Input should be a valid integer"},
]
NO_LIMIT = [{"field": "limit", "detail": NO_NUMBER}]


def fail(error: Exception) -> Callable[..., Any]:
    def raising(*_: Any, **__: Any) -> None:
        raise error

    return raising


def ask(headers: dict[str, str], method: str, path: str, body: str = "") -> Any:
    browser = Client()
    browser.raise_request_exception = False
    return browser.generic(method, path, body, content_type="application/json", headers=headers)


def check(answer: Any, code: str) -> dict[str, Any]:
    kind, found = KINDS[code], json.loads(answer.content)
    assert (answer.status_code, answer.headers["Content-Type"]) == (kind.status, "application/problem+json")
    assert [found[name] for name in ("code", "status", "title", "type")] == [code, kind.status, kind.title, f"/api/v1/problems#{code}"]
    assert found["detail"].endswith((".", "ROLE")) or "field" in found
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("who", "method", "path", "body", "code"),
    [
        (None, "GET", BASE, "", "unauthenticated"),
        ("viewer", "DELETE", f"{BASE}/topics/orders", "", "forbidden"),
        ("viewer", "GET", f"{BASE}/topics/none", "", "not-found"),
        ("viewer", "GET", "/api/v1/nowhere", "", "not-found"),
        ("viewer", "PUT", f"{BASE}/topics", "", "method-not-allowed"),
        ("viewer", "GET", f"{BASE}/topics?limit=x", "", "bad-query"),
        ("viewer", "GET", f"{BASE}/topics?x=1", "", "bad-query"),
        ("viewer", "GET", f"{BASE}/topics?cursor=%25", "", "bad-query"),
        ("admin", "POST", JOBS, "{", "bad-request"),
        ("admin", "POST", JOBS, '{"kind": "nonsense"}', "invalid"),
        ("admin", "POST", JOBS, "x" * 1_100_000, "too-large"),
        ("admin", "POST", f"{BASE}/topics", '{"name": "a b"}', "invalid"),
        ("admin", "PATCH", f"{BASE}/topics/orders", '{"configs": {"min.insync.replicas": "5"}}', "unconfirmed"),
    ],
)
def test_every_error_is_a_problem(
    shown: Any, kafka: Any, tokens: dict[str, dict[str, str]], who: str | None, method: str, path: str, body: str, code: str
) -> None:
    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    answer = ask(tokens[who] if who else {}, method, path, body)
    check(answer, code)
    assert ("Allow" in answer.headers) is (code == "method-not-allowed")


NAMES = ("topics/none", "topics/none/partitions", "groups/none", "brokers/9")


@pytest.mark.parametrize("path", NAMES)
def test_nothing_is_said_to_be_missing_while_nobody_tells(shown: Any, redis: Any, tokens: dict[str, dict[str, str]], path: str) -> None:
    """The snapshot is empty, or is being written anew."""
    check(ask(tokens["viewer"], "GET", f"{BASE}/{path}"), "not-found")
    redis.delete(keys.named("local", "beat"))
    check(ask(tokens["viewer"], "GET", f"{BASE}/{path}"), "not-known")


PAGES = ("topics", "topics?troubled=1", "groups", "brokers", "heat-map", "heat-map?from=none", "topology", "topology?focus=topic:none")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_says_that_there_is_nothing_while_nobody_tells(redis: Any, people: dict[str, Client], path: str) -> None:
    shown = people["viewer"].get(f"/{path}").content.decode().partition("<main")[2].partition("</main>")[0]
    assert "not known now" in shown or "Nothing is known of this cluster yet" in shown
    for denial in ("There is no ", "No topics yet", "No topic is so", "is in trouble", "No consumer groups yet", "has been seen yet"):
        assert denial not in shown, denial


def test_a_group_may_be_known_to_a_broker_that_is_silent(shown: Any, redis: Any, tokens: dict[str, dict[str, str]]) -> None:
    redis.set(keys.named("local", "due"), 1)
    check(ask(tokens["viewer"], "GET", f"{BASE}/groups/none"), "not-known")
    check(ask(tokens["viewer"], "GET", f"{BASE}/topics/none"), "not-found")


@pytest.mark.parametrize(
    ("method", "path", "body", "found"),
    [
        ("POST", JOBS, "{", Problem(problems.BAD_REQUEST, f"Cannot parse request body. {problems.BAD_REQUEST.advice}")),
        ("GET", "/api/v1/nowhere", "", Problem(problems.NOT_FOUND, f"GET /api/v1/nowhere: Not Found. {problems.NOT_FOUND.advice}")),
        ("PUT", JOBS, "", Problem(problems.METHOD_NOT_ALLOWED, f"PUT {JOBS}: this address takes GET, POST.")),
        (
            "POST",
            f"{BASE}/topics",
            '{"name": 1, "partitions": "x"}',
            Problem(problems.INVALID, "name: Input should be a valid string", "name", errors=WRONG),
        ),
        ("GET", f"{BASE}/topics?limit=x", "", Problem(problems.BAD_QUERY, f"limit: {NO_NUMBER}", "limit", errors=NO_LIMIT)),
    ],
)
def test_what_the_framework_refuses_is_told_in_the_same_way(
    shown: Any, tokens: dict[str, dict[str, str]], method: str, path: str, body: str, found: Problem
) -> None:
    """Words, field and all wrong fields, as `explain` has them."""
    told = check(ask(tokens["admin"], method, path, body), found.kind.code)
    assert (told["detail"], told.get("field"), told.get("errors")) == (found.detail, found.field, found.errors)


@pytest.mark.parametrize(
    ("error", "code"), [(ZeroDivisionError("secret"), "internal-error"), (OperationalError("secret"), "database-away")]
)
def test_errors_of_ours_keep_their_details(
    shown: Any, tokens: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    monkeypatch.setattr("console.queries.cluster_of", fail(error))
    found = check(ask(tokens["viewer"], "GET", BASE), code)
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize(
    ("kafka_code", "code"),
    [
        (ErrorCode.TOPIC_ALREADY_EXISTS, "topic-exists"),
        (ErrorCode.INVALID_CONFIG, "invalid-config"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "cluster-forbids"),
        (ErrorCode.THROTTLING_QUOTA_EXCEEDED, "cluster-throttles"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "cluster-failed"),
        (ErrorCode.NOT_CONTROLLER, "cluster-busy"),
        (ErrorCode.INVALID_VOTER_KEY, "cluster-refused"),
    ],
)
def test_what_the_cluster_answered_is_told_with_its_code(
    shown: Any, kafka: Any, tokens: dict[str, dict[str, str]], kafka_code: ErrorCode, code: str
) -> None:
    kafka.refuse = (int(kafka_code), "the cluster's words")
    found = check(ask(tokens["admin"], "POST", f"{BASE}/topics", '{"name": "x"}'), code)
    assert (found["kafka_code"], found["kafka_name"]) == (int(kafka_code), kafka_code.name)


def test_an_address_that_is_none_of_the_clusters_is_told_as_unreachable() -> None:
    error = ClusterUnreachable("no broker at 127.0.0.1:1 answered in time (KafkaTimeoutError)")
    assert kind_of(error) is problems.UNREACHABLE
    assert sentence(error).startswith("No broker at 127.0.0.1:1 answered in time (KafkaTimeoutError). Ask again")
    assert sentence(Unfinished("the cluster")).startswith(
        "The cluster did not finish in time; what was asked may still be carried out. Look"
    )


@pytest.mark.parametrize("code", [code for code in ErrorCode if code is not ErrorCode.NONE], ids=lambda code: code.name)
def test_every_error_of_kafka_has_a_kind_and_a_sentence(code: ErrorCode) -> None:
    """What may be asked again later is never told as something wrong with the request, nor the reverse of a refusal."""
    error = from_code(code, "said so")
    kind = kind_of(error)
    assert kind is KINDS[kind.code]
    assert f"{code.name} ({int(code)}): said so" in sentence(error) or isinstance(error, Unfinished)
    if kind in (problems.CLUSTER_BUSY, problems.CLUSTER_REFUSED):
        assert (kind is problems.CLUSTER_BUSY) is (code in RETRIABLE)


def test_a_code_from_a_newer_cluster_is_told_as_it_is() -> None:
    assert sentence(from_code(1234, None)) == "The cluster answered UNKNOWN_ERROR (1234)."
    assert kind_of(from_code(1234, None)) is problems.CLUSTER_REFUSED
    assert kind_of(GatewayError("NOT_A_CODE", "words")) is problems.CLUSTER_REFUSED


def test_the_kinds_are_listed_and_described(shown: Any, tokens: dict[str, dict[str, str]]) -> None:
    listed = json.loads(ask(tokens["viewer"], "GET", "/api/v1/problems").content)["items"]
    assert {item["code"]: item for item in listed} == {code: kind._asdict() for code, kind in KINDS.items()}
    assert {kind.status for kind in KINDS.values()} - PROBLEMS.keys() == {405}, "which no described route answers"
    assert document()["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == list(KINDS)


def test_scrapers_without_a_token_are_told_so(client: Client, db: None) -> None:
    answer = client.get("/metrics")
    check(answer, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
