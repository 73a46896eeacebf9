"""What is said of data folders: offline, filling up, nearly full (workers/rules/disk.py)."""

from __future__ import annotations

from typing import Any

import pytest

from workers.rules import disk
from workers.rules.report import changes, report
from workers.rules.verdict import verdict

GIB = 1 << 30
COUNTS = {"brokers_online": 3, "partitions": 7}
FACTS: dict[str, Any] = {"leaders": {}, "preferred": {}}


def folder(**said: Any) -> dict[str, Any]:
    room = {"free_bytes": 50 * GIB, "total_bytes": 100 * GIB, "full_in_s": None}
    return {"path": "/data", "offline_since_ms": None, "offline_why": None, **room, **said}


OFFLINE = folder(
    offline_since_ms=1_700_000_000_000, offline_why="append of t-0 failed: [Errno 28] No space left on device", free_bytes=None, replicas=25
)


def test_an_offline_folder_is_told_with_when_why_what_and_what_to_do() -> None:
    assert disk.finding(2, OFFLINE) == (
        disk.OFFLINE,
        "warn",
        "The data folder of broker 2 is offline since 14 Nov 22:13:20 UTC (append of t-0 failed: [Errno 28] No space left on device). "
        "25 replicas there serve nothing; make room or mend the disk, then restart broker 2.",
    )


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
    words = disk.finding(2, folder(full_in_s=3 * 3600))[2].replace("\u202f", " ")
    assert words == "The disk of broker 2 is full in about 3 h at the present rate (50.0 GiB of 100 GiB free)."


@pytest.mark.parametrize(("free", "level"), [(0, "bad"), (0.9, "bad"), (1, "warn"), (4.9, "warn"), (5, "ok")])
def test_little_room_is_told_without_a_forecast(free: float, level: str) -> None:
    state, found, _ = disk.finding(2, folder(free_bytes=int(free * GIB)))
    assert (state, found) == (disk.SERVES if level == "ok" else disk.LOW, level)


def test_unknown_room_is_not_judged() -> None:
    assert disk.finding(2, folder(free_bytes=None, total_bytes=None)) == (disk.SERVES, "ok", "")
    assert disk.findings({1: None, 2: folder()}) == []


def test_the_verdict_says_it_after_what_it_does_to_partitions() -> None:
    counts = {**COUNTS, "under_replicated": 7}
    said = verdict(counts, [], [], None, folders={1: folder(), 2: OFFLINE, 3: folder(full_in_s=60)})
    assert said["level"] == "bad"
    assert [part["level"] for part in said["parts"]] == ["warn", "bad", "warn"]
    assert "broker 3 is full in about" in said["parts"][1]["text"]
    assert "broker 2 is offline since" in said["parts"][2]["text"]
    assert {part["about"] for part in said["parts"][1:]} == {"brokers"}
    many = verdict(COUNTS, [], [], None, folders=dict.fromkeys(range(1, 9), OFFLINE))
    assert len(many["parts"]) == 2 + 3
    assert many["parts"][-1]["text"] == "So it is with 5 more data folders.".replace(" more", " more")


def test_the_report_has_a_check_whose_items_stay_the_same() -> None:
    online = [
        {"broker_id": 1, "log_dir": folder()},
        {"broker_id": 2, "log_dir": OFFLINE},
        {"broker_id": 3, "log_dir": folder(full_in_s=60)},
    ]
    made = report({**FACTS, "brokers": online})
    check = next(each for each in made["checks"] if each["id"] == "data_folders")
    assert (check["level"], len(check["items"])) == ("bad", 2)
    later = report({**FACTS, "brokers": [*online[:2], {"broker_id": 3, "log_dir": folder(full_in_s=50)}]})
    assert changes(made, later) == {"new": [], "gone": []}
    assert next(each for each in report({**FACTS, "brokers": []})["checks"] if each["id"] == "data_folders")["level"] == "ok"
