"""The console under bad input and without Redis: pages and REST say what is wrong, nothing ends, everything recovers alone."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from confluent_kafka import Consumer
from websockets.asyncio.client import ClientConnection, connect

from broker_core.local.services import redis_process, start_redis
from tests.outages.conftest import feed_is_live
from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.web import Answer, Web

NewTopic = Callable[..., str]
MARKUP = "<script>alert('x')</script>"
PAGES = ("/", "/brokers", "/topics", "/groups", "/jobs", "/analytics", "/health", "/events", "/audit", "/settings")


@pytest.fixture(autouse=True)
def with_redis(cluster: ConsoleSystem) -> Iterator[None]:
    yield
    start_redis(cluster.layout)


def websocket_close_code(cluster: ConsoleSystem, token: str) -> int | None:
    async def ask() -> int | None:
        async with connect(
            f"{cluster.url.rstrip('/').replace('http', 'ws')}/ws/v1/live", additional_headers=headers, open_timeout=60
        ) as connection:
            await asyncio.wait_for(connection.wait_closed(), 60)
            return connection.close_code

    headers = {"Authorization": f"Bearer {token}", "Origin": cluster.url.rstrip("/")}
    return asyncio.run(ask())


def test_redis_gone_and_back(cluster: ConsoleSystem, token: str, api: Web, person: Web, new_topic: NewTopic) -> None:
    """Pages say so and come back; REST answers 503; live, worker and beat recover alone; brokers notice nothing."""
    eventually(lambda: feed_is_live(api), 60, "the feed is live")
    assert redis_process(cluster.layout).kill()
    for page in PAGES:
        answer = person.get(page)
        assert answer.status in (200, 503), (page, answer.status)
        assert "Traceback" not in answer.text
    assert person.get("/").status == 503
    assert "Redis" in person.get("/").text
    gone = api.get("/api/v1/clusters/local/brokers")
    assert (gone.status, gone.content_type) == (503, "application/problem+json")
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"without Redis"])
    assert websocket_close_code(cluster, token) == 1011
    start_redis(cluster.layout)
    eventually(lambda: feed_is_live(api), 60, "the feed is live again")
    assert [person.get(page).status for page in PAGES] == [200] * len(PAGES)
    asked = api.send("POST", "/api/v1/jobs", b'{"kind": "preferred_leader_election"}')
    assert asked.status == 202, asked
    path = f"/api/v1/jobs/{asked.json()['id']}"
    eventually(lambda: api.get(path).json()["state"] == "succeeded", 120, "the worker does jobs again")


BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"\xff\xfe",
    b"[" * 2000,
    b'{"a":' * 500,
    b"1e999",
    b'{"name": null}',
    b'{"name": 1}',
    b'{"name": ["x"]}',
    b'{"name": "a b"}',
    b'{"name": "x\\u0000y"}',
    b'{"name": "\\ud800"}',
    b'{"name": "x", "partitions": -1}',
    b'{"name": "x", "partitions": 1e9}',
    b'{"name": "x", "partitions": 99999999999999999999}',
    b'{"name": "x", "configs": {"a": "b"}}',
    b'{"name": "x", "configs": {"retention.ms": "nonsense"}}',
    b'{"name": "x", "unknown": 1}',
    b'{"kind": "nonsense"}',
    b'{"kind": "reassignment"}',
    b'{"kind": "reassignment", "assignments": [{"topic": "x", "partition": 0, "replicas": [1, 1]}]}',
    b'{"kind": "reassignment", "cluster": "\\u0000"}',
    b'{"topic": "x", "to": "later"}',
    b'{"topic": "\\u0000", "to": 1}',
    b'{"topic": "\\ud800", "to": "latest"}',
    b'{"count": 0}',
    b'{"count": 1000000}',
    b'{"configs": {}}',
    b'{"configs": {"\\u0000": "\\u0000"}}',
    b'{"configs": {"cleanup.policy": "\\ud800"}}',
    b'{"name": "' + b"x" * 300 + b'"}',
)
PATHS = (
    ("POST", "/api/v1/clusters/local/topics"),
    ("POST", "/api/v1/clusters/local/topics/nowhere/partitions"),
    ("PATCH", "/api/v1/clusters/local/topics/nowhere"),
    ("POST", "/api/v1/clusters/local/groups/nobody/offsets"),
    ("POST", "/api/v1/jobs"),
    ("POST", "/api/v1/clusters/local/brokers/1/explode"),
    ("POST", "/api/v1/clusters/local/brokers/99/stop"),
)


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_hostile_bodies_are_answered_with_what_is_wrong(api: Web, method: str, path: str) -> None:
    for body in BODIES:
        refused(api.send(method, path, body), body)


def test_hostile_paths_and_queries(api: Web, person: Web) -> None:
    names = ("%00", "%ff", "..%2f..", "%3Cscript%3E", "x" * 300, "%ed%a0%80", "a%0d%0aSet-Cookie:x=1")
    for name in names:
        for path in (f"/api/v1/clusters/{name}", f"/api/v1/clusters/local/topics/{name}", f"/api/v1/clusters/local/groups/{name}"):
            refused(api.get(path), path)
        for path in (
            f"/topics/{name}",
            f"/groups/{name}",
            f"/topics?q={name}",
            f"/groups?q={name}&page=99999999999",
            f"/events?kind={name}&before={name}",
        ):
            answer = person.get(path)
            assert answer.status < 500, (path, answer.status)
            assert "<script>" not in answer.text.replace("<script src", ""), path
    for query in ("limit=0", "limit=x", "limit=99999999999999999999", "cursor=%00", "cursor=AAAA", "cursor=%ff"):
        for path in ("topics", "groups", "brokers", "events"):
            answer = api.get(f"/api/v1/clusters/local/{path}?{query}")
            assert answer.status < 500, (path, query, answer)


def test_a_job_that_the_brokers_refuse_ends_with_their_words(api: Web) -> None:
    for topic in ("nowhere", "a b", "\0", "x" * 249):
        rows = [{"topic": topic, "partition": 0, "replicas": [1]}]
        asked = api.send("POST", "/api/v1/jobs", json.dumps({"kind": "reassignment", "assignments": rows}).encode())
        if asked.status == 202:
            path = f"/api/v1/jobs/{asked.json()['id']}"
            eventually(lambda path=path: api.get(path).json()["state"] == "failed", 60, "the job has failed")
            assert api.get(path).json()["message"]
        else:
            refused(asked, topic)


def refused(answer: Answer, what: object) -> None:
    assert 400 <= answer.status < 500 or answer.status == 503, (what, answer)
    assert answer.content_type.startswith("application/problem+json"), (what, answer)
    assert answer.json()["detail"], (what, answer)


def test_hostile_forms_show_the_page_again(person: Web) -> None:
    values = ("", "\0", "x" * 100_000, MARKUP, "-1", "99999999999999999999", "1e9", "²", "x ² ²", "[" * 50_000, "\ud7ff\uffff")
    for value in values:
        for path, fields in (
            ("/new-topic", ("name", "partitions", "replication_factor")),
            ("/topics/nowhere/partitions", ("count",)),
            ("/topics/nowhere/settings", ("save", "set:retention.ms")),
            ("/topics/nowhere/delete", ("confirm",)),
            ("/group-offsets/nobody", ("topic", "partition", "to")),
            ("/group-delete/nobody", ("confirm",)),
            ("/jobs/new", ("kind", "topics", "assignments")),
            ("/jobs/1/cancel", ()),
            ("/brokers/9/stop", ("confirm",)),
            ("/settings/tokens/new", ("name", "role")),
        ):
            answer = person.post_form(path, **dict.fromkeys(fields, value))
            assert 400 <= answer.status < 500, (path, value[:40], answer.status)
            assert MARKUP not in answer.text, path


def test_markup_in_a_client_id_and_a_group_is_only_text(cluster: ConsoleSystem, api: Web, person: Web, new_topic: NewTopic) -> None:
    topic = new_topic(partitions=1)
    produce(cluster, topic, [b"x"])
    group = f"{MARKUP}{uuid.uuid4()}"
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "client.id": MARKUP, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.consume(1, 0.5), 60, "the member reads")
        consumer.commit(asynchronous=False)
        quoted = urllib.parse.quote(group, safe="")
        eventually(lambda: api.get(f"/api/v1/clusters/local/groups/{quoted}").status == 200, 60, "the console knows the group")
        for path in ("/", "/groups", f"/groups/{quoted}", f"/topics/{topic}", "/events"):
            answer = person.get(path)
            assert answer.status == 200, path
            assert MARKUP not in answer.text, path
        assert "&lt;script&gt;" in person.get(f"/groups/{quoted}").text
    finally:
        consumer.close()


async def test_a_browser_that_stops_reading_is_cut_off_alone(cluster: ConsoleSystem, token: str) -> None:
    """It asks for everything and never reads; another one gets its beats and changes meanwhile, and the server's memory stays."""
    url = f"{cluster.url.rstrip('/').replace('http', 'ws')}/ws/v1/live?brokers=1&events=1&jobs=1"
    headers = {"Authorization": f"Bearer {token}", "Origin": cluster.url.rstrip("/")}
    pid = cluster.program("console").pid()
    assert pid is not None
    with ExitStack() as stack:
        for _ in range(10):
            await deaf_websocket(cluster, token, stack.enter_context(socket.socket()))
        async with connect(url, additional_headers=headers, open_timeout=60) as reading:
            before = resident_bytes(pid)
            beats = 0
            while beats < 5:
                beats += (await received(reading))["type"] == "beat"
            assert resident_bytes(pid) - before < 60_000_000
    assert cluster.program("console").pid() == pid


async def deaf_websocket(cluster: ConsoleSystem, token: str, stream: socket.socket) -> None:
    """A handshake, a subscription sent over and over, and not one byte read after the first answer."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.connect(("127.0.0.1", cluster.layout.console_port))
    lines = (
        "GET /ws/v1/live?brokers=1&events=1 HTTP/1.1",
        f"Host: 127.0.0.1:{cluster.layout.console_port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Origin: {cluster.url.rstrip('/')}",
        f"Authorization: Bearer {token}",
    )
    stream.sendall("\r\n".join([*lines, "", ""]).encode())
    assert b" 101 " in await asyncio.to_thread(stream.recv, 64)
    payload = json.dumps({"subscribe": "brokers=1&events=1"}).encode()
    frame = bytes([0x81, 0x80 | len(payload), 0, 0, 0, 0]) + payload
    stream.settimeout(2)
    with suppress(TimeoutError, ConnectionError):
        await asyncio.to_thread(stream.sendall, frame * 3000)


async def received(connection: ClientConnection) -> Any:
    return json.loads(await asyncio.wait_for(connection.recv(), 60))


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096
