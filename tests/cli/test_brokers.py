"""`highwater brokers what-if`, against the console's REST itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.main import main
from tests.support.console_fixtures import *  # noqa: F403
from tests.support.rest_in_process import answer_here


@pytest.fixture(autouse=True)
def console(shown: Any, tokens: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    answer_here(monkeypatch, tokens["viewer"])


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["brokers", "what-if", *words]) == 0
    return capsys.readouterr().out


def test_a_death_is_told_in_a_sentence_for_each_broker_and_each_partition(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "1", "--json"))
    assert (told["broker_id"], told["how"]) == (1, "death")
    text = said(capsys, "1")
    assert text.startswith(told["sentence"])
    changed = [row for row in told["partitions"] if row["becomes"] != "unchanged"]
    assert changed
    for row in changed:
        assert f"{row['topic']}-{row['partition']}" in text
    for share in told["brokers"]:
        assert any(line.split()[:1] == [str(share["broker_id"])] for line in text.splitlines())


def test_a_stop_is_another_question_and_partitions_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "1", "--how", "shutdown", "--partitions", "0", "--json"))
    assert (told["how"], told["partitions"]) == ("shutdown", [])


@pytest.mark.parametrize("words", [("1", "--partitions", "501"), ("1", "--partitions", "-1"), ("77",)])
def test_what_is_not_there_is_refused(words: tuple[str, ...]) -> None:
    assert main(["brokers", "what-if", *words]) != 0
