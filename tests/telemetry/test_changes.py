"""The log of what changed: one entry per thing, newest last."""

from __future__ import annotations

from broker_core.telemetry.changes import ChangeLog


def test_a_thing_is_listed_once_at_its_last_change() -> None:
    log: ChangeLog[str] = ChangeLog(limit=10)
    for key in ("a", "b", "a", "c"):
        log.mark(key)
    assert log.since(0) == [("b", 2), ("a", 3), ("c", 4)]
    assert log.since(3) == [("c", 4)]
    assert log.since(4) == []
    log.clear()
    assert (log.since(0), log.sequence) == ([], 4)


def test_what_changed_longest_ago_is_forgotten_beyond_the_limit() -> None:
    """Things that have gone never change again: groups of their own for every run of a tool, topics made and deleted."""
    log: ChangeLog[str] = ChangeLog(limit=3)
    for key in ("a", "b", "c", "a", "d"):
        log.mark(key)
    assert log.since(log.forgotten) == [("c", 3), ("a", 4), ("d", 5)]
    assert log.forgotten == 2
