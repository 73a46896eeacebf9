"""What a broker's page says first."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract.live import Age, Broker, LogDir
from console.rules.broker_words import broker_sentence
from tests.support.live_rows import some

pytestmark = pytest.mark.spec("O1")
FRESH, OLD = Age("live", 0, 1), Age("lost", 9_000, 1)


def broker(**known: Any) -> Broker:
    return some(Broker, **{"broker_id": 2, "state": "online", "feed": FRESH, "replicas": 4, "out_of_sync": 0} | known)


def folder(state: str, level: str) -> LogDir:
    return some(LogDir, state=state, level=level, sentence="The folder is so.", pieces=())


@pytest.mark.parametrize(
    ("found", "level", "words"),
    [
        (broker(), "ok", "all its replicas are in sync"),
        (broker(replicas=0), "ok", "It has no replica"),
        (broker(out_of_sync=1), "warn", "out of sync"),
        (broker(log_dir=folder("folder_low", "warn")), "warn", "The folder is so."),
        (broker(log_dir=folder("folder_offline", "bad"), out_of_sync=4), "bad", "The folder is so."),
        (broker(feed=OLD), "unknown", "last known"),
        (broker(state="offline", feed=OLD, replicas=1), "bad", "1 replica lies on it"),
        (broker(state="offline", feed=OLD, gone_by=(1, 3)), "bad", "gone: brokers 1 and 3 see its port refuse. It is registered until"),
    ],
)
def test_the_worst_is_said(found: Broker, level: str, words: str) -> None:
    assert broker_sentence(found)[0] == level
    assert words in broker_sentence(found)[1]
