"""Spark's queries beside the groups: what their checkpoints say, and what is said of those that say nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from console import env
from console.checkpoints import spark_queries
from console.rules import checkpoints
from console.rules.checkpoints import Unreadable, offsets
from console.snapshot.read import Snapshot

ABOUT = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"spark.sql.shuffle.partitions":"2"}}'


def file_of(*sources: Any) -> str:
    return "\n".join(["v1", ABOUT, *(one if isinstance(one, str) else json.dumps(one) for one in sources)])


def test_kafka_s_sources_are_read_and_others_passed_over() -> None:
    assert offsets(file_of({"orders": {"0": 5, "11": 7}}, "-", {"logOffset": 3}, "17", {"clicks": {"0": 0}})) == {
        ("orders", 0): 5,
        ("orders", 11): 7,
        ("clicks", 0): 0,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "of version ''"),
        ("v2\n{}\n{}", "of version 'v2'"),
        (file_of('{"orders":{"0":5'), "not whole"),
        (file_of("[" * 10 + "{", '{"a":' * 100_000), "not whole"),
        (file_of({"orders": {str(n): 1 for n in range(10_001)}}), "10\u202f001 partitions"),
    ],
)
def test_what_is_no_such_file_is_named(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        offsets(text)


@pytest.mark.parametrize("partitions", [{"a": 5}, {"0": -1}, {"0": "5"}, {"0": True}, {"0": 2**63}, {"٣": 1}, {"1" * 12: 1}])
def test_what_are_no_offsets_is_another_s_source(partitions: dict[str, Any]) -> None:
    assert offsets(file_of({"orders": partitions})) == {}


def test_its_sentence_says_what_came_since() -> None:
    said = [checkpoints.sentence(41, *rest) for rest in ((0, 0, 12.0), (312, 0, 12.0), (0, 1, 7_300.0))]
    assert said == [
        "Batch 41 was committed 12\u202fs ago; nothing came since.",
        "Batch 41 was committed 12\u202fs ago, and 312 records came since.",
        "Batch 41 was committed 2\u202fh ago; where 1 partition of its topics ends is not known.",
    ]


class Query:
    """A checkpoint folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, batch: int, text: str) -> None:
        (self.folder / "offsets").mkdir(parents=True, exist_ok=True)
        (self.folder / "offsets" / str(batch)).write_text(text)
        (self.folder / "offsets" / f".{batch}.crc").write_text("x")

    def commit(self, batch: int) -> None:
        (self.folder / "commits").mkdir(parents=True, exist_ok=True)
        (self.folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


@pytest.fixture
def query(tmp_path: Path, settings: Any, shown: Any) -> Query:
    settings.SPARK_CHECKPOINTS = {"billing": tmp_path / "billing"}
    settings.OWN_CHECKPOINTS = {"own": tmp_path / "own"}
    return Query(tmp_path / "billing")


def found_of(now_ms: int = 10**15) -> Any:
    [found] = spark_queries("local", Snapshot("local"), now_ms)
    return found


def test_the_last_batch_that_is_committed_counts(query: Query) -> None:
    end = Snapshot("local").partition("orders", 0)
    assert end is not None and end.high_watermark is not None
    for batch in (2, 9, 10):
        query.plan(batch, file_of({"orders": {"0": end.high_watermark - batch}}))
    query.commit(9)
    query.commit(2)
    found = found_of()
    assert (found.name, found.batch, found.lag, found.topics) == ("billing", 9, 9, ["orders"])
    assert (found.parts[0].end_offset, found.wrong) == (end.high_watermark, None)
    query.commit(10)
    assert (found_of().batch, found_of().lag) == (10, 10)


def test_an_end_that_is_not_known_makes_no_lag(query: Query) -> None:
    query.plan(0, file_of({"orders": {"0": 1}, "gone": {"0": 5}}))
    query.commit(0)
    found = found_of()
    assert (found.lag, found.parts[0].lag) == (None, None)
    assert "where 1 partition of its topics ends is not known" in found.sentence


def test_what_is_ahead_of_the_end_lags_by_nothing(query: Query) -> None:
    query.plan(0, file_of({"orders": {"0": 10**9}}))
    query.commit(0)
    assert (found_of().lag, found_of().parts[0].lag) == (0, 0)


def test_a_folder_that_says_nothing_is_shown_with_why(query: Query) -> None:
    assert "has no checkpoint of a query" in found_of().wrong
    query.plan(3, file_of({"orders": {"0": 1}}))
    assert found_of().wrong == "No batch has been committed yet."
    query.commit(3)
    query.plan(3, "x" * (2**20 + 1))
    assert "larger than 1 MiB" in found_of().wrong
    (query.folder / "offsets" / "3").write_bytes(b"v1\n\xff")
    assert "cannot be read" in found_of().wrong
    (query.folder / "offsets" / "3").unlink()
    (query.folder / "offsets" / "3").mkdir()
    assert "cannot be read" in found_of().wrong


def test_those_of_other_clusters_are_not_told(query: Query) -> None:
    assert spark_queries("north", Snapshot("north"), 0) == []


def test_page_and_rest_have_them(people: dict[str, Client], tokens: Any, query: Query) -> None:
    query.plan(7, file_of({"orders": {"0": 1}}))
    query.commit(7)
    page = people["viewer"].get("/groups").content.decode()
    assert "Spark queries" in page and "billing" in page and "Batch 7 was committed" in page
    ask = lambda more: Client().get(f"/api/v1/clusters/local/spark-queries{more}", headers=tokens["viewer"])  # noqa: E731
    [one] = ask("").json()["items"]
    assert (one["name"], one["batch"], one["parts"][0]["offset"], one["wrong"]) == ("billing", 7, 1, None)
    assert ask("?limit=0").status_code == 400


def test_without_any_the_page_says_nothing_of_them(people: dict[str, Client], shown: Any, settings: Any, tmp_path: Path) -> None:
    settings.OWN_CHECKPOINTS = {"own": tmp_path / "own"}
    assert "Spark queries" not in people["viewer"].get("/groups").content.decode()


@pytest.mark.parametrize("text", ["a", "a=", "a=relative", "=/x", "a/b=/x", "a=/x,a=/y"])
def test_folders_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="HIGHWATER_SPARK_CHECKPOINTS"):
        env.folders({"HIGHWATER_SPARK_CHECKPOINTS": text}, "HIGHWATER_SPARK_CHECKPOINTS")


def test_folders_by_name() -> None:
    assert env.folders({"F": "a=/x, b.c=/y/z,"}, "F") == {"a": Path("/x"), "b.c": Path("/y/z")}
