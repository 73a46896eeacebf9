"""What the beat sends by itself, and that somebody hears it."""

from __future__ import annotations

from typing import Any

from broker_core.cli.system import programs
from broker_core.local.layout import Layout
from console.jobs.registry import KINDS
from workers.app import ADVANCE_EVERY_S, SCHEDULES_EVERY_S, app
from workers.tasks.schedules import look

SCHEDULE: dict[str, Any] = app.conf.beat_schedule


def test_schedules_are_looked_at_often() -> None:
    entry = next(e for e in SCHEDULE.values() if e["task"] == look.name)
    assert entry["schedule"] == SCHEDULES_EVERY_S <= 10.0


def test_unfinished_jobs_are_looked_at_often() -> None:
    entry = next(e for e in SCHEDULE.values() if e["task"] == "workers.tasks.jobs.advance_unfinished")
    assert entry["schedule"] == ADVANCE_EVERY_S <= 2.0


def test_every_queue_is_heard_and_every_task_known(tmp_path: Any) -> None:
    app.loader.import_default_modules()
    worker = next(p for p in programs(Layout.from_environment(tmp_path), demo=False) if p.name == "worker")
    heard = set(worker.arguments[worker.arguments.index("-Q") + 1].split(","))
    assert heard >= {kind.queue for kind in KINDS.values()}
    for entry in SCHEDULE.values():
        assert entry["options"]["queue"] in heard
        assert entry["task"] in app.tasks
