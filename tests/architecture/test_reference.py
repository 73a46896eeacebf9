"""docs/settings.md, docs/protocol.md and docs/health.md are as the code says: `make reference` makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.config import BROKER_KEYS, IDLE_KEYS, TOPIC_KEYS
from broker_core.config.departures import OF_BROKERS
from broker_core.handlers.registry import full_registry
from broker_core.protocol.api import OF_ZOOKEEPER_BROKERS
from broker_core.protocol.departures import BY_KEY, NOT_SERVED

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_pages_are_as_they_would_be_made() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(BROKER_KEYS | IDLE_KEYS | TOPIC_KEYS))
def test_every_setting_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in (ROOT / "docs" / "settings.md").read_text()


def test_what_is_told_of_is_there() -> None:
    """A sentence about a key that is not served, or a reason for one that is, would be left over from another time."""
    served = {row.key for row in full_registry().advertised()}
    assert served | NOT_SERVED.keys() == OF_ZOOKEEPER_BROKERS
    assert not served & NOT_SERVED.keys()
    assert set(BY_KEY) <= OF_ZOOKEEPER_BROKERS
    assert OF_BROKERS.keys() <= BROKER_KEYS.keys()
