"""`highwater schedules` and `highwater elect --broker`, against the console's REST itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.main import main
from console.actions.schedules import create_schedule
from console.models import Cluster, Job, ReturnElection, Schedule
from console.roles import OPERATOR, Actor
from tests.support.console_fixtures import *  # noqa: F403
from tests.support.rest_in_process import answer_here


@pytest.fixture(autouse=True)
def console(local: Cluster, shown: Any, kafka: Any, sent: Any, tokens: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    kafka.topics_ = {"orders": {0: [1, 2, 3]}}
    answer_here(monkeypatch, tokens["operator"])


@pytest.fixture
def nightly(local: Cluster) -> Schedule:
    parts = {"kind": "preferred_leader_election", "params": {}, "cron": "0 2 * * *", "zone": "Europe/Berlin"}
    return create_schedule(Actor("x", OPERATOR, "api"), local, name="Leaders at night", **parts)  # type: ignore[arg-type]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_they_are_listed_as_a_table_and_as_json(nightly: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    head, row = said(capsys, "schedules", "list").splitlines()
    assert head.split() == ["ID", "NAME", "DOES", "CRON", "ZONE", "NEXT", "LAST"]
    assert "Elect the preferred leaders of all topics." in row
    assert "02:00 Europe/Berlin)" in row
    assert row.endswith("not yet")
    [found] = json.loads(said(capsys, "schedules", "list", "--json"))
    assert (found["id"], found["cron"]) == (nightly.pk, "0 2 * * *")


def test_no_schedule_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "schedules", "list") == "No schedules.\n"
    assert main(["schedules", "show", "nothing"]) == 2
    assert "There is no schedule 'nothing'" in capsys.readouterr().err
    assert main(["schedules", "pause", "7"]) == 1


def test_one_is_paused_resumed_and_run_by_id_or_name(nightly: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    assert "dry run" in said(capsys, "schedules", "pause", str(nightly.pk), "--dry-run")
    assert not Schedule.objects.get().paused
    assert "Paused" in said(capsys, "schedules", "pause", "LEADERS AT NIGHT")
    assert Schedule.objects.get().paused
    assert "Were it not paused" in said(capsys, "schedules", "show", str(nightly.pk))
    assert "Paused" not in said(capsys, "schedules", "resume", str(nightly.pk))
    assert "dry run" in said(capsys, "schedules", "run", str(nightly.pk), "--dry-run")
    assert not Job.objects.exists()
    assert "queued" in said(capsys, "schedules", "run", str(nightly.pk))
    shown = json.loads(said(capsys, "schedules", "show", str(nightly.pk), "--json"))
    assert (len(shown["times"]), shown["runs"][0]["job"]) == (5, Job.objects.get().pk)
    assert main(["schedules", "run", str(nightly.pk)]) == 1
    assert "is queued still" in capsys.readouterr().err


def test_the_election_after_a_return_is_told_and_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "schedules", "after-return").startswith("Off: ")
    assert "it would be on" in said(capsys, "schedules", "after-return", "on", "--dry-run")
    assert not ReturnElection.objects.exists()
    assert said(capsys, "schedules", "after-return", "on").startswith("On: ")
    assert ReturnElection.objects.get().is_on


def test_the_leaders_of_one_broker_are_elected(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "elect", "--broker", "2")
    assert Job.objects.get().params == {"broker": 2}
    assert main(["elect", "--broker", "2", "--topic", "orders"]) == 2
    assert main(["elect", "--broker", "9"]) == 1
    assert "Broker 9 is not online" in capsys.readouterr().err
