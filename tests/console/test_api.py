"""REST: every route, who may, shapes, errors, cursors."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from django.test import Client

from console.live.merging.state import ClusterState
from console.models import AuditEntry, Event, Job, WantedState
from console.rules.problems import KINDS
from console.snapshot import keys
from tests.support.console_fixtures import publish
from tests.support.console_world import BROKERS
from tests.support.feed_rows import batch, claim
from tests.support.openapi import check_answer, document

pytestmark = pytest.mark.spec("O1")

BASE = "/api/v1/clusters/local"
READS = (
    "/api/v1/problems",
    "/api/v1/clusters",
    BASE,
    f"{BASE}/brokers",
    f"{BASE}/brokers/1",
    f"{BASE}/topics",
    f"{BASE}/topics/orders",
    f"{BASE}/topics/orders/partitions",
    f"{BASE}/groups",
    f"{BASE}/groups/billing",
    f"{BASE}/groups/billing/offsets",
    f"{BASE}/events",
    f"{BASE}/reports",
    "/api/v1/jobs",
)
WRITES: dict[tuple[str, str], tuple[Any, str, int]] = {
    ("POST", f"{BASE}/topics"): ({"name": "new", "partitions": 3}, "operator", 201),
    ("PATCH", f"{BASE}/topics/orders"): ({"configs": {"retention.ms": None}}, "operator", 200),
    ("PATCH", f"{BASE}/topics/orders/settings"): ({"configs": {"min.insync.replicas": "1"}}, "operator", 200),
    ("PATCH", f"{BASE}/brokers/1/settings"): ({"configs": {"num.replica.fetchers": "2"}}, "admin", 200),
    ("PATCH", f"{BASE}/broker-defaults"): ({"configs": {"num.replica.fetchers": "2"}}, "admin", 200),
    ("DELETE", f"{BASE}/topics/orders"): (None, "admin", 204),
    ("POST", f"{BASE}/topics/orders/partitions"): ({"count": 6}, "operator", 200),
    ("POST", f"{BASE}/topics/orders/partitions/0/delete-records"): ({"before": 5, "confirm": True}, "admin", 200),
    ("POST", f"{BASE}/topics/orders/delete-records"): ({"before": 5, "confirm": True}, "admin", 200),
    ("POST", f"{BASE}/groups/billing/offsets"): ({"topic": "orders", "to": "latest"}, "operator", 200),
    ("DELETE", f"{BASE}/groups/billing"): (None, "admin", 204),
    ("POST", f"{BASE}/brokers/1/pause"): (None, "admin", 200),
    ("POST", "/api/v1/clusters"): ({"id": "south", "name": "South", "bootstrap_servers": "127.0.0.1:1"}, "admin", 201),
    ("POST", "/api/v1/clusters/test"): ({"bootstrap_servers": "127.0.0.1:1"}, "admin", 200),
    ("POST", f"{BASE}/mask-rules"): ({"topics": "orders", "part": "key", "below": "admin"}, "admin", 201),
    ("POST", f"{BASE}/schedules"): ({"name": "At night", "kind": "preferred_leader_election", "cron": "0 2 * * *"}, "operator", 201),
    ("POST", f"{BASE}/alert-silences"): ({"minutes": 60, "why": "a new disk"}, "operator", 201),
    ("PUT", f"{BASE}/election-after-return"): ({"is_on": True}, "operator", 200),
    ("POST", f"{BASE}/wanted/mend"): ({"object": "topic/orders"}, "operator", 200),
    ("PUT", f"{BASE}/wanted"): ({"files": {"a.yaml": "topics: {orders: {}}"}}, "operator", 200),
    ("DELETE", f"{BASE}/wanted"): (None, "operator", 204),
    ("POST", "/api/v1/tokens"): ({"name": "ci", "role": "viewer"}, "admin", 201),
    ("POST", "/api/v1/jobs"): ({"kind": "preferred_leader_election", "topics": ["orders"]}, "operator", 202),
}
KEPT = ("events", "reports")
"""What the database has, which says no age."""
RANK = {"viewer": 0, "operator": 1, "admin": 2}


@pytest.fixture(autouse=True)
def stage(local: Any, shown: Any, kafka: Any, sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from console.gateway import local

    kafka.topics_ = {"orders": {p: [1, 2, 3] for p in range(3)}}
    WantedState.objects.create(cluster_id="local", files={"a.yaml": "topics: {orders: {}}"}, uploaded_by="test")
    monkeypatch.setitem(local.ACTIONS, "pause", lambda _data, _broker: None)


def ask(headers: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    answer = Client().generic(method, path, text, content_type="application/json", headers=headers)
    body = json.loads(answer.content) if "json" in answer.headers.get("Content-Type", "") else answer.content
    check_answer(method, path, answer.status_code, answer.headers.get("Content-Type", "").partition(";")[0], body)
    return answer


def assert_problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    found = json.loads(answer.content)
    kind = KINDS[found["code"]]
    assert (found["status"], found["title"], found["type"]) == (status, kind.title, f"/api/v1/problems#{kind.code}")
    assert found["detail"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", READS)
def test_every_role_reads(tokens: dict[str, dict[str, str]], path: str) -> None:
    for headers in tokens.values():
        answer = ask(headers, "GET", path)
        assert answer.status_code == 200, path
        found = json.loads(answer.content)
        if not path.endswith(("local", "/1", "/orders", "/billing")):
            rests_on = {"as_of"} if path.startswith(BASE) and not path.endswith(KEPT) else set()
            assert found.keys() == {"items", "next"} | rests_on


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
def test_nobody_reads_without_a_token(path: str, headers: dict[str, str]) -> None:
    answer = ask(headers, "GET", path)
    assert_problem(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("route", WRITES)
@pytest.mark.parametrize("role", RANK)
def test_a_change_needs_its_role(tokens: dict[str, dict[str, str]], route: tuple[str, str], role: str) -> None:
    body, needed, status = WRITES[route]
    answer = ask(tokens[role], *route, body)
    entry = AuditEntry.objects.latest("id")
    assert (entry.actor, entry.via) == (role, "api")
    if RANK[role] < RANK[needed]:
        assert_problem(answer, 403)
        assert entry.outcome == "refused"
    else:
        assert answer.status_code == status, answer.content
        assert entry.outcome == "done"


@pytest.mark.parametrize("route", WRITES)
def test_no_change_without_a_token(route: tuple[str, str]) -> None:
    assert_problem(ask({}, *route, WRITES[route][0]), 401)
    assert not AuditEntry.objects.exists()


def test_a_partition_has_designs_shape(tokens: dict[str, dict[str, str]]) -> None:
    row = json.loads(ask(tokens["viewer"], "GET", f"{BASE}/topics/orders/partitions").content)["items"][0]
    wanted = {"partition", "leader", "leader_epoch", "isr", "high_watermark", "log_end_offset", "replicas"}
    assert wanted <= row.keys()
    assert row["replicas"][0].keys() >= {"broker_id", "in_isr", "log_end_offset", "high_watermark", "age_ms"}
    assert (row["leader"], row["high_watermark"], row["log_end_offset"]) == (1, 90, 100)


def test_a_dead_replica_is_told_with_its_age(shown: ClusterState, redis: Any, tokens: dict[str, dict[str, str]]) -> None:
    """The age is that of the reading: nobody writes the snapshot anew for it."""
    now = time.time_ns() // 1_000_000
    shown.feeds.heard_ms[2] = now - 60_000
    shown.set_brokers({b: BROKERS[b] for b in (1, 3)}, now - 50_000)
    shown.take(now - 50_000)
    publish(redis, shown, now)
    row = json.loads(ask(tokens["viewer"], "GET", f"{BASE}/topics/orders/partitions").content)["items"][0]
    replica = next(r for r in row["replicas"] if r["broker_id"] == 2)
    assert (replica["log_end_offset"], replica["high_watermark"], replica["last_seen_ms"]) == (100, 90, now - 60_000)
    assert 60_000 <= replica["age_ms"] < 120_000


def test_a_job_has_designs_shape_and_clashes(tokens: dict[str, dict[str, str]]) -> None:
    body = {"cluster": "local", "kind": "reassignment", "assignments": [{"topic": "orders", "partition": 0, "replicas": [3, 1, 2]}]}
    made = ask(tokens["operator"], "POST", "/api/v1/jobs", body)
    job = json.loads(made.content)
    assert made.status_code == 202
    assert job.keys() >= {"id", "kind", "state", "progress", "message", "result", "created_at", "started_at", "ended_at"}
    assert job["progress"] == {"done": 0, "total": 0, "unit": "partitions"}
    assert "job 1" in assert_problem(ask(tokens["operator"], "POST", "/api/v1/jobs", body), 409)["detail"].replace(str(job["id"]), "1")
    other = {**body, "assignments": [{"topic": "orders", "partition": 1, "replicas": [3, 1, 2]}]}
    assert ask(tokens["operator"], "POST", "/api/v1/jobs", other).status_code == 202
    assert json.loads(ask(tokens["viewer"], "GET", f"/api/v1/jobs/{job['id']}").content)["state"] == "queued"
    for how, paused in (("pause", True), ("resume", False)):
        assert_problem(ask(tokens["viewer"], "POST", f"/api/v1/jobs/{job['id']}/{how}"), 403)
        answer = ask(tokens["operator"], "POST", f"/api/v1/jobs/{job['id']}/{how}")
        assert (answer.status_code, json.loads(answer.content)["is_paused"]) == (202, paused)
    assert_problem(ask(tokens["viewer"], "DELETE", f"/api/v1/jobs/{job['id']}"), 403)
    cancelled = ask(tokens["operator"], "DELETE", f"/api/v1/jobs/{job['id']}")
    assert (cancelled.status_code, json.loads(cancelled.content)["state"]) == (202, "cancelling")
    Job.objects.filter(pk=job["id"]).update(state="cancelled")
    assert_problem(ask(tokens["operator"], "DELETE", f"/api/v1/jobs/{job['id']}"), 409)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/v1/jobs", {"kind": "nonsense"}, "kind"),
        ("/api/v1/jobs", {}, "kind"),
        (
            "/api/v1/jobs",
            {"kind": "reassignment", "assignments": [{"topic": "a", "partition": "0", "replicas": [1]}]},
            "assignments.0.partition",
        ),
        (
            "/api/v1/jobs",
            {"kind": "reassignment", "assignments": [{"topic": "a", "partition": 0, "replicas": [1, 1]}]},
            "assignments.0.replicas",
        ),
        ("/api/v1/jobs", {"kind": "reassignment"}, "assignments"),
        ("/api/v1/jobs", {"kind": "health_report", "topics": ["x"]}, "topics"),
        ("/api/v1/jobs", {"kind": "health_report", "typo": 1}, "typo"),
        (f"{BASE}/topics", {"name": "a b"}, "name"),
        (f"{BASE}/topics", {"name": "<script>alert(1)</script>"}, "name"),
        (f"{BASE}/topics", {"name": "x", "partitions": 0}, "partitions"),
        (f"{BASE}/topics", {"name": "x", "partitions": "3"}, "partitions"),
        (f"{BASE}/topics", {"name": "x", "configs": {"a": 3}}, "configs.a"),
        (f"{BASE}/topics/orders/partitions", {"count": 1e99}, "count"),
        (f"{BASE}/groups/billing/offsets", {"topic": "orders", "to": "yesterday"}, "to"),
    ],
)
def test_a_wrong_field_is_named(tokens: dict[str, dict[str, str]], path: str, body: Any, field: str) -> None:
    assert assert_problem(ask(tokens["admin"], "POST", path, body), 422)["field"].startswith(field)


@pytest.mark.parametrize("body", ["{", "[]", '"x"', "null", "\x00\xff", "{" * 2000])
def test_what_is_not_json_is_a_problem(tokens: dict[str, dict[str, str]], body: str) -> None:
    answer = ask(tokens["admin"], "POST", "/api/v1/jobs", body)
    assert answer.status_code in (400, 422)
    assert_problem(answer, answer.status_code)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/clusters/elsewhere", 404),
        ("GET", f"{BASE}/topics/nothing", 404),
        ("GET", f"{BASE}/topics/nothing/partitions", 404),
        ("GET", f"{BASE}/groups/nothing/offsets", 404),
        ("GET", f"{BASE}/brokers/9", 404),
        ("GET", "/api/v1/jobs/999", 404),
        ("GET", "/api/v1/nothing", 404),
        ("PUT", "/api/v1/jobs", 405),
        ("GET", f"{BASE}/topics?limit=0", 400),
        ("GET", f"{BASE}/topics?limit=501", 400),
        ("GET", f"{BASE}/topics?cursor=%25%25", 400),
        ("GET", f"{BASE}/events?cursor=bm90IGEgbnVtYmVy", 400),
        ("GET", f"{BASE}/events?kind=bogus", 400),
        ("GET", f"{BASE}/events?broker=two", 400),
        ("GET", "/api/v1/jobs?state=bogus", 400),
        ("GET", "/api/v1/jobs?cluster=elsewhere", 400),
        ("POST", f"{BASE}/brokers/1/explode", 422),
    ],
)
def test_errors_are_problems(tokens: dict[str, dict[str, str]], method: str, path: str, status: int) -> None:
    assert_problem(ask(tokens["admin"], method, path), status)


def test_the_brokers_words_are_passed_on(tokens: dict[str, dict[str, str]], kafka: Any) -> None:
    kafka.refuse = (36, "Topic 'orders' already exists.")
    found = assert_problem(ask(tokens["operator"], "POST", f"{BASE}/topics", {"name": "orders"}), 409)
    assert (found["code"], found["kafka_code"], found["kafka_name"]) == ("topic-exists", 36, "TOPIC_ALREADY_EXISTS")
    assert found["title"] == "There is a topic of this name"
    assert "The cluster answered TOPIC_ALREADY_EXISTS (36): Topic 'orders' already exists. Take another name" in found["detail"]
    kafka.refuse, kafka.away = None, True
    assert_problem(ask(tokens["operator"], "POST", f"{BASE}/topics", {"name": "x"}), 503)


def test_a_list_is_walked_by_its_cursor(tokens: dict[str, dict[str, str]], local: Any) -> None:
    Event.objects.bulk_create([Event(cluster=local, at_ms=n, kind="leader_moved", level="ok", sentence=str(n)) for n in range(25)])
    for path, key, wanted in (
        (f"{BASE}/events", "sentence", [str(n) for n in range(24, -1, -1)]),
        (f"{BASE}/topics/orders/partitions", "partition", [0, 1, 2]),
        (f"{BASE}/topics", "topic", ["clicks", "orders"]),
        (f"{BASE}/brokers", "broker_id", [1, 2, 3]),
        (f"{BASE}/groups", "group", ["billing"]),
    ):
        found: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = json.loads(ask(tokens["viewer"], "GET", f"{path}?limit=2" + (f"&cursor={cursor}" if cursor else "")).content)
            assert len(page["items"]) <= 2
            found += [row[key] for row in page["items"]]
            cursor = page["next"]
        assert found == wanted


def test_the_description_names_every_route(client: Client) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    for route in (*READS, *(path for _, path in WRITES)):
        shape = (
            route.replace("local", "{cluster_id}")
            .replace("/orders", "/{name}")
            .replace("/billing", "/{group_id}")
            .replace("/pause", "/{action}")
        )
        shape = shape.replace("brokers/1", "brokers/{broker_id}").replace("partitions/0", "partitions/{number}")
        assert shape in paths


FILES = ("/file", "/records.ndjson", "/records/{offset}/key", "/records/{offset}/value", "/reports/{report_id}/pdf", ".csv", ".parquet")
"""Ends of routes that answer no JSON."""
FILE_KINDS = {"text/csv", "application/x-ndjson", "application/octet-stream", "application/pdf", "application/vnd.apache.parquet"}


def test_the_description_types_every_answer_and_problem(client: Client) -> None:
    found = client.get("/api/v1/openapi.json").json()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            wanted = {"401", "422", "503"} | ({"404", "409"} if method != "get" else set()) | ({"404"} if "{" in path else set())
            wanted |= (
                {"403"} if method != "get" and not {"searches", "exports", "plans", "{token_id}"} & set(path.split("/")) else set()
            )  # any token may search, plan, and end itself
            assert operation["responses"].keys() >= wanted, f"{method} {path}"
            for status, answer in operation["responses"].items():
                if status == "200" and path.endswith("/stream"):
                    assert answer["content"].keys() == {"text/event-stream"}
                    continue
                if status == "200" and path.endswith(FILES):
                    assert answer["content"].keys() & FILE_KINDS, f"{method} {path}"
                    continue
                kinds = set() if status == "204" else {"application/json" if status < "4" else "application/problem+json"}
                assert answer.get("content", {}).keys() == kinds, f"{method} {path} {status}"
                for content in answer.get("content", {}).values():
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    assert found["components"]["schemas"][name]["properties"], f"{method} {path} {status}"


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        (f"{BASE}/brokers/1/pause", {"broker_id": "1", "action": "pause", "done": True}, "body.broker_id is '1', not of type integer"),
        (f"{BASE}/brokers/1/pause", {"broker_id": 1, "action": "pause"}, "body has no done"),
        (f"{BASE}/brokers/1/pause", {"broker_id": 1, "action": "pause", "done": True, "x": 1}, "body.x is not described"),
    ],
)
def test_what_is_not_as_described_is_noticed(path: str, body: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_answer("POST", path, 200, "application/json", body)
    with pytest.raises(AssertionError, match="answers 418"):
        check_answer("POST", path, 418, "application/json", {})


@pytest.mark.parametrize("role", RANK)
def test_metrics_are_prometheus_text(tokens: dict[str, dict[str, str]], role: str) -> None:
    text = ask(tokens[role], "GET", "/metrics").content.decode()
    assert 'highwater_cluster_partitions{cluster="local"} 5' in text
    assert 'highwater_broker_leaders{cluster="local",broker="1"} 2' in text
    assert 'highwater_group_lag{cluster="local",group="billing"} 40' in text
    assert "None" not in text


@pytest.mark.parametrize(
    ("path", "place", "gone", "field", "left"),
    [
        ("topics", "topics", "clicks", "topic", ["orders"]),
        ("groups", "groups", "billing", "group", []),
        ("topics/orders/partitions", "partitions:orders", "0", "partition", [1, 2]),
    ],
)
def test_what_goes_while_a_list_is_read_does_not_end_it(
    tokens: dict[str, dict[str, str]], redis: Any, path: str, place: str, gone: str, field: str, left: list[Any]
) -> None:
    redis.hdel(keys.named("local", place), gone)
    found, cursor = [], ""
    while cursor is not None:
        answer = ask(tokens["viewer"], "GET", f"/api/v1/clusters/local/{path}?limit=1&cursor={cursor}").json()
        found, cursor = found + [item[field] for item in answer["items"]], answer["next"]
    assert found == left


def test_metrics_are_exact(tokens: dict[str, dict[str, str]], shown: Any, redis: Any) -> None:
    """Six digits of a count that grows would make its rate steps of thousands."""
    row = claim("orders", 0, 1, [1, 2, 3], leader=1, isr=[1, 2, 3], end=18_204_331)
    shown.apply_batch(batch(1, [row], 5000), 5000)
    shown.take(5000)
    publish(redis, shown, 5000)
    text = ask(tokens["viewer"], "GET", "/metrics").content.decode()
    assert 'highwater_topic_messages{cluster="local",topic="orders"} 18204531\n' in text


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}])
def test_metrics_are_not_for_strangers(local: Any, settings: Any, headers: dict[str, str]) -> None:
    answer = ask(headers, "GET", "/metrics")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert b"highwater_" not in answer.content
    settings.METRICS_OPEN = True
    assert b"highwater_cluster_partitions" in ask(headers, "GET", "/metrics").content


def test_the_token_for_metrics_opens_metrics_alone(local: Any, settings: Any) -> None:
    settings.METRICS_TOKEN = "what-prometheus-has-been-given"
    bearer = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}
    assert b"highwater_cluster_partitions" in ask(bearer, "GET", "/metrics").content
    assert ask(bearer, "GET", f"{BASE}/topics").status_code == 401
    assert ask(bearer, "GET", "/healthz").json() == {"ok": True}
    for wrong in ("", " ", "wrong", "what-prometheus-has-been-giveN", "\u00fc"):
        assert ask({"Authorization": f"Bearer {wrong}"}, "GET", "/metrics").status_code == 401


def test_a_person_who_is_signed_in_reads_metrics_too(people: dict[str, Client]) -> None:
    assert b"highwater_cluster_partitions" in people["viewer"].get("/metrics").content


def test_healthz_says_yes_or_no_to_strangers_and_what_lives_to_viewers(client: Client, tokens: dict[str, dict[str, str]]) -> None:
    assert client.get("/healthz").json() == {"ok": True}
    found = json.loads(ask(tokens["viewer"], "GET", "/healthz").content)
    assert (found["ok"], found["database"], found["live"], found["redis"]) == (True, True, True, True)


def test_healthz_is_503_without_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.api.probes._database", lambda: False)
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"ok": False})


def test_a_body_too_large_is_refused(tokens: dict[str, dict[str, str]]) -> None:
    answer = ask(tokens["admin"], "POST", "/api/v1/jobs", '{"kind": "' + "x" * 1_100_000 + '"}')
    assert assert_problem(answer, 413)["code"] == "too-large"


def test_a_topic_that_brokers_have_yet_to_hear_of_is_not_called_unknown(tokens: dict[str, dict[str, str]], kafka: Any, redis: Any) -> None:
    """It is in ZooKeeper; what nobody knows, or what was known long ago, is unknown."""
    kafka.refuse = (3, "This server does not host this topic-partition.")
    problem = assert_problem(ask(tokens["admin"], "DELETE", f"{BASE}/topics/orders"), 409)
    assert "Topic orders is there, but the brokers have not all heard of it" in problem["detail"]
    assert assert_problem(ask(tokens["admin"], "DELETE", f"{BASE}/topics/nowhere"), 404)["kafka_code"] == 3
    redis.mset({keys.named("local", "oldest"): 1000, keys.named("local", "due"): 4000})
    assert assert_problem(ask(tokens["admin"], "DELETE", f"{BASE}/topics/orders"), 404)["kafka_code"] == 3


def test_what_is_read_says_how_old_it_is(tokens: dict[str, dict[str, str]], redis: Any) -> None:
    """Of the oldest part; and a cluster whose owner is silent is not called live, nor safe."""
    paths = [path for path in READS if path.startswith(BASE) and not path.endswith(KEPT)]
    fresh = [json.loads(ask(tokens["viewer"], "GET", path).content)["as_of"] for path in paths]
    now = time.time_ns() // 1_000_000
    assert {(one["age_ms"], one["stale"]) for one in fresh} == {(0, False)}
    redis.mset({keys.named("local", "beat"): now - 67_000, keys.named("local", "oldest"): now - 68_000})
    for path in paths:
        old = json.loads(ask(tokens["viewer"], "GET", path).content)["as_of"]
        assert (old["at_ms"], old["stale"]) == (now - 68_000, True)
        assert old["age_ms"] >= 68_000
    cluster = json.loads(ask(tokens["viewer"], "GET", BASE).content)
    assert (cluster["feed"]["state"], cluster["verdict"]["level"]) == ("lost", "unknown")
    assert cluster["verdict"]["text"].startswith("The live feed has been silent for ")


NEW_RULE = {
    **{"name": "x", "figure": "offline", "comparison": ">", "threshold": 1, "for_s": 0},
    **{"severity": "notice", "sentence": "x"},
}
OPERATIONS = [(method.upper(), shape) for shape, found in document()["paths"].items() for method in found]
PLACES = {
    "partition": "1",
    "cluster_id": "local",
    "name": "orders",
    "group_id": "billing",
    "broker_id": "1",
    "job_id": "1",
    "report_id": "1",
    "action": "pause",
    "search_id": "none",
    "rule_id": "1",
    "token_id": "1",
    "number": "0",
    "offset": "0",
    "change_id": "1",
    "schedule_id": "1",
    "silence_id": "1",
    "destination_id": "1",
    "transactional_id": "writer",
}
NEEDED = {
    f"{BASE}/figures": "kind=group&name=billing&",
    f"{BASE}/schedules/preview": "cron=0+2+*+*+*&",
    f"{BASE}/alert-rules/preview": "figure=group_lag&comparison=%3E&threshold=5&",
}
"""Of a query, what a route does not do without."""


@pytest.mark.parametrize(("method", "shape"), OPERATIONS)
def test_a_query_parameter_that_a_route_does_not_have_is_refused(tokens: dict[str, dict[str, str]], method: str, shape: str) -> None:
    """By every one of them, with the names that it knows, before anything is done: `?sate=offline` is no wish for everything."""
    path = re.sub(r"{(\w+)}", lambda name: PLACES[name[1]], shape)
    unwalked = {
        f"{BASE}/topics/orders/records": {"records": [{"value": "x"}]},
        f"{BASE}/record-copies/plan": {"source": "orders", "target": "clicks"},
        f"{BASE}/mask-rules/preview": {"topic": "orders", "value": "x"},
        f"{BASE}/mask-rules/1": {"topics": "orders", "part": "key", "below": "admin"},
        f"{BASE}/groups/billing/offsets/deletion": {"topic": "orders"},
        f"{BASE}/brokers/1/loggers": {"levels": {"root": "INFO"}},
        f"{BASE}/reassignments/cancellation": {"partitions": [{"topic": "orders", "partition": 0}]},
        f"{BASE}/topics/orders/partitions/0/abort-transaction": {"start_offset": 0},
        f"{BASE}/alert-rules": NEW_RULE,
        "/api/v1/alert-destinations": {"name": "x", "kind": "slack", "url": "https://hooks.example.org/x"},
        f"{BASE}/schema-registry": {"url": "http://127.0.0.1:1"},
        f"{BASE}/schema-registry/test": {"url": "http://127.0.0.1:1"},
    }
    """Not walked with the writes: they want a real cluster, a reader, a rule."""
    body = WRITES.get((method, path), (unwalked.get(path, {}) if method in ("POST", "PATCH", "PUT") else None,))[0]
    answer = ask(tokens["admin"], method, f"{path}?{NEEDED.get(path, '')}sate=offline", body)
    said = assert_problem(answer, 400)
    assert said["field"] == "sate"
    known = [p["name"] for p in document()["paths"][shape][method.lower()].get("parameters", ()) if p["in"] == "query"]
    assert "'sate'" in said["detail"]
    assert all(name in said["detail"] for name in known)
    assert not AuditEntry.objects.exists()


def test_every_write_that_is_tried_is_described() -> None:
    """The walk above sends each write the body that it would take."""
    fits = {(method, re.sub(r"{(\w+)}", lambda name: PLACES[name[1]], shape)) for method, shape in OPERATIONS}
    assert set(WRITES) <= fits


def test_who_may_not_is_told_so_before_the_query_is_looked_at(tokens: dict[str, dict[str, str]]) -> None:
    assert_problem(ask({}, "GET", f"{BASE}/topics?sate=offline"), 401)
    assert_problem(ask(tokens["viewer"], "DELETE", f"{BASE}/topics/orders?sate=offline"), 403)


def test_a_very_long_name_in_the_query_is_not_repeated_whole(tokens: dict[str, dict[str, str]]) -> None:
    said = assert_problem(ask(tokens["viewer"], "GET", f"{BASE}/topics?{'x' * 3000}=1&limit=2"), 400)
    assert len(said["field"]) + len(said["detail"]) < 300
