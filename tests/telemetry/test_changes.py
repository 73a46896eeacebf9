"""The log of what changed: one entry per thing, newest last."""

from __future__ import annotations

from broker_core.telemetry.changes import ChangeLog


def test_a_thing_is_listed_once_at_its_last_change() -> None:
    log: ChangeLog[str] = ChangeLog()
    for key in ("a", "b", "a", "c"):
        log.mark(key)
    assert log.since(0) == [("b", 2), ("a", 3), ("c", 4)]
    assert log.since(3) == [("c", 4)]
    assert log.since(4) == []
    log.clear()
    assert (log.since(0), log.sequence) == ([], 4)
