"""The commands that ask REST, run as a person or a script runs them against the running system."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from broker_core.cli.tokens import token_file
from tests.support.clients import produce, read_all
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic, heard, make_token

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("HIGHWATER_URL", "HIGHWATER_TOKEN", "HIGHWATER_TOKEN_FILE", "HIGHWATER_CLUSTER")


class Commands:
    def __init__(self, data: Path, **more: str) -> None:
        self._data = data
        self.environment = {name: value for name, value in os.environ.items() if name not in OURS} | more

    def run(self, *words: str, stdin: Any = subprocess.DEVNULL, **more: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cli.main", "--data", str(self._data), *words]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, stdin=stdin, capture_output=True, text=True, timeout=120, check=False, **more
        )

    def said(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.said(*words, "--json"))


@pytest.fixture(scope="module")
def highwater(system: ConsoleSystem, rest: Rest) -> Commands:
    return Commands(system.data)


def test_the_local_system_s_address_and_token_are_found(system: ConsoleSystem, highwater: Commands) -> None:
    """The first command makes a token; it is its owner's alone, and the next one takes it."""
    token_file(system.layout).unlink(missing_ok=True)
    found = highwater.json("settings")
    assert (found["url"], found["role"]) == (system.layout.console_url, "admin")
    assert token_file(system.layout).stat().st_mode & 0o777 == 0o600
    assert highwater.json("settings")["name"] == found["name"]


def test_a_token_that_is_given_is_taken(system: ConsoleSystem, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(make_token(system, "commands-viewer", "viewer") + "\n")
    viewer = Commands(tmp_path / "no-data", HIGHWATER_URL=system.url, HIGHWATER_TOKEN_FILE=str(file))
    assert viewer.json("settings")["role"] == "viewer"
    refused = viewer.run("topics", "create", "never")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "needs the role operator" in refused.stderr
    problem = json.loads(viewer.run("topics", "create", "never", "--json").stderr)
    assert (problem["code"], problem["status"]) == ("forbidden", 403)


def test_the_folder_s_token_goes_nowhere_else(highwater: Commands) -> None:
    done = highwater.run("topics", "list", "--url", "http://127.0.0.1:9")
    assert (done.returncode, "No token for" in done.stderr) == (2, True)


def test_nothing_answers(system: ConsoleSystem) -> None:
    away = Commands(system.data, HIGHWATER_TOKEN="hw_x", HIGHWATER_URL="http://127.0.0.1:9")
    done = away.run("topics", "list")
    assert (done.returncode, "does not answer" in done.stderr) == (3, True)
    assert Commands(system.data, HIGHWATER_TOKEN="hw_x").run("topics", "list").returncode == 1, "401"


def test_a_topic_s_life(highwater: Commands, rest: Rest) -> None:
    name = f"commands-life-{time.time_ns()}"
    make = ("topics", "create", name, "--partitions", "2", "--replication-factor", "3", "--config", "retention.ms=3600000")
    assert "Nothing was done" in highwater.said(*make, "--dry-run")
    assert rest.ask("GET", f"{LOCAL}/topics/{name}").status == 404
    highwater.said(*make)
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/{name}").status == 200, 60, name)
    again = highwater.run(*make)
    assert (again.returncode, "TOPIC_ALREADY_EXISTS (36)" in again.stderr) == (1, True)
    tried = highwater.json("topics", "alter", name, "--set", "retention.ms=7200000", "--dry-run")
    assert tried["changes"] == [{"label": "retention.ms", "before": "3600000", "after": "7200000"}]
    highwater.said("topics", "alter", name, "--set", "retention.ms=7200000", "--set", "segment.ms=60000")
    highwater.said("topics", "alter", name, "--unset", "segment.ms")
    tried = highwater.json("configs", "alter", f"topic/{name}", "--unset", "segment.ms", "--set", "retention.ms=3600000", "--dry-run")
    assert ([c["label"] for c in tried["changes"]], len(tried["risks"])) == (["retention.ms", "segment.ms"], 1)
    said = highwater.said("configs", "describe", f"topic/{name}")
    assert "retention.ms" in said and "segment.ms" not in said
    highwater.said("configs", "alter", "brokers", "--set", "log.cleaner.backoff.ms=15001")
    assert "log.cleaner.backoff.ms" in highwater.said("configs", "describe", "brokers")
    highwater.said("configs", "alter", "brokers", "--unset", "log.cleaner.backoff.ms")
    own = {c["name"]: c["value"] for c in highwater.json("topics", "describe", name)["configs"] if c["source"] == "topic"}
    assert own == {"retention.ms": "7200000"}
    risky = highwater.run("topics", "alter", name, "--set", "unclean.leader.election.enable=true")
    assert (risky.returncode, "acknowledged" in risky.stderr) == (1, True)
    highwater.said("topics", "alter", name, "--set", "unclean.leader.election.enable=true", "--yes")
    assert highwater.json("topics", "grow", name, "4", "--dry-run")["changes"] == [{"label": "partitions", "before": 2, "after": 4}]
    highwater.said("topics", "grow", name, "4")
    assert [t["topic"] for t in highwater.json("topics", "list", "--like", name)] == [name]
    assert name in highwater.said("topics", "list", "--like", name).splitlines()[1]
    assert "commands-life" in highwater.said("topics", "delete", name, "--dry-run")
    unconfirmed = highwater.run("topics", "delete", name)
    assert (unconfirmed.returncode, "give --yes" in unconfirmed.stderr) == (2, True)
    highwater.said("topics", "delete", name, "--yes")
    eventually(lambda: rest.ask("GET", f"{LOCAL}/topics/{name}").status == 404, 60, f"{name} gone")
    assert highwater.run("topics", "describe", name).returncode == 1


@pytest.mark.parametrize(("typed", "status"), [("{name}\n", 0), ("something\n", 2)])
def test_whoever_sits_there_types_the_name(highwater: Commands, rest: Rest, make_topic: MakeTopic, typed: str, status: int) -> None:
    name = make_topic("typed", [[1, 2, 3]])
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.format(name=name).encode())
        done = highwater.run("topics", "delete", name, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == status, done
    gone = lambda: rest.ask("GET", f"{LOCAL}/topics/{name}").status == 404  # noqa: E731
    assert gone() if status == 0 else not gone()


def test_a_group_s_offsets_are_moved(system: ConsoleSystem, highwater: Commands, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("reset", [[1, 2, 3], [2, 3, 1]])
    produce(system, topic, [b"x"] * 40)
    heard(rest)

    def reset(*words: str) -> dict[int, int]:
        found = highwater.json("groups", "reset", "commands-group", *words, "--yes")
        return {row["partition"]: row["after"] for row in found}

    ends = reset("--topic", topic, "--to-latest")
    assert sum(ends.values()) == 40
    assert reset("--topic", topic, "--to-earliest", "--dry-run") == {0: 0, 1: 0}
    eventually(lambda: rest.ask("GET", f"{LOCAL}/groups/commands-group").status == 200, 60, "the group in the console")
    full = max(ends, key=lambda number: ends[number])
    assert reset("--topic", f"{topic}:{full}", "--shift-by", "-5") == {full: ends[full] - 5}
    assert reset("--topic", f"{topic}:{full}", "--to-offset", "3") == {full: 3}
    assert reset("--topic", topic, "--to-time", "2020-01-01") == {0: 0, 1: 0}
    assert reset("--topic", topic, "--to-time", "2099-01-01T00:00Z") == ends
    eventually(lambda: rest.get(f"{LOCAL}/groups/commands-group")["lag"] == 0, 60, "no lag")
    assert reset("--all-topics", "--to-earliest") == {0: 0, 1: 0}
    assert "COMMITTED" in highwater.said("groups", "describe", "commands-group")
    assert "commands-group" in [g["group"] for g in highwater.json("groups", "list", "--like", "commands")]
    highwater.said("groups", "delete", "commands-group", "--yes")


def test_jobs_are_begun_and_followed(system: ConsoleSystem, highwater: Commands, rest: Rest, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic("moved", [[1, 2]])
    file = tmp_path / "move.json"
    rows = [{"topic": topic, "partition": 0, "replicas": [2, 3], "log_dirs": ["any", "any"]}]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    assert highwater.json("reassign", str(file), "--dry-run") == [{"topic": topic, "partition": 0, "replicas": [2, 3], "now": [1, 2]}]
    done = highwater.json("reassign", str(file), "--throttle", "50MiB", "--yes", "--watch")
    assert (done["state"], done["params"]["throttle"]) == ("succeeded", 50 * 2**20)
    eventually(lambda: rest.partitions(topic)[0]["assignment"] == [2, 3], 60, "the new replicas")
    _moves_by_a_goal(highwater, rest, topic)
    assert "succeeded" in highwater.said("elect", "--topic", topic, "--watch")
    assert {job["kind"] for job in highwater.json("jobs", "list")} >= {"reassignment", "preferred_leader_election"}
    assert highwater.json("jobs", "show", str(done["id"]))["state"] == "succeeded"
    over = highwater.run("jobs", "cancel", str(done["id"]), "--yes")
    assert (over.returncode, "has succeeded already" in over.stderr) == (1, True)
    report = highwater.json("reports", "run")
    assert highwater.json("reports", "show")["id"] == report["id"]
    assert "Group lag" in highwater.said("reports", "show", str(report["id"]))


def _moves_by_a_goal(highwater: Commands, rest: Rest, topic: str) -> None:
    """From 2, 3 away from 3: a plan that is shown, then the job that carries it out."""
    eventually(lambda: highwater.json("reassign", "--topics", topic, "--away", "3", "--dry-run")["plan"]["moves"], 60, "a plan")
    (move,) = highwater.json("reassign", "--topics", f"{topic}:0", "--away", "3", "--dry-run")["plan"]["moves"]
    assert (move["before"], move["replicas"], move["why"]) == ([2, 3], [2, 1], "3 goes: it is to be emptied. 1 comes.")
    assert "it is to be emptied" in highwater.said("reassign", "--topics", topic, "--away", "3", "--dry-run")
    balance = highwater.json("reassign", "--topics", topic, "--balance", "racks,replicas", "--away", "3", "--dry-run")["plan"]
    assert {each["aim"] for each in balance["unmet"]} <= {"racks", "replicas"}
    assert all(3 not in move["replicas"] and "the broker is to be emptied" in move["why"] for move in balance["moves"])
    assert highwater.run("reassign", "--balance", "beauty").returncode == 2
    assert highwater.json("reassign", "--topics", topic, "--away", "3", "--yes", "--watch")["state"] == "succeeded"
    eventually(lambda: rest.partitions(topic)[0]["assignment"] == [2, 1], 60, "the new replicas")
    assert "Nothing would change" in highwater.said("reassign", "--topics", topic, "--away", "3", "--yes")
    assert highwater.run("reassign", "--throttle", "1MiB").returncode == 2


def test_what_happens_is_told(highwater: Commands, make_topic: MakeTopic, rest: Rest) -> None:
    topic = make_topic("told", [[1, 2, 3]])
    eventually(lambda: any(e["topic"] == topic for e in rest.events()), 60, "its event")
    assert topic in highwater.said("events", "list", "--topic", topic)
    assert topic in highwater.said("events", "tail", "--topic", topic, "--seconds", "0")
    highwater.said("topics", "alter", topic, "--set", "retention.ms=1", "--yes")
    assert highwater.json("audit", "list", "--limit", "1")[0]["action"] == "change topic settings"
    assert len(highwater.said("brokers", "list").splitlines()) == 4
    assert highwater.json("clusters", "describe")["id"] == "local"


def test_names_are_completed_from_rest(system: ConsoleSystem, highwater: Commands, make_topic: MakeTopic, tmp_path: Path) -> None:
    name = make_topic("complete-me", [[1, 2, 3]])
    highwater.said("settings")  # which makes the token

    def completed(line: str) -> list[str]:
        told = tmp_path / "told"
        told.write_text("")
        asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(told), "COMP_LINE": line, "COMP_POINT": str(len(line))}
        highwater_here = Commands(system.data, **asked, COMP_TYPE="9", _ARGCOMPLETE_IFS="\n")
        highwater_here.run()
        return [word.strip() for word in told.read_text().split("\n") if word.strip()]

    data = f"highwater --data {system.data}"
    assert completed(f"{data} topics describe complete-m") == [name]
    assert "topics" in completed(f"{data} top")
    assert completed(f"{data} topics list --cluster lo") == ["local"]


def test_records_are_searched_for(system: ConsoleSystem, highwater: Commands, make_topic: MakeTopic) -> None:
    topic = make_topic("searched", [[1, 2, 3]])
    produce(system, topic, [b"value %d" % n for n in range(40)])
    done = highwater.run("records", "search", topic, "--text", "value 3", "--start", "oldest")
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == ["0/3", *(f"0/{n}" for n in range(30, 40))]
    assert done.stdout.splitlines()[0].endswith("-  value 3")
    assert "11 records found" in done.stderr and "nothing was skipped" in done.stderr
    found = highwater.json("records", "search", topic, "--count", "3", "--origin")
    assert ([one["offset"] for one in found["items"]], found["search"]["state"]) == ([39, 38, 37], "full")
    assert found["items"][0]["origin"] is not None
    assert highwater.run("records", "search", topic, "--text", "[", "--regex").returncode == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A program that is started in the background may ignore SIGINT, and what it starts would too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_search_itself(system: ConsoleSystem, highwater: Commands, make_topic: MakeTopic) -> None:
    topic = make_topic("followed", [[1, 2, 3]])
    words = [sys.executable, "-m", "cli.main", "--data", str(system.data), "records", "search", topic, "--start", "live"]
    with subprocess.Popen(words, cwd=ROOT, env=highwater.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        while "records read" not in running.stderr.readline():  # told once it reads, from the end that there is then
            assert running.poll() is None
        produce(system, topic, [b"one", b"two"])
        assert [running.stdout.readline().split("  ")[-1].strip() for _ in range(2)] == ["one", "two"]
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
        assert running.wait(60) == 130
    assert "2 records found" in said and "stopped it" in said


def test_records_are_exported_into_a_file(system: ConsoleSystem, highwater: Commands, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, file = make_topic("exported", [[1, 2, 3]]), tmp_path / "found.csv"
    produce(system, topic, [b"value %d" % n for n in range(700)])
    words = ("records", "export", topic, "--text", "value", "--output", str(file), "--as", "csv")
    done = highwater.run(*words)
    assert done.returncode == 0, done.stderr
    assert "700 records found" in done.stderr and "written." in done.stderr and done.stdout == ""
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["value"] for row in rows] == [f"value {n}" for n in range(700)]
    refused = highwater.run(*words)
    assert refused.returncode == 2 and "is there already" in refused.stderr
    told = highwater.json(*words, "--force")
    assert (told["state"], told["found"], told["file_bytes"]) == ("done", 700, file.stat().st_size)
    lines = highwater.said("records", "export", topic, "--text", "value 69", "--output", "-").splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [69, *range(690, 700)]
    assert highwater.run("records", "export", topic, "--text", "nowhere", "--output", str(tmp_path / "none")).returncode == 0
    assert (tmp_path / "none").read_bytes() == b"" and sorted(one.name for one in tmp_path.iterdir()) == ["found.csv", "none"]
    away = highwater.run("records", "export", topic, "--output", str(tmp_path / "no" / "folder"))
    assert away.returncode == 1 and "cannot be written" in away.stderr


def test_records_are_copied_by_a_worker(system: ConsoleSystem, highwater: Commands, make_topic: MakeTopic) -> None:
    """In a process of its own: a dead-letter topic goes back, but for what is not wanted."""
    source, target = (make_topic(name, [[1, 2, 3]]) for name in ("dead-letters", "redriven"))
    produce(system, source, [b"again %d" % n if n % 2 else b"never" for n in range(40)])
    asked = ("records", "copy", source, target, "--text", "again", "--from-offset", "10")
    assert highwater.json(*asked, "--dry-run")["offsets"] == 30
    job = highwater.json(*asked, "--yes", "--watch")
    assert (job["state"], job["result"]["copied"], job["progress"]["done"]) == ("succeeded", 15, 30), job
    copied = [one.value() for one in read_all(system, target, 15)]
    assert sorted(copied) == sorted(b"again %d" % n for n in range(11, 40, 2))


def test_what_kafka_s_tools_do_beside_it(
    system: ConsoleSystem, highwater: Commands, rest: Rest, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Writing, offsets by name and time, deleting records: as kafka-console-producer, kafka-get-offsets and kafka-delete-records."""
    topic = make_topic("as-tools", [[1, 2], [2, 3]])
    lines = tmp_path / "lines"
    lines.write_text("k;one\nk;NULL\nk;three\n")
    words = ("records", "write", topic, "--separator", ";", "--null", "NULL", "--header", "from=test", "--partition", "0")
    with lines.open() as file:
        done = highwater.run(*words, "--json", stdin=file)
    assert (done.returncode, json.loads(done.stdout)["written"]) == (0, 3), done.stderr
    assert "at 0." in highwater.said("records", "write", topic, "--value", "alone", "--partition", "1")
    assert [one.value() for one in read_all(system, topic, 4, partitions=2) if one.partition() == 0] == [b"one", None, b"three"]
    with lines.open() as file:
        assert highwater.run("records", "write", topic, "--separator", "|", stdin=file).returncode == 2
    assert highwater.run("records", "write", topic, "--value", "x", "--partition", "7").returncode == 1

    def offsets(at: str) -> list[int | None]:
        return [row["offset"] for row in highwater.json("topics", "offsets", topic, "--at", at)]

    assert (offsets("latest"), offsets("earliest")) == ([3, 1], [0, 0])
    newest = offsets("max-timestamp")
    assert newest[0] in (0, 1, 2) and newest[1] == 0, "three were written within one millisecond, or not"
    assert (offsets("2020-01-01"), offsets("2099-01-01T00:00Z"), offsets("0")) == ([0, 0], [None, None], [0, 0])
    assert highwater.run("topics", "offsets", topic, "--at", "noon").returncode == 2
    assert topic in highwater.said("topics", "offsets", topic, "--partition", "1").splitlines()[1]
    file = tmp_path / "delete.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 2}]}))
    tried = highwater.json("records", "delete", "--file", str(file), "--dry-run")
    assert [(row["first"], row["then"]) for row in tried[0]["partitions"]] == [(0, 2)]
    assert highwater.run("records", "delete", "--file", str(file)).returncode == 2, "nobody confirms"
    highwater.said("records", "delete", "--file", str(file), "--yes")
    assert offsets("earliest") == [2, 0]
    highwater.said("records", "delete", f"{topic}:1", "--all", "--yes")
    assert offsets("earliest") == [2, 1]
    assert highwater.run("records", "delete", topic, "--before-offset", "9", "--file", str(file)).returncode == 2


def test_partitions_are_filtered_and_members_told(system: ConsoleSystem, highwater: Commands, rest: Rest, make_topic: MakeTopic) -> None:
    topic = make_topic("scarce", [[1, 2, 3], [2, 3, 1]])
    highwater.said("topics", "alter", topic, "--set", "min.insync.replicas=4", "--yes")

    def found(*filters: str) -> list[int]:
        return [row["partition"] for row in highwater.json("topics", "partitions", "--like", topic, *filters)]

    eventually(lambda: found("--under-min-isr") == [0, 1], 60, "the console knows the setting")
    assert (found(), found("--at-min-isr"), found("--unavailable"), found("--under-replicated")) == ([0, 1], [], [], [])
    highwater.said("topics", "alter", topic, "--set", "min.insync.replicas=3", "--yes")
    eventually(lambda: found("--at-min-isr", "--unavailable") == [0, 1], 60, "the console knows the setting")
    assert topic in highwater.said("topics", "partitions", "--like", topic).splitlines()[1]
    settings = {"bootstrap.servers": system.bootstrap_servers, "group.id": "commands-members", "client.id": "commands-client"}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.2) is None and len(consumer.assignment()) == 2, 60, "a member")
        eventually(lambda: _clients(highwater) == ["commands-client"], 60, "the console knows it")
        said = highwater.said("groups", "describe", "commands-members", "--members")
        assert f"{topic}-0, {topic}-1" in said and "State Stable; coordinator" in said
        assert "commands-members" in [g["group"] for g in highwater.json("groups", "list", "--state", "Stable")]
        assert "commands-members" not in [g["group"] for g in highwater.json("groups", "list", "--state", "Empty")]
    finally:
        consumer.close()


def _clients(highwater: Commands) -> list[str]:
    done = highwater.run("groups", "describe", "commands-members", "--members", "--json")
    return [member["client_id"] for member in json.loads(done.stdout)["members"]] if done.returncode == 0 else []


def test_log_levels(highwater: Commands, rest: Rest) -> None:
    heard(rest)
    assert {"name": "root", "level": "INFO"} in highwater.json("configs", "describe", "loggers/1")
    logger = "broker_core.replication.following.follower"
    tried = highwater.json("configs", "alter", "loggers/1", "--set", f"{logger}=DEBUG", "--dry-run")
    assert tried["changes"] == [{"name": logger, "before": "INFO", "after": "DEBUG"}]
    highwater.said("configs", "alter", "loggers/1", "--set", f"{logger}=DEBUG")
    assert "DEBUG" in highwater.said("configs", "describe", "loggers/1", "--like", logger)
    assert highwater.json("configs", "describe", "loggers/2", "--like", logger)[0]["level"] == "INFO", "of one broker alone"
    highwater.said("configs", "alter", "loggers/1", "--unset", logger)
    assert highwater.json("configs", "describe", "loggers/1", "--like", logger)[0]["level"] == "INFO"
    assert highwater.run("configs", "alter", "loggers/1", "--set", "no.such=INFO").returncode == 1


def test_moves_of_others_are_listed_verified_and_cancelled(
    system: ConsoleSystem, highwater: Commands, rest: Rest, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Begun by another client, and so slow that it is found under way."""
    topic = make_topic("foreign", [[1, 2]])
    produce(system, topic, [b"x" * 900_000] * 8)
    file = tmp_path / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1, 3]}]}))
    others = KafkaAdminClient(bootstrap_servers=system.bootstrap_servers)
    slow = {"leader.replication.throttled.rate": ("SET", "1"), "follower.replication.throttled.rate": ("SET", "1")}
    lists = {"leader.replication.throttled.replicas": ("SET", "*"), "follower.replication.throttled.replicas": ("SET", "*")}
    brokers = [ConfigResource(ConfigResourceType.BROKER, str(number), dict(slow)) for number in (1, 2, 3)]
    try:
        others.alter_configs([*brokers, ConfigResource(ConfigResourceType.TOPIC, topic, lists)], raise_on_unknown=False)
        others.alter_partition_reassignments({TopicPartition(topic, 0): [1, 3]})
        listed = highwater.json("reassign", "--list")
        assert [(m["topic"], m["adding"], m["removing"], m["job"]) for m in listed] == [(topic, [3], [2], None)]
        pending = highwater.run("reassign", str(file), "--verify")
        assert (pending.returncode, "under way" in pending.stdout) == (1, True), pending
        assert topic in highwater.said("reassign", str(file), "--cancel", "--dry-run")
        assert highwater.run("reassign", str(file), "--cancel").returncode == 2, "nobody confirms"
        highwater.said("reassign", str(file), "--cancel", "--yes")
        assert "Nothing is being moved." in highwater.said("reassign", "--list")
        assert highwater.run("reassign", str(file), "--cancel", "--yes").returncode == 2
        others.alter_partition_reassignments({TopicPartition(topic, 0): [1, 3]})
        adopted = highwater.json("reassign", "--adopt", "--yes")
        assert highwater.json("reassign", "--list")[0]["job"] == adopted["id"]
        eventually(lambda: "1 of 1 partition is moving" in rest.job(adopted)["message"], 60, "the move is the job's")
        assert rest.ask("DELETE", f"/api/v1/jobs/{adopted['id']}").status == 202
        assert rest.until(adopted, 60)["state"] == "cancelled"
        assert "Nothing is being moved." in highwater.said("reassign", "--list")
    finally:
        for resource in brokers:
            resource.configs = dict.fromkeys(slow, ("DELETE", None))
        others.alter_configs(brokers, raise_on_unknown=False)
        others.close()
    assert "has other replicas" in highwater.run("reassign", str(file), "--verify").stdout
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1, 2]}]}))
    eventually(lambda: highwater.run("reassign", str(file), "--verify").returncode == 0, 60, "it has what it had")
