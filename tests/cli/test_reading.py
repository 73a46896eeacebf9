"""What is typed on a command line, and what tables do to fit a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.local.layout import Layout
from cli import access, read
from cli.errors import Problem, Stopped, Usage
from cli.main import main, new
from cli.rest import Rest, named
from cli.table import Column, fitted, plain, table
from tests.support.ports import free_ports


def test_settings() -> None:
    assert read.settings(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(Usage):
            read.settings(wrong)


@pytest.mark.parametrize(
    ("text", "found"),
    [("orders", ("orders", None)), ("orders:0", ("orders", [0])), ("a:0,2-4", ("a", [0, 2, 3, 4]))],
)
def test_partitions(text: str, found: object) -> None:
    assert read.partitions(text) == found


@pytest.mark.parametrize("text", ["a:", "a:x", "a:3-1", "a:-1", "a:0-999999999", "a:٣"])
def test_partitions_that_are_none(text: str) -> None:
    with pytest.raises(Usage):
        read.partitions(text)


@pytest.mark.parametrize(("text", "rate"), [("1000", 1000), ("10MiB", 10 * 2**20), ("10 MiB/s", 10 * 2**20), ("2kb", 2000)])
def test_rates(text: str, rate: int) -> None:
    assert read.bytes_a_second(text) == rate


def test_a_throttle_is_a_rate_or_a_floor_and_a_ceiling() -> None:
    assert read.throttle("10MiB") == 10 * 2**20
    assert read.throttle("5MiB-50 MiB/s") == {"floor": 5 * 2**20, "ceiling": 50 * 2**20}
    with pytest.raises(Usage, match="is no rate"):
        read.throttle("5MiB-")


def test_kafka_s_json_and_ours() -> None:
    row = {"topic": "a", "partition": 0, "replicas": [1, 2]}
    for shape in ({"version": 1, "partitions": [row | {"log_dirs": ["any", "any"]}]}, {"assignments": [row]}, [row]):
        assert read.assignments(json.dumps(shape), "f") == [row]
    for wrong in ("{", "[" * 100_000, "{}", '{"partitions": 3}', "[1]", json.dumps([row | {"log_dirs": ["/data"]}])):
        with pytest.raises(Usage):
            read.assignments(wrong, "f")


def test_a_table_fits_where_it_can() -> None:
    columns = [Column("NAME", lambda r: r[0]), Column("N", lambda r: r[1], right=True)]
    rows = [("a" * 50, "1"), ("b", "12 345")]
    assert table(columns, rows).splitlines()[1] == "a" * 50 + "       1"
    narrow = table(columns, rows, 30).splitlines()
    assert [len(line) for line in narrow] == [30, 30, 30]
    assert narrow[1].startswith("a" * 21 + "…")
    assert fitted([50, 6], 10, [False, True]) == [12, 6], "figures are never cut"


def test_names_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b[2Jb\nc\u202ed") == "a\\x1b[2Jb\\nc\\u202ed"


def test_paths_keep_names_whole() -> None:
    assert named("clusters", "local", "groups", "a/b ?#%") == "/clusters/local/groups/a%2Fb%20%3F%23%25"


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1:8000", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(Usage):
        Rest(url, "t")


def test_where_the_token_comes_from(tmp_path: Path) -> None:
    ports = {f"HIGHWATER_{name}_PORT": str(free_ports(3)) for name in ("ZOOKEEPER", "REDIS", "BROKER", "CONSOLE", "METRICS")}
    layout = Layout.from_environment(tmp_path / "data", ports)
    layout.prepare()
    (layout.folder("secrets") / "command-token").write_text("hw_saved\n")
    data = tmp_path / "data"
    assert access.find(data, None, ports).token == "hw_saved"
    assert access.find(data, layout.console_url, ports).token == "hw_saved"
    assert access.find(data, None, {**ports, "HIGHWATER_TOKEN": "hw_given"}) == (layout.console_url, "hw_given", "HIGHWATER_TOKEN")
    file = tmp_path / "file"
    file.write_text("hw_file\n")
    assert access.find(data, "http://else", {**ports, "HIGHWATER_TOKEN_FILE": str(file)})[:2] == ("http://else", "hw_file")
    for url, more in (("http://else", {}), (None, {"HIGHWATER_TOKEN": "a\r\nb"}), (None, {"HIGHWATER_TOKEN_FILE": "/nowhere"})):
        with pytest.raises(Usage):
            access.find(data, url, {**ports, **more})
    with pytest.raises(Usage, match="Where is the console"):
        access.find(tmp_path / "none", None, {})
    assert not (tmp_path / "none").exists()


def test_what_does_not_answer_is_told_apart_from_what_refuses() -> None:
    assert Problem({"code": "snapshot-away", "title": "x"}).status == 3
    assert Problem({"code": "topic-exists", "title": "x", "kafka_name": "TOPIC_ALREADY_EXISTS", "kafka_code": 36}).status == 1
    assert isinstance(Usage(""), Stopped)


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    parser = new()
    nouns = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    assert {"up", "down", "broker", "token", "topics", "groups", "jobs", "reassign", "elect", "events", "audit", "reports"} <= set(nouns)
    for words in (["--help"], ["topics", "--help"], ["groups", "reset", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
    with pytest.raises(SystemExit) as ended:
        main(["topics", "grow", "orders"])
    assert ended.value.code == 2
    assert "highwater" in capsys.readouterr().err
