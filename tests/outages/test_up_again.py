"""`highwater up` for real: what ends by itself comes back, what was killed on purpose does not, and the console tells of it."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from pathlib import Path

from broker_core.local import control, process_events
from broker_core.local.services import zookeeper_answers, zookeeper_process
from tests.outages.test_up import START_SECONDS, Up, processes_of, up
from tests.support.cluster import eventually

__all__ = ["up"]


def test_what_ends_by_itself_comes_back_and_what_was_killed_on_purpose_does_not(up: Up) -> None:
    """A stranger's signals to a broker and to ZooKeeper; the order to broker 3 outlives `up`."""
    up.start()
    eventually(up.ready, START_SECONDS, "up is ready")
    up.cluster.kill(3)
    zookeeper = zookeeper_process(up.cluster.layout)
    victims = [up.cluster.pid(2), zookeeper.pid()]
    for pid in victims:
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: up.said().count("was started again") == 2, START_SECONDS, "both are started again")
    eventually(lambda: up.cluster.running() == [1, 2], START_SECONDS, "broker 2 serves again")
    eventually(lambda: zookeeper_answers(up.cluster.layout.zookeeper_port), what="ZooKeeper serves again")
    told = [entry.sentence.partition(")")[0] for entry in process_events.read(up.data) if entry.kind == process_events.ENDED]
    assert sorted(told) == ["ZooKeeper ended by itself (signal 9, SIGKILL", "broker 2 ended by itself (signal 9, SIGKILL"]
    restarted = "broker 2 was started again"
    eventually(lambda: any(row.startswith(restarted) for row in events_of(up.data)), START_SECONDS, "the console tells")
    assert up.end() == 0, up.said()
    assert {broker_id for broker_id, order in control.wanted_brokers(up.cluster.layout).items() if order} == {3}, "for the next up"
    assert processes_of(up.data) == {}


def events_of(data: Path) -> list[str]:
    """The sentences of the events' table."""
    with contextlib.closing(sqlite3.connect(f"file:{data}/console/db.sqlite3?mode=ro", uri=True, timeout=60)) as database:
        return [row[0] for row in database.execute("SELECT sentence FROM console_event")]
