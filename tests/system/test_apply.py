"""`highwater apply` against the running system: what a folder wants is shown, made, and is then no drift."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from cli.commands.wanted import PAGE
from tests.support.cluster import eventually
from tests.support.console_system import ConsoleSystem
from tests.support.rest import LOCAL, Rest
from tests.system.conftest import MakeTopic, heard
from tests.system.test_commands import Commands


@pytest.fixture
def highwater(system: ConsoleSystem, rest: Rest) -> Commands:
    heard(rest)
    return Commands(system.data)


def test_a_cluster_becomes_what_a_folder_wants(highwater: Commands, rest: Rest, make_topic: MakeTopic, tmp_path: Path) -> None:
    old, unwanted = make_topic("apply-old", [[1, 2], [2, 3]]), make_topic("apply-unwanted", [[1]])
    new, placed = f"apply-new-{uuid.uuid4().hex[:6]}", f"apply-placed-{uuid.uuid4().hex[:6]}"
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.yaml").write_text("not: ours")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "a.yml").write_text(
        f"topics:\n  {old}:\n    partitions: 3\n    replication_factor: 3\n    configs: {{retention.ms: 7200000}}\n"
        f"  {placed}: {{assignment: [[3, 1], [2, 3]]}}\n"
    )
    (tmp_path / "b.yaml").write_text(
        f"topics:\n  {new}: {{partitions: 2, replication_factor: 2}}\nbrokers:\n  configs: {{log.retention.ms: 604800001}}\n"
    )
    folder = str(tmp_path)

    plan = highwater.json("apply", folder, "--dry-run")
    states = {drift["object"]: drift["state"] for drift in plan["drifts"]}
    wanted = {f"topic/{old}": "differs", f"topic/{new}": "missing", f"topic/{placed}": "missing", "brokers": "differs"}
    assert states.items() >= {**wanted, f"topic/{unwanted}": "unmanaged"}.items()
    assert rest.ask("GET", f"{LOCAL}/topics/{new}").status == 404
    unconfirmed = highwater.run("apply", folder)
    assert (unconfirmed.returncode, "4 objects would be changed" in unconfirmed.stderr) == (2, True)

    said = highwater.said("apply", folder, "--yes", "--prune", unwanted)
    assert said.rstrip().endswith("The cluster is as it is wanted."), said
    eventually(lambda: [sorted(p["assignment"]) for p in rest.partitions(old)] == [[1, 2, 3]] * 3, 60, f"{old} as wanted")
    assert {c["name"]: c["value"] for c in rest.get(f"{LOCAL}/topics/{old}")["configs"] if c["source"] == "topic"} == {
        "retention.ms": "7200000"
    }
    eventually(lambda: [p["assignment"] for p in rest.partitions(placed)] == [[3, 1], [2, 3]], 60, f"{placed} as wanted")
    assert rest.ask("GET", f"{LOCAL}/topics/{unwanted}").status == 404

    again = highwater.json("apply", folder, "--dry-run")
    assert not [drift for drift in again["drifts"] if drift["state"] != "unmanaged"]
    assert rest.get(f"{LOCAL}/wanted")["topics"] == 3
    (tmp_path / "b.yaml").write_text(f"topics:\n  {new}: {{partitions: 1}}\nbrokers:\n")
    shrunk = [drift for drift in highwater.json("apply", folder, "--dry-run")["drifts"] if drift["state"] != "unmanaged"]
    assert [(drift["object"], drift["state"]) for drift in shrunk] == [(f"topic/{new}", "impossible")]


def test_clients_quotas_become_what_a_folder_wants(highwater: Commands, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("quotas:\n  - {user: alice, limits: {producer_byte_rate: 5}}\n")
    folder = str(tmp_path)

    def differing() -> list[tuple[str, str]]:
        drifts = highwater.json("apply", folder, "--dry-run")["drifts"]
        return [(drift["object"], drift["state"]) for drift in drifts if drift["object"].startswith("quota/")]

    assert differing() == [("quota/user=alice", "missing")]
    assert "The cluster is as it is wanted." in highwater.said("apply", folder, "--yes")
    assert differing() == []


def test_more_objects_than_a_page_holds_are_all_told_and_counted(highwater: Commands, make_topic: MakeTopic, tmp_path: Path) -> None:
    unwanted = make_topic("apply-many", [[1]])
    many = "".join(f"  many-{number:05}: {{partitions: 1, replication_factor: 1}}\n" for number in range(PAGE + 3))
    (tmp_path / "a.yaml").write_text(f"topics:\n{many}")
    plan = highwater.json("apply", str(tmp_path), "--dry-run", "--prune", unwanted)
    assert plan["counts"]["missing"] == PAGE + 3 == sum(drift["state"] == "missing" for drift in plan["drifts"])
    assert f"topic/{unwanted}" in [drift["object"] for drift in plan["drifts"]]
    assert f"{PAGE + 3} objects would be changed" in highwater.run("apply", str(tmp_path)).stderr


def test_what_cannot_be_meant_names_file_and_line(highwater: Commands, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("topics:\n  a: {partitions: 1}\n  a: {partitions: 2}\n")
    wrong = highwater.run("apply", str(tmp_path), "--yes")
    assert (wrong.returncode, "a.yaml:3" in wrong.stderr) == (1, True)
    assert highwater.run("apply", str(tmp_path / "nowhere"), "--yes").returncode == 2
    (tmp_path / "a.yaml").write_text("topics: {}\n")
    kept = highwater.run("apply", str(tmp_path), "--yes", "--prune", "__consumer_offsets")
    assert (kept.returncode, "not a topic which is there" in kept.stderr) == (2, True)
