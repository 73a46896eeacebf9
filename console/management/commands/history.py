"""`manage.py history`: keeps the live state of the last day of all clusters, and lays out the moments that pages ask for, until stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import CommandError

from console.live.history.service import History, only_one
from console.management.program import Program
from console.models import Cluster
from console.snapshot.connect import async_client

log = logging.getLogger("console.history")
MB = 1_000_000
HOUR_MS = 3_600_000


class Command(Program):
    help = "Keeps the live state of the last day, for pages that look back."

    def handle(self, *args: Any, **options: Any) -> None:
        with only_one(settings.CONSOLE_DIR / "history") as alone:
            if not alone:
                raise CommandError("another recorder writes into this data folder")
            asyncio.run(run())


async def run() -> None:
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)  # type: ignore[union-attr]
    client = async_client()
    folder = settings.CONSOLE_DIR / "history"
    history = History(client, folder, settings.HISTORY_MB * MB, settings.HISTORY_HOURS * HOUR_MS, sync_to_async(_clusters))
    try:
        await history.run()
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        await client.aclose()


def _clusters() -> set[str]:
    return set(Cluster.objects.values_list("pk", flat=True)) if settings.HISTORY_MB else set()
