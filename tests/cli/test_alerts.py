"""`highwater alerts`, against the console's REST itself."""

from __future__ import annotations

from typing import Any

import pytest

from cli.main import main
from console.actions.alert_looks import look
from console.clock import now_ms
from console.models import Alert, AlertDelivery, AlertDestination, AlertRule, AlertSilence, Cluster
from console.snapshot.read import Snapshot
from tests.support.console_fixtures import *  # noqa: F403
from tests.support.rest_in_process import answer_here


@pytest.fixture(autouse=True)
def console(local: Cluster, shown: Any, tokens: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    look(local, now_ms(), Snapshot("local"))
    answer_here(monkeypatch, tokens["admin"])


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_what_fires_is_listed_and_where_little_is_known_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "not known: " in said(capsys, "alerts", "list")
    AlertRule.objects.update(unknown_count=0)
    assert said(capsys, "alerts", "list") == "No alerts.\n"
    rule = AlertRule.objects.get(name="BrokerDown")
    Alert.objects.create(rule=rule, target="2", state=Alert.FIRING, since_ms=now_ms(), is_known=False)
    assert "firing (not known now)" in said(capsys, "alerts", "list")


def test_a_silence_is_made_and_a_dry_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("alerts", "silence", "--rule", "brokerdown", "--target", "2", "--minutes", "5", "--why", "a disk")
    said(capsys, *words, "--dry-run")
    assert not AlertSilence.objects.exists()
    assert "nobody is told until" in said(capsys, *words)
    assert AlertSilence.objects.get().target == "2"
    assert main(["alerts", "silence", "--rule", "moon", "--minutes", "5", "--why", "x"]) == 2


def test_a_destination_is_tested_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    AlertDestination.objects.create(name="there", kind="slack", settings={"host": "h"}, set_by="x")
    assert said(capsys, "alerts", "test", "There") == "there: On its way.\n"
    assert AlertDelivery.objects.count() == 1
