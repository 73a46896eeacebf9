"""Levels of loggers while the process runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from broker_core.admin.loggers import LevelChange, check_levels, levels, set_levels
from broker_core.errors import ErrorCode, KafkaError

NAME = "highwater.tests.some.logger"


@pytest.fixture(autouse=True)
def kept() -> Iterator[logging.Logger]:
    logger, root = logging.getLogger(NAME), logging.getLogger()
    before = logger.level, root.level
    yield logger
    logger.setLevel(before[0])
    root.setLevel(before[1])


def test_a_level_takes_effect_with_the_next_line(kept: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    set_levels([LevelChange(NAME, "ERROR")])
    kept.warning("left out")
    set_levels([LevelChange(NAME, "DEBUG")])
    kept.debug("written")
    assert [record.getMessage() for record in caplog.records if record.name == NAME] == ["written"]
    assert levels()[NAME] == "DEBUG"


def test_a_level_that_is_taken_away_is_that_of_the_one_above() -> None:
    set_levels([LevelChange("root", "ERROR"), LevelChange(NAME, "TRACE")])
    assert levels()[NAME] == "TRACE"
    set_levels([LevelChange(NAME, None)])
    assert (levels()[NAME], levels()["root"]) == ("ERROR", "ERROR")
    assert "highwater.tests.some" not in levels(), "nobody asked for that name"


@pytest.mark.parametrize(
    ("logger", "level", "code"),
    [
        ("no.such", "INFO", ErrorCode.INVALID_CONFIG),
        ("no.such", None, ErrorCode.INVALID_CONFIG),
        (NAME, "LOUD", ErrorCode.INVALID_CONFIG),
        (NAME, "info", ErrorCode.INVALID_CONFIG),
        ("root", None, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused(logger: str, level: str | None, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        check_levels([LevelChange(NAME, "WARN"), LevelChange(logger, level)])
    assert caught.value.code is code
