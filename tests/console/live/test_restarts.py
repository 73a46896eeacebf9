"""Processes that ended by themselves, from the file that `highwater up` writes to rows of the events' table: each once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from channels.db import database_sync_to_async

from broker_core.local import process_events as noted
from broker_core.local.layout import Layout
from console.gateway import local as gateway
from console.live.events.happened import Happened
from console.live.events.restarts import KINDS, run_endings, told_until
from console.live.owner.publisher import save_events
from console.models import Cluster, Event
from tests.support.console_world import cluster_state


def note(data: Path, sentence: str, broker_id: int | None = 2) -> None:
    layout = Layout.from_environment(data, {})
    noted.note(layout, f"broker-{broker_id}", broker_id, kind=noted.ENDED, level="bad", sentence=sentence)


def test_the_kinds_are_those_that_are_written() -> None:
    assert set(KINDS) == {noted.ENDED, noted.RESTARTED, noted.NOT_RESTARTED}


@pytest.mark.django_db(transaction=True)
async def test_each_ending_becomes_one_event_also_over_a_restart_of_live(tmp_path: Path, settings: Any, local: Cluster) -> None:
    settings.DATA_DIR = tmp_path / "data"
    note(settings.DATA_DIR, "broker 2 ended by itself (signal 11, SIGSEGV): it is started again in 2 s.")
    note(settings.DATA_DIR, "ZooKeeper ended by itself (exit status 1): it is started again in 2 s.", None)
    assert await _told(local.pk, 2) == [(2, "bad"), (None, "bad")]
    note(settings.DATA_DIR, "broker 2 ended by itself (signal 9, SIGKILL): it is started again in 4 s.")
    assert await _told(local.pk, 1) == [(2, "bad")], "those before have been told"
    rows = await database_sync_to_async(lambda: list(Event.objects.order_by("id").values_list("sentence", "at_ms")))()
    assert [sentence.partition(":")[0] for sentence, _ in rows] == [
        "broker 2 ended by itself (signal 11, SIGSEGV)",
        "ZooKeeper ended by itself (exit status 1)",
        "broker 2 ended by itself (signal 9, SIGKILL)",
    ]
    assert [at_ms for _, at_ms in rows] == [entry.at_ms for entry in noted.read(settings.DATA_DIR)]


async def _told(cluster_id: str, count: int) -> list[tuple[int | None, str]]:
    """What one life of `live` tells of the file, through its state and into the table."""
    state, enough = cluster_state(0), asyncio.Event()
    state.take(0)
    told: list[Happened] = []

    def tell(events: list[Happened]) -> None:
        state.tell(events)
        told.extend(state.take(1)[1])
        if len(told) >= count:
            enough.set()

    running = asyncio.create_task(run_endings(cluster_id, gateway.process_events, tell))
    await asyncio.wait_for(enough.wait(), 60)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await database_sync_to_async(save_events)(cluster_id, told)
    return [(event.broker_id, event.level) for event in told]


@pytest.mark.django_db
def test_a_full_table_without_any_has_had_them_and_they_were_trimmed(local: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_until(local.pk) == 0
    save_events(local.pk, [_event("isr_shrink", at_ms) for at_ms in (50, 60, 70)])
    assert told_until(local.pk) == 0
    monkeypatch.setattr(Event, "KEEP", 3)
    assert told_until(local.pk) == 50
    save_events(local.pk, [_event(noted.RESTARTED, 80)])
    assert told_until(local.pk) == 80


def _event(kind: str, at_ms: int) -> Happened:
    return Happened(kind, "ok", "x", at_ms)
