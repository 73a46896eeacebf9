"""`manage.py collect`: keeps the live state of every registered cluster without a state feed of ours, until stopped."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from functools import partial
from typing import Any

import redis
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError

from console.clock import now_ms
from console.collector.owner import collect
from console.collector.pace import intervals
from console.collector.supervisor import LOOK_S, Supervisor
from console.gateway.connection import Connection, connection_of
from console.gateway.sealing import SecretsUnreadable
from console.live.owner.owner import GC_THRESHOLD
from console.management.program import Program
from console.models import Cluster
from console.snapshot.connect import async_client
from console.snapshot.keys import COLLECTOR

log = logging.getLogger("console.collect")


class Command(Program):
    help = "Collects the live state of all registered clusters that have no state feed of ours."

    def handle(self, *args: Any, **options: Any) -> None:
        gc.set_threshold(*GC_THRESHOLD)
        asyncio.run(run())


async def run() -> None:
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)  # type: ignore[union-attr]
    supervisor, client = Supervisor(partial(collect, intervals(settings.ASK_EVERY_S))), async_client()
    try:
        while True:
            try:
                await supervisor.follow(await database_sync_to_async(registered)())
                await client.set(COLLECTOR, now_ms())
            except DatabaseError as error:
                log.warning("the clusters are not known: %s", error)
            except (redis.RedisError, OSError) as error:
                log.warning("Redis is not there: %s", error)
            await asyncio.sleep(LOOK_S)
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        await supervisor.close()
        await client.aclose()


def registered() -> dict[str, Connection]:
    """How the clusters are reached that are not the local one, by id; without those whose secrets cannot be opened."""
    found = {}
    for row in Cluster.objects.filter(is_local=False).exclude(pk=settings.LOCAL_CLUSTER):
        try:
            found[row.pk] = connection_of(row)
        except SecretsUnreadable as error:
            log.warning("%s is not collected: %s", row.pk, error)
    return found
