"""What a broker's page says first, and what its stop would do."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.contract.live import Age, Broker, LogDir
from console.rules.broker_words import NAMED, broker_sentence, if_it_stops
from tests.support.live_rows import partition, some

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


def row(number: int, isr: tuple[int, ...], **known: Any) -> Any:
    return partition(number=number, isr=isr, **{"leader": isr[0] if isr else None, "min_insync_replicas": 2} | known)


def test_its_stop_takes_leaders_and_writes() -> None:
    rows = [
        row(0, (2, 1, 3)),  # led by another then
        row(1, (2,), state="under_min_isr"),  # nobody else
        row(2, (2, 3)),  # one left of two
        row(3, (1, 3)),  # it is out already
        row(4, (1, 2, 3)),
    ]
    found = if_it_stops(2, 5, rows, {1, 2, 3})
    counts = found.counts
    assert (counts.without_leader, counts.under_min_isr, counts.leaders_move) == (1, 1, 2)
    assert ([one.partition for one in found.leaderless], [(one.partition, one.isr) for one in found.refusing]) == ([1], [(2, (3,))])
    assert (found.level, counts.looked_at) == ("bad", 5)


def test_who_does_not_run_takes_over_nothing() -> None:
    found = if_it_stops(2, 1, [row(0, (2, 3))], {1, 2})
    assert (found.counts.without_leader, found.level) == (1, "bad")


def test_what_is_not_known_is_not_safe() -> None:
    assert if_it_stops(2, 1, [row(0, (2, 1), min_insync_replicas=1)], {1, 2}).level == "ok"
    unknown = if_it_stops(2, 1, [row(0, (2, 1), state="unknown")], {1, 2})
    assert (unknown.level, unknown.counts.unknown) == ("unknown", 1)
    part = if_it_stops(2, 9, [row(0, (2, 1), min_insync_replicas=1)], {1, 2})
    assert (part.level, "Only the worst 1 of 9 partitions" in part.sentence) == ("unknown", True)


def test_where_the_minimum_is_not_known_nothing_is_promised() -> None:
    found = if_it_stops(2, 1, [row(0, (2, 1), min_insync_replicas=None)], {1, 2})
    assert (found.level, found.counts.unknown) == ("unknown", 1)
    assert if_it_stops(2, 1, [row(0, (2,), min_insync_replicas=None)], {1, 2}).level == "bad", "without a leader it is known"


def test_what_is_old_is_no_promise() -> None:
    safe = row(0, (2, 1), min_insync_replicas=1)
    assert if_it_stops(2, 1, [safe], {1, 2}).level == "ok"
    found = if_it_stops(2, 1, [safe], {1, 2}, is_old=True)
    assert (found.level, "last known" in found.sentence) == ("unknown", True)
    assert if_it_stops(2, 1, [row(0, (2,))], {1, 2}, is_old=True).level == "bad"


def test_who_does_not_run_cannot_stop() -> None:
    found = if_it_stops(2, 1, [row(0, (1, 3))], {1, 3})
    assert (found.level, "does not run" in found.sentence) == ("notice", True)


def test_few_are_told_by_name() -> None:
    found = if_it_stops(2, 99, [row(n, (2,)) for n in range(99)], {2})
    assert (len(found.leaderless), found.counts.without_leader) == (NAMED, 99)
