"""REST of the running system: paths, shapes, roles, errors, cursors, and what watches it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Answer, Rest, Visitor
from tests.system.conftest import MakeTopic, heard, make_token

pytestmark = pytest.mark.spec("O1")

PARTITION = {"partition", "leader", "leader_epoch", "isr", "high_watermark", "log_end_offset", "replicas"}
REPLICA = {"broker_id", "in_isr", "log_end_offset", "high_watermark", "age_ms"}
JOB = {"id", "kind", "state", "progress", "message", "result", "created_at", "started_at", "ended_at"}
C = "/api/v1/clusters/{cluster_id}"
OPERATIONS = {
    "/api/v1/clusters": {"get"},
    C: {"get"},
    f"{C}/brokers": {"get"},
    f"{C}/brokers/{{broker_id}}": {"get"},
    f"{C}/brokers/{{broker_id}}/{{action}}": {"post"},
    f"{C}/topics": {"get", "post"},
    f"{C}/topics/{{name}}": {"get", "patch", "delete"},
    f"{C}/topics/{{name}}/partitions": {"get", "post"},
    f"{C}/groups": {"get"},
    f"{C}/groups/{{group_id}}": {"get", "delete"},
    f"{C}/groups/{{group_id}}/offsets": {"get", "post"},
    f"{C}/events": {"get"},
    "/api/v1/problems": {"get"},
    "/api/v1/jobs": {"get", "post"},
    "/api/v1/jobs/{job_id}": {"get", "delete"},
}


def assert_problem(answer: Answer, status: int, field: str | None = None) -> str:
    assert (answer.status, answer.kind) == (status, "application/problem+json"), answer
    assert answer.body["status"] == status
    assert answer.body["title"]
    assert answer.body["type"] == f"/api/v1/problems#{answer.body['code']}"
    assert answer.body.get("field") == field, answer.body
    return str(answer.body["detail"])


def test_a_partition_tells_where_its_records_are(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("shape", [[1, 2, 3]])
    produce(system, topic, [b"x"] * 50)
    seen = lambda: all(r["high_watermark"] == 50 for r in rest.partitions(topic)[0]["replicas"])  # noqa: E731
    eventually(seen, 60, "the high watermark of all replicas")
    row = rest.partitions(topic)[0]
    assert row.keys() >= PARTITION
    assert (row["partition"], row["leader"], row["isr"], row["high_watermark"], row["log_end_offset"]) == (0, 1, [1, 2, 3], 50, 50)
    assert [r["broker_id"] for r in row["replicas"]] == [1, 2, 3]
    for replica in row["replicas"]:
        assert replica.keys() >= REPLICA
        assert (replica["in_isr"], replica["log_end_offset"]) == (True, 50)


def test_every_list_and_every_single_thing(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("all", [[1, 2, 3]])
    assert [c["id"] for c in rest.get("/api/v1/clusters")["items"]] == ["local"]
    assert [b["broker_id"] for b in rest.get(f"{LOCAL}/brokers")["items"]] == [1, 2, 3]
    eventually(lambda: rest.get(f"{LOCAL}/brokers/2")["state"] == "online", what="broker 2 is heard")
    assert {c["name"] for c in rest.get(f"{LOCAL}/topics/{topic}")["configs"]} >= {"retention.ms", "min.insync.replicas"}
    for path in ("groups", "events"):
        assert rest.get(f"{LOCAL}/{path}").keys() - {"as_of"} == {"items", "next"}
    for path in ("brokers/9", "topics/nothing", "topics/nothing/partitions", "groups/nothing", "groups/nothing/offsets"):
        assert_problem(rest.ask("GET", f"{LOCAL}/{path}"), 404)
    for path in ("/api/v1/clusters/elsewhere", "/api/v1/clusters/elsewhere/topics", "/api/v1/jobs/999999"):
        assert_problem(rest.ask("GET", path), 404)


def test_a_list_keeps_its_place_while_topics_come_and_go(rest: Rest, people: dict[str, Rest], make_topic: MakeTopic) -> None:
    kept = sorted(make_topic(f"list-{letter}", [[1, 2, 3]]) for letter in "bdfhk")
    seen: list[str] = []
    gone = kept[0]
    for number, page in enumerate(rest.pages(f"{LOCAL}/topics", 2)):
        seen += [t["topic"] for t in page]
        if number == 0:
            make_topic("list-a", [[1, 2, 3]])
            assert people["admin"].ask("DELETE", f"{LOCAL}/topics/{gone}").status == 204
            eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/{gone}").status == 404, 60, f"{gone} gone")
    assert seen == sorted(set(seen), key=lambda name: (name.startswith("__"), name)), "the system's own come last"
    assert set(kept[1:]) <= set(seen)


def test_a_topic_s_life(rest: Rest, people: dict[str, Rest], make_topic: MakeTopic) -> None:
    body = {"name": "rest-life", "partitions": 2, "replication_factor": 3, "configs": {"retention.ms": "3600000"}}
    assert rest.ask("POST", f"{LOCAL}/topics", body).status == 201
    assert_problem(rest.ask("POST", f"{LOCAL}/topics", body), 409)
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/rest-life").status == 200, 60, "rest-life in the console")
    assert rest.ask("PATCH", f"{LOCAL}/topics/rest-life", {"configs": {"retention.ms": "7200000"}}).status == 200
    configs = {c["name"]: c["value"] for c in rest.get(f"{LOCAL}/topics/rest-life")["configs"]}
    assert configs["retention.ms"] == "7200000"
    assert rest.ask("POST", f"{LOCAL}/topics/rest-life/partitions", {"count": 4}).status == 200
    eventually(lambda: len(rest.partitions("rest-life")) == 4, 60, "4 partitions")
    assert people["admin"].ask("DELETE", f"{LOCAL}/topics/rest-life").status == 204
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/rest-life").status == 404, 60, "rest-life gone")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/v1/jobs", {"kind": "nonsense"}, "kind"),
        ("/api/v1/jobs", {"kind": "reassignment"}, "assignments"),
        ("/api/v1/jobs", {"kind": "reassignment", "assignments": []}, "assignments"),
        ("/api/v1/jobs", {"kind": "reassignment", "assignments": [{"topic": "t", "partition": 0}]}, "assignments.0.replicas"),
        (
            "/api/v1/jobs",
            {"kind": "reassignment", "assignments": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]},
            "assignments.0.replicas",
        ),
        (
            "/api/v1/jobs",
            {"kind": "reassignment", "assignments": [{"topic": "t", "partition": 0, "replicas": [1]}] * 2},
            "assignments.1",
        ),
        (f"{LOCAL}/topics", {"name": "a/b"}, "name"),
        (f"{LOCAL}/topics", {"name": "a", "partitions": 0}, "partitions"),
    ],
)
def test_a_wrong_body_names_its_field(rest: Rest, path: str, body: Any, field: str) -> None:
    assert assert_problem(rest.ask("POST", path, body), 422, field)


def test_what_the_brokers_refuse_is_said_in_their_words(rest: Rest, make_topic: MakeTopic) -> None:
    wide = {"name": "too-wide", "partitions": 1, "replication_factor": 7}
    assert_problem(rest.ask("POST", f"{LOCAL}/topics", wide), 422)
    assert_problem(rest.ask("GET", f"{LOCAL}/topics?cursor=%21%21"), 400, "cursor")
    assert_problem(rest.ask("GET", f"{LOCAL}/topics?limit=0"), 400, "limit")


def test_each_role_may_what_it_may(people: dict[str, Rest]) -> None:
    viewer, operator, admin = (people[role] for role in ("viewer", "operator", "admin"))
    assert viewer.ask("GET", LOCAL).status == 200
    assert_problem(viewer.ask("POST", "/api/v1/jobs", {"kind": "health_report"}), 403)
    assert_problem(viewer.ask("POST", f"{LOCAL}/topics", {"name": "not-mine"}), 403)
    assert_problem(operator.ask("DELETE", f"{LOCAL}/topics/__cluster_samples"), 403)
    assert_problem(operator.ask("POST", f"{LOCAL}/brokers/1/pause"), 403)
    assert_problem(admin.ask("DELETE", f"{LOCAL}/topics/nothing"), 404)
    for stranger in (Rest(viewer.port, None), Rest(viewer.port, "hw_wrong")):
        answer = stranger.ask("GET", LOCAL)
        assert_problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_opens_nothing(system: ConsoleSystem) -> None:
    shortly = Rest(system.layout.console_port, make_token(system, "shortly", "viewer"))
    assert shortly.ask("GET", LOCAL).status == 200
    visitor = Visitor(system.layout.console_port, system.password)
    page = visitor.get("/settings").body
    number = page.split("shortly", 1)[1].split("/settings/tokens/", 1)[1].split("/", 1)[0]
    assert visitor.post(f"/settings/tokens/{number}/revoke", confirm="yes").status == 303
    assert_problem(shortly.ask("GET", LOCAL), 401)


def test_the_openapi_document_has_every_operation(rest: Rest) -> None:
    found = rest.get("/api/v1/openapi.json")
    assert found["openapi"].startswith("3.")
    assert found["info"].keys() >= {"title", "version"}
    for path, methods in OPERATIONS.items():
        assert found["paths"].get(path, {}).keys() >= methods, path
    identities = []
    for operations in found["paths"].values():
        for operation in operations.values():
            assert operation["responses"]
            identities.append(operation["operationId"])
    assert len(identities) == len(set(identities))
    for reference in _references(found):
        here = found
        for word in reference.removeprefix("#/").split("/"):
            here = here[word]


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [reference for item in value for reference in _references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [reference for item in value.values() for reference in _references(item)]


def test_machines_that_watch_read_with_a_token(system: ConsoleSystem, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("watched", [[1, 2, 3]])
    heard(rest)
    stranger = Rest(system.layout.console_port, None)
    assert stranger.get("/healthz") == {"ok": True}
    assert stranger.ask("GET", "/metrics").status == 401
    health = rest.get("/healthz")
    assert (health["ok"], health["database"], health["redis"], health["live"]) == (True, True, True, True)
    answer = rest.ask("GET", "/metrics")
    assert (answer.status, answer.kind) == (200, "text/plain")
    lines = dict(line.rsplit(" ", 1) for line in answer.body.splitlines() if not line.startswith("#"))
    assert lines['highwater_cluster_brokers_online{cluster="local"}'] == "3"
    assert lines['highwater_broker_online{cluster="local",broker="1"}'] == "1"
    assert lines[f'highwater_topic_partitions{{cluster="local",topic="{topic}"}}'] == "1"


def test_jobs_are_listed_newest_first(rest: Rest) -> None:
    jobs = [rest.until(rest.start("preferred_leader_election")) for _ in range(3)]
    assert all(job.keys() >= JOB for job in jobs)
    assert jobs[0]["progress"].keys() == {"done", "total", "unit"}
    listed = [job["id"] for page in rest.pages("/api/v1/jobs", 1) for job in page]
    assert listed == sorted(listed, reverse=True)
    assert {job["id"] for job in jobs} <= set(listed)
    assert_problem(rest.ask("DELETE", f"/api/v1/jobs/{jobs[0]['id']}"), 409)
