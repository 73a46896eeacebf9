"""All that a search finds, written into a file: whole, none twice after a death, bounded, with what is hidden hidden."""

from __future__ import annotations

import csv
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console.actions.records import export_file, export_records
from console.errors import Invalid
from console.models import AuditEntry, Cluster
from console.queries import NotFound
from console.roles import Actor
from console.rules.records.masking import Rule
from console.rules.records.progress import Search, next_cursor
from console.rules.records.query import read_query
from console.searches import files, store
from tests.reader.conftest import Topic
from workers.reader import child

ACTOR = Actor("someone", "viewer", "api")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "folder", lambda: tmp_path / "exports")
    monkeypatch.setattr("console.actions.records.topic_or_fail", lambda *_: None)


def asked(topic: Topic, kind: str = "ndjson", **query: Any) -> Search:
    wanted = read_query({name: str(value) for name, value in query.items()})
    return export_records(ACTOR, Cluster.objects.get(pk="local"), topic.name, wanted, kind)


def lines(search: Search) -> list[dict[str, Any]]:
    path, size = export_file(search)
    return [json.loads(line) for line in path.read_bytes()[:size].splitlines()]


def test_all_that_is_found_is_in_the_file(topic: Topic) -> None:
    topic.write(*({"value": f"{'wanted' if n % 2 else 'other'} {n}", "partition": 0} for n in range(3000)))
    search = asked(topic, text="wanted")
    child.read(search)
    progress = store.progress(search.id)
    assert (progress.state, progress.found, store.found(search, 0, 10)) == ("done", 1500, [])
    assert [line["offset"] for line in lines(search)] == list(range(1, 3000, 2))
    row = AuditEntry.objects.get(action="export records")
    assert (row.target, row.after["as"], "text" in row.after) == (topic.name, "ndjson", False)


def test_a_table_has_its_head_once(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.reader.run.LIVE_KEPT", 1)
    monkeypatch.setattr("console.gateway.record_log.BATCH_RECORDS", 50)
    topic.write(*({"value": f"=value {n}", "partition": 0} for n in range(200)))
    search = asked(topic, "csv")
    child.read(search)
    with export_file(search)[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["offset"]) for row in rows] == list(range(200))
    assert rows[7]["value"] == "'=value 7"


def test_what_a_dead_process_wrote_without_telling_is_not_there_twice(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.write(*({"value": f"value {n}", "partition": 0} for n in range(1000)))
    monkeypatch.setattr("console.gateway.record_log.BATCH_RECORDS", 100)
    monkeypatch.setattr("workers.reader.run.LIVE_KEPT", 100)
    search = asked(topic)
    told, tell = [0], store.tell

    def dying(*given: Any) -> None:
        told[0] += 1
        if told[0] > 4:
            raise SystemError("the process dies between its file and its word")
        tell(*given)

    monkeypatch.setattr(store, "tell", dying)
    with pytest.raises(SystemError):
        child.read(search)
    monkeypatch.setattr(store, "tell", tell)
    assert files.path_of(search).stat().st_size > store.progress(search.id).file_bytes > 0
    store.give_up(search, "died")
    store.go_on(search)
    child.read(search)
    assert store.progress(search.id).state == "done"
    assert [line["offset"] for line in lines(search)] == list(range(1000))


def test_a_file_is_bounded_and_another_one_goes_on(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.write(*({"value": "x" * 100, "partition": 0} for n in range(1000)))
    monkeypatch.setattr("console.gateway.record_log.BATCH_RECORDS", 100)
    monkeypatch.setattr("workers.reader.run.LIVE_KEPT", 1)
    monkeypatch.setattr(files, "BYTES_MAX", 20_000)
    first = asked(topic)
    child.read(first)
    progress = store.progress(first.id)
    assert progress.state == "full" and 20_000 <= progress.file_bytes < 120_000
    rest = replace(first, id=store.new_id(), query=replace(first.query, at=next_cursor(first.query, progress) or ""))
    monkeypatch.setattr(files, "BYTES_MAX", 10_000_000)
    store.ask(rest)
    child.read(rest)
    assert [line["offset"] for line in lines(first) + lines(rest)] == list(range(1000))
    monkeypatch.setattr(files, "ALL_BYTES_MAX", 1)
    none = asked(topic)
    child.read(none)
    assert store.progress(none.id).state == "failed" and "exports of the last day" in store.progress(none.id).reason


def test_it_is_stopped_and_is_gone_after_a_day(topic: Topic) -> None:
    topic.write(*({"value": "x", "partition": 0} for _ in range(10)))
    search, other = asked(topic), asked(topic, "csv")
    store.stop(search.id, "someone stopped it.")
    child.read(other)
    path, _ = export_file(other)
    os.utime(path, (time.time() - files.KEPT_S - 60,) * 2)
    assert files.clean_up() == 1
    with pytest.raises(NotFound, match="kept for a day"):
        export_file(other)


def test_what_is_hidden_is_hidden_in_the_file(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.write({"value": '{"card": "4111", "n": 1}', "partition": 0})
    rule = Rule(part="field", expression="$.card")
    monkeypatch.setattr("console.actions.records.rules_for", lambda *_: (rule,))
    search = asked(topic)
    child.read(search)
    (line,) = lines(search)
    assert line["value"]["masked"] and "4111" not in str(line)


def test_what_has_no_end_or_no_such_kind_is_refused(topic: Topic) -> None:
    for kind, query, field in (("ndjson", {"start": "live"}, "start"), ("xlsx", {}, "as")):
        with pytest.raises(Invalid) as refused:
            asked(topic, kind, **query)
        assert refused.value.field == field
