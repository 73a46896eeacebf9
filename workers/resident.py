"""Looks after the driver that stays (`analytics.mode` continuous): starts it, takes what it has found, starts it again, ends it.

What became of it is a document in its folder (`driver.RESIDENT`), written by this module alone, so that a page in another process can
say why none runs. A job's driver that is under way when the mode is changed ends by itself first.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.analyses import answered_at, resident_now
from console.gateway import driver
from console.gateway.connection import connection_of
from console.gateway.errors import GatewayError
from console.live.sampling.samples import SAMPLES_TOPIC
from console.models import Cluster, Job
from console.rules.analysis.resident import SILENT_AFTER, Resident, retry_after
from workers.kinds.analysis_rows import UnknownSummary, moment, save
from workers.kinds.analytics import cannot_run, sample_partitions

log = logging.getLogger(__name__)


def keep(cluster: Cluster) -> None:
    """One look while the mode is continuous."""
    now, found = timezone.now(), resident_now()
    if driver.alive():
        if driver.stays():
            _tend(cluster, found, now)
        return
    if found.is_running:
        _ended(found, now, driver.end_words())
    elif (found.again_at is None or found.again_at <= now) and not _waited_for():
        _start(cluster, found, now)


def end() -> None:
    """One look while the mode is not continuous."""
    if driver.stop() if driver.stays() else resident_now().is_running:
        driver.note_resident({"state": "ended"})


def _waited_for() -> bool:
    """Whether a job still waits for what its own driver has left: a start would take that away."""
    return Job.objects.filter(kind="analytics", step="run", state__in=Job.ACTIVE).exists()


def _tend(cluster: Cluster, found: Resident, now: datetime) -> None:
    if not found.is_running:  # its starter died before it could say so
        driver.note_resident(_running(now, found.tries))
    elif now - max(filter(None, (found.heard_at, found.since)), default=now) > SILENT_AFTER:
        driver.stop()
        _ended(found, now, f"it said nothing for {SILENT_AFTER.seconds // 60} minutes and was ended")
    elif (summary := driver.read("summary.json")) is not None and moment(summary["ended_at_ms"]) != answered_at(cluster):
        try:
            save(cluster, summary)
        except UnknownSummary as error:
            driver.stop()
            return _ended(found, now, str(error))
        driver.note_resident(_running(found.since or now, 0))


def _start(cluster: Cluster, found: Resident, now: datetime) -> None:
    if why := cannot_run():
        return _ended(found, now, why)
    try:
        connection = connection_of(cluster)
        sample_partitions(connection)
        driver.start(connection.bootstrap_servers, SAMPLES_TOPIC, stay=True)
    except GatewayError as error:
        return _ended(found, now, error.message or str(error))
    driver.note_resident(_running(now, found.tries))


def _running(since: datetime, tries: int) -> dict[str, Any]:
    return {"state": "running", "since_ms": _ms(since), "tries": tries}


def _ended(found: Resident, now: datetime, why: str) -> None:
    log.warning("the driver that stays is not there: %s", why)
    again = now + retry_after(found.tries)
    driver.note_resident({"state": "ended", "why": why[:1000], "again_ms": _ms(again), "tries": found.tries + 1})


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
