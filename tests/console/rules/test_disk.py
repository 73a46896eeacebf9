"""What is said of data folders: offline, filling up, nearly full (console/rules/disk.py)."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract import live
from broker_core.contract.feed import LogDir
from console.rules import disk
from console.rules.pieces import text_of
from console.rules.report import Facts, changes, report
from console.rules.verdict import verdict
from tests.support.live_rows import some

GIB = 1 << 30
COUNTS = {"brokers_online": 3, "partitions": 7}


def folder(**said: Any) -> LogDir:
    return LogDir(**{"path": "/data", "free_bytes": 50 * GIB, "total_bytes": 100 * GIB, **said})


OFFLINE = folder(
    offline_since_ms=1_700_000_000_000, offline_why="append of t-0 failed: [Errno 28] No space left on device", free_bytes=None
)


def test_an_offline_folder_is_told_with_when_why_what_and_what_to_do() -> None:
    found = disk.finding(2, OFFLINE, 25)
    assert (found.state, found.level, text_of(found.pieces)) == (
        disk.OFFLINE,
        "bad",
        "The data folder of broker 2 is offline since 14 Nov 22:13:20 UTC (append of t-0 failed: [Errno 28] No space left on device). "
        "25 replicas there serve nothing; make room or mend the disk, then restart broker 2.",
    )
    assert disk.finding(2, OFFLINE, 0).level == "warn", "nothing was there that could be missed"


@pytest.mark.parametrize(
    ("full_in_s", "state", "level"),
    [
        (disk.FULL_BAD_S - 1, disk.FILLING, "bad"),
        (disk.FULL_BAD_S, disk.FILLING, "warn"),
        (disk.FULL_WARN_S, disk.FILLING, "notice"),
        (disk.FULL_NOTICE_S, disk.SERVES, "ok"),
        (None, disk.SERVES, "ok"),
    ],
)
def test_a_forecast_is_as_bad_as_it_is_near(full_in_s: int | None, state: str, level: str) -> None:
    assert disk.finding(2, folder(full_in_s=full_in_s))[:2] == (state, level)


def test_the_forecast_is_a_sentence() -> None:
    words = text_of(disk.finding(2, folder(full_in_s=3 * 3600)).pieces).replace("\u202f", " ")
    assert words == "The disk of broker 2 is full in about 3 h at the present rate (50.0 GiB of 100 GiB free)."


@pytest.mark.parametrize(("free", "level"), [(0, "bad"), (0.9, "bad"), (1, "warn"), (4.9, "warn"), (5, "ok")])
def test_little_room_is_told_without_a_forecast(free: float, level: str) -> None:
    state, found, _ = disk.finding(2, folder(free_bytes=int(free * GIB)))
    assert (state, found) == (disk.SERVES if level == "ok" else disk.LOW, level)


def test_unknown_room_is_not_judged() -> None:
    assert disk.finding(2, folder(free_bytes=None, total_bytes=None)) == (disk.SERVES, "ok", ())


def _judged(*folders: LogDir) -> list[live.LogDir]:
    return [disk.judged(broker, each, 25) for broker, each in enumerate(folders, 1)]


def test_the_verdict_says_it_after_what_it_does_to_partitions() -> None:
    counts = {**COUNTS, "under_replicated": 7}
    said = verdict(
        counts, [], [], None, folders=[disk.judged(n, each, 25) for n, each in enumerate((folder(), OFFLINE, folder(full_in_s=60)), 1)]
    )
    assert said.level == "bad"
    assert [part.level for part in said.parts] == ["warn", "bad", "bad"]
    assert "broker 2 is offline since" in said.parts[1].text
    assert "broker 3 is full in about" in said.parts[2].text
    assert {part.about for part in said.parts[1:]} == {"brokers"}
    many = verdict(COUNTS, [], [], None, folders=_judged(*[OFFLINE] * 8))
    assert len(many.parts) == 2 + 3
    assert many.parts[-1].text == "So it is with 5 more data folders.".replace(" more", " more")


def _online(broker: int, said: LogDir) -> live.Broker:
    return some(live.Broker, broker_id=broker, state="online", log_dir=disk.judged(broker, said, 25))


def test_the_report_has_a_check_whose_sentences_stay_the_same() -> None:
    online = [_online(n, each) for n, each in enumerate((folder(), OFFLINE, folder(full_in_s=60)), 1)]
    made = report(Facts(brokers=online))
    check = next(each for each in made["checks"] if each["id"] == "data_folders")
    assert (check["level"], check["count"], check["unknown"]) == ("bad", 2, "")
    later = report(Facts(brokers=[*online[:2], _online(3, folder(full_in_s=50))]))
    assert {kind["count"] for kind in changes(made, later).values()} == {0}


def test_unknown_room_is_unknown() -> None:
    for online in ([], [_online(1, folder(free_bytes=None))]):
        check = next(each for each in report(Facts(brokers=online))["checks"] if each["id"] == "data_folders")
        assert check["level"] == "unknown"
