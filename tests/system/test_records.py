"""Records by REST, through the whole system: a search is asked of the console and read by its own process, which may be killed."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import produce
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest, Visitor, ask
from tests.system.conftest import make_token

OVER = ("done", "full", "stopped", "timed_out", "interrupted", "failed")


def begun(rest: Rest, topic: str, **query: Any) -> dict[str, Any]:
    answer = rest.ask("POST", f"{LOCAL}/topics/{topic}/searches", query)
    assert answer.status == 202, answer
    return dict(answer.body)


def ended(rest: Rest, search: dict[str, Any]) -> dict[str, Any]:
    path = f"{LOCAL}/searches/{search['id']}"
    eventually(lambda: rest.get(path)["state"] in OVER, 120, "the search is over")
    return dict(rest.get(path))


def seen(rest: Rest, search: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for page in rest.pages(f"{LOCAL}/searches/{search['id']}/records", 100) for row in page]


def children(system: ConsoleSystem) -> list[int]:
    """The processes that read, one for each search that runs."""
    pid = system.program("reader").pid()
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def new_topic(make_topic: Callable[..., str]) -> Callable[..., str]:
    return lambda partitions=3: make_topic("records", [[1, 2, 3]] * partitions)


def known(rest: Rest, topic: str) -> None:
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/{topic}").status == 200, what=f"{topic} is known")


def test_a_viewer_reads_and_finds(system: ConsoleSystem, people: dict[str, Rest], rest: Rest, new_topic: Callable[..., str]) -> None:
    topic, viewer = new_topic(), people["viewer"]
    produce(system, topic, [b'{"order": %d}' % n for n in range(300)])
    known(rest, topic)
    answer = viewer.get(f"{LOCAL}/topics/{topic}/records?start=oldest&path=$.order&equals=42")
    assert answer["search"]["state"] == "done"
    assert [json.loads(row["value"]["text"]) for row in answer["items"]] == [{"order": 42}]
    search = ended(viewer, begun(viewer, topic, start="oldest", count=120))
    assert (search["state"], search["found"]) == ("full", 120)
    more = ended(viewer, begun(viewer, topic, start="oldest", count=500, at=search["next"]))
    assert more["state"] == "done"
    texts = {row["value"]["text"] for one in (search, more) for row in seen(viewer, one)}
    assert len(texts) == 300 and len(seen(viewer, more)) == 180
    last = next(row for row in people["admin"].get("/api/v1/audit")["items"] if row["action"] == "read records")
    assert (last["target"], last["actor"]) == (topic, "test-viewer")
    visitor = Visitor(system.layout.console_port, system.password)
    table = visitor.get(f"/topics/{topic}/records/download?search={search['id']}&as=csv").body
    assert len(table.splitlines()) > 120 and table.startswith("partition,offset,")


def test_all_that_is_found_is_fetched_as_a_file(system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1)
    produce(system, topic, [b"%d of many" % n for n in range(700)])
    known(rest, topic)
    begun = rest.ask("POST", f"{LOCAL}/topics/{topic}/exports", {"text": "of many", "as": "csv"})
    assert begun.status == 202, begun
    export = ended(rest, begun.body)
    assert (export["state"], export["found"]) == ("done", 700)
    token = {"Authorization": f"Bearer {make_token(system, 'fetches-a-file', 'viewer')}"}
    path = f"{LOCAL}/searches/{export['id']}/file"
    file = ask(rest.port, "GET", path, headers=token)
    assert (file.status, file.kind, len(file.body)) == (200, "text/csv", export["file_bytes"])
    assert [row["value"] for row in csv.DictReader(file.body.splitlines())] == [f"{n} of many" for n in range(700)]
    assert ask(rest.port, "GET", path).status == 401
    assert rest.ask("POST", f"{LOCAL}/topics/{topic}/exports", {"start": "live"}).status == 422


def test_a_record_s_bytes_are_fetched_unless_some_are_hidden(
    system: ConsoleSystem, rest: Rest, people: dict[str, Rest], new_topic: Callable[..., str]
) -> None:
    topic = new_topic(1)
    produce(system, topic, [b"<script>alert(1)</script>", b'{"card": "4111"}'])
    known(rest, topic)
    token = {"Authorization": f"Bearer {make_token(system, 'fetches-bytes', 'viewer')}"}
    of_record = f"{LOCAL}/topics/{topic}/partitions/0/records"
    file = ask(rest.port, "GET", f"{of_record}/0/value", headers=token)
    assert (file.status, file.kind, file.body) == (200, "application/octet-stream", "<script>alert(1)</script>")
    assert file.headers["content-disposition"] == f'attachment; filename="{topic}-0-0-value.bin"'
    assert file.headers["x-content-type-options"] == "nosniff"
    viewer = Rest(rest.port, token["Authorization"].removeprefix("Bearer "))
    assert viewer.ask("GET", f"{of_record}/0/key").status == 404
    assert viewer.ask("GET", f"{of_record}/99/value").status == 404
    visitor = Visitor(rest.port, system.password)
    page = visitor.get(f"/topics/{topic}/records/0/1").body
    assert f'href="/topics/{topic}/records/0/1/value" download' in page
    assert visitor.get(f"/topics/{topic}/records/0/1/value").body == '{"card": "4111"}'
    admin = people["admin"]
    made = admin.ask("POST", f"{LOCAL}/mask-rules", {"topics": topic, "part": "field", "expression": "$.card", "below": "admin"})
    assert made.status == 201, made
    refused = viewer.ask("GET", f"{of_record}/1/value")
    assert (refused.status, refused.body["code"]) == (403, "forbidden") and "hides some of this value" in refused.body["detail"]
    assert admin.ask("GET", f"{of_record}/1/value").body == '{"card": "4111"}', "an admin sees it"


def test_a_reader_that_is_killed_loses_nothing_and_finds_nothing_twice(
    system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=1)
    produce(
        system,
        topic,
        [b"x" * 100 + b"wanted" if n % 2000 == 0 else b"x" * 100 for n in range(400_000)],
        **{"linger.ms": 50, "queue.buffering.max.messages": 500_000},
    )
    known(rest, topic)
    search = begun(rest, topic, start="oldest", text="wanted", count=500)
    pids = eventually(lambda: children(system), what="a process reads")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    was = ended(rest, search)
    if was["state"] == "interrupted":
        assert "ended (by SIGKILL)" in was["reason"]
        assert rest.ask("POST", f"{LOCAL}/searches/{search['id']}/resume").status == 200
    over = eventually(lambda: (one := rest.get(f"{LOCAL}/searches/{search['id']}"))["state"] == "done" and one, 120, "it reads to the end")
    offsets = [row["offset"] for row in seen(rest, search)]
    assert len(offsets) == len(set(offsets)) == over["found"] == 200
    assert sum(span["records"] + span["empty"] for span in over["spans"]) == 400_000


def test_a_live_search_shows_what_comes_and_stops(system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    known(rest, topic)
    search = begun(rest, topic, start="live")
    path = f"{LOCAL}/searches/{search['id']}"
    eventually(lambda: rest.get(path)["spans"], what="it follows the topic")
    produce(system, topic, [b"now"])
    eventually(lambda: [row["value"]["text"] for row in seen(rest, search)] == ["now"], what="the record is shown")
    assert rest.ask("POST", f"{path}/stop").status == 200
    assert ended(rest, search)["state"] == "stopped"


def test_the_whole_reading_process_may_die(system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    produce(system, topic, [b"x"])
    known(rest, topic)
    system.kill_program("reader")
    search = begun(rest, topic)
    assert rest.get(f"{LOCAL}/searches/{search['id']}")["state"] == "queued"
    system.start_program("reader")
    assert ended(rest, search)["found"] == 1


def test_markup_is_text_on_the_page(system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    produce(system, topic, [b"<script>alert(1)</script>\x1b\xe2\x80\xae"])
    known(rest, topic)
    visitor = Visitor(system.layout.console_port, system.password)
    shown = eventually(lambda: (page := visitor.get(f"/topics/{topic}/records").body).count("data-record") and page, what="a row")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␛⟨U+202E⟩" in shown
    assert "<script>alert" not in shown
    (row,) = rest.get(f"{LOCAL}/topics/{topic}/records")["items"]
    whole = visitor.get(f"/topics/{topic}/records/{row['partition']}/{row['offset']}")
    assert whole.status == 200 and "&lt;script&gt;" in whole.body
    assert visitor.get(f"/topics/{topic}/records/{row['partition']}/99").status == 404


def test_what_cannot_be_asked_is_refused_by_name(rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    known(rest, topic)
    wrong = {
        "text": {"text": "(", "regex": True},
        "path": {"path": "$["},
        "time": {"start": "time"},
        "at": {"at": "mine"},
        "key": {"key": "x"},
    }
    for field, query in wrong.items():
        answer = rest.ask("POST", f"{LOCAL}/topics/{topic}/searches", query)
        assert (answer.status, answer.body["field"]) == (400, field), answer
    assert rest.ask("GET", f"{LOCAL}/searches/none").status == 404


def test_an_operator_writes_and_reads_it_back(people: dict[str, Rest], rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    known(rest, topic)
    path = f"{LOCAL}/topics/{topic}/records"
    records = [
        {"key": "a", "value": {"n": 1}, "headers": {"h": "x", "none": None}, "partition": 2},
        {"key": "AP8=", "value": "AAE=", "encoding": "base64", "partition": 2},
        {"key": "a", "partition": 2},
    ]
    answer = rest.ask("POST", path, {"records": records})
    assert (answer.status, answer.body["written"]) == (200, 3), answer
    assert answer.body["records"] == [{"partition": 2, "offset": n, "error": ""} for n in range(3)]
    found = rest.get(f"{path}?start=oldest")["items"]
    assert [(row["key"]["text"], row["value"] and row["value"]["format"]) for row in found[::2]] == [("a", "json"), ("a", None)]
    assert found[1]["value"]["text"].startswith("00000000  00 01")
    assert [(header["name"], header["value"] and header["value"]["text"]) for header in found[0]["headers"]] == [("h", "x"), ("none", None)]
    many = rest.ask("POST", path, {"records": [{"key": "${uuid}", "value": "number ${n}", "partition": 0}], "count": 5})
    assert many.body["written"] == 5
    assert [row["value"]["text"] for row in rest.get(f"{path}?start=oldest&partition=0")["items"]] == [f"number {n}" for n in range(1, 6)]
    last = next(row for row in people["admin"].get("/api/v1/audit")["items"] if row["action"] == "write records")
    assert last["after"] == {"records": 5, "bytes": 5 * (36 + 8), "of": 5}, "how many and how large, not what"
    assert people["viewer"].ask("POST", path, {"records": records}).status == 403
    for wrong in ({"partition": 3}, {"value": "%", "encoding": "base64"}, {"valeu": 1}, {"headers": {"": "x"}}):
        assert rest.ask("POST", path, {"records": [wrong]}).status == 422, wrong


def test_an_internal_topic_is_written_to_only_when_confirmed(rest: Rest) -> None:
    known(rest, "__cluster_samples")
    path, body = f"{LOCAL}/topics/__cluster_samples/records", {"records": [{"key": "k", "value": "not a sample"}]}
    answer = rest.ask("POST", path, body)
    assert (answer.status, answer.body["field"]) == (422, "confirm")


def test_a_form_writes_lines_and_says_what_is_wrong(system: ConsoleSystem, rest: Rest, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    known(rest, topic)
    visitor = Visitor(system.layout.console_port, system.password)
    path = f"/topics/{topic}/records/new"
    assert visitor.post(path, key="k", value="v", headers="a=1", partition="1").status == 303
    assert visitor.post(path, lines='{"value": "x", "partition": 0}\n{"value": "y", "partition": 0}').status == 303
    assert visitor.post(path, key="k", tombstone="1", partition="1").status == 303
    for wrong, words in (
        ({"lines": '{"value": 1}\n{"a": 2}'}, "Line 2"),
        ({"headers": "no value"}, "name=value"),
        ({"partition": "9"}, "no partition 9"),
        ({"partition": "one"}, "whole number"),
    ):
        answer = visitor.post(path, **wrong)
        assert answer.status == 422 and words in answer.body
    found = rest.get(f"{LOCAL}/topics/{topic}/records?start=oldest&order=offset")["items"]
    assert [(row["partition"], row["value"] and row["value"]["text"]) for row in found] == [(0, "x"), (0, "y"), (1, "v"), (1, None)]


def test_an_admin_deletes_records_once_it_is_known_how_many(
    system: ConsoleSystem, people: dict[str, Rest], rest: Rest, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=1)
    produce(system, topic, [b"x"] * 20)
    known(rest, topic)
    path, admin = f"{LOCAL}/topics/{topic}/partitions/0/delete-records", people["admin"]
    assert admin.ask("POST", path, {"before": 15, "dry_run": True}).body == {"first": 15, "end": 20, "offsets": 15, "done": False}
    asked = admin.ask("POST", path, {"before": 15})
    assert (asked.status, asked.body["field"]) == (422, "confirm") and "15 offsets" in asked.body["detail"]
    assert rest.ask("POST", path, {"before": 15, "confirm": True}).status == 403
    assert admin.ask("POST", path, {"before": 21, "confirm": True}).status == 422
    assert admin.ask("POST", path, {"before": 15, "confirm": True}).body == {"first": 15, "end": 20, "offsets": 15, "done": True}
    found = rest.get(f"{LOCAL}/topics/{topic}/records?start=oldest")["items"]
    assert [row["offset"] for row in found] == list(range(15, 20))
