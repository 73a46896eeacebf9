"""What is said of Spark's installation, and of the share of its download."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from broker_core.contract.installs import Install
from console.rules.spark import sentence, share
from console.rules.words import THIN

NOW = datetime(2026, 5, 4, 12, 3, tzinfo=UTC)
NOON_MS = int(datetime(2026, 5, 4, 12, 0, tzinfo=UTC).timestamp() * 1000)
TOTAL = 434_100_000


@pytest.mark.parametrize(
    ("install", "said"),
    [
        (Install(state="ready"), ""),
        (Install(state="absent"), "PySpark is not installed: run .venv/bin/highwater spark, or make up."),
        (Install(state="installing"), "PySpark is being installed."),
        (Install(state="installing", since_ms=NOON_MS), "PySpark is being installed, since 12:00."),
        (Install(state="installing", since_ms=NOON_MS - 86_400_000), "PySpark is being installed, since 03 May 12:00."),
        (
            Install(state="installing", since_ms=NOON_MS, done_bytes=120_000_000, total_bytes=TOTAL),
            f"PySpark is being installed: 120 of 434{THIN}MB, since 12:00.",
        ),
        (
            Install(state="installing", since_ms=NOON_MS, done_bytes=TOTAL, total_bytes=TOTAL),
            f"PySpark is being installed: all 434{THIN}MB have come and are unpacked, since 12:00.",
        ),
        (
            Install(state="installing", since_ms=NOON_MS, step="jars", done_bytes=TOTAL, total_bytes=TOTAL),
            "PySpark is being installed: the jars of its Kafka source are fetched, since 12:00.",
        ),
        (
            Install(state="failed", why="no route to host."),
            "PySpark could not be installed: no route to host. Try again: .venv/bin/highwater spark, or make up.",
        ),
    ],
)
def test_what_is_said(install: Install, said: str) -> None:
    assert sentence(install, NOW) == said


def test_the_share_is_known_with_the_size() -> None:
    assert share(Install(state="installing")) is None
    assert share(Install(state="installing", done_bytes=120_000_000, total_bytes=TOTAL)) == 28
