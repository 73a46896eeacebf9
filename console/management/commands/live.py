"""`manage.py live`: owns a cluster's live state (one owner per cluster, by a lease in Redis) until stopped."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from functools import partial
from typing import Any

import redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from broker_core.outside.record_times import RecordTimes
from broker_core.outside.state_feed import batches
from console.clock import now_ms
from console.gateway import admin_clients, demo, local
from console.gateway.connection import connection_of
from console.gateway.sample_topic import SampleTopic
from console.gateway.zookeeper import ZooKeeperView, open_store
from console.live.events.restarts import run_endings
from console.live.merging.state import ClusterState
from console.live.owner.client_watch import run_clients
from console.live.owner.lease import Lease, until_lost
from console.live.owner.owner import GC_THRESHOLD, LiveOwner
from console.live.owner.predecessor import kept_rhythms, predecessor
from console.live.owner.publisher import Publisher
from console.live.sampling.sampler import Sampler
from console.live.sampling.samples import SAMPLES_CONFIG, SAMPLES_PARTITIONS, SAMPLES_TOPIC
from console.live.sampling.spool import Spool, folder_of
from console.management.program import Program
from console.models import Cluster
from console.snapshot.connect import async_client

log = logging.getLogger("console.live")


class Command(Program):
    help = "Merges feeds, ZooKeeper and processes of one cluster into the live snapshot."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", default=settings.LOCAL_CLUSTER)

    def handle(self, *args: Any, **options: Any) -> None:
        gc.set_threshold(*GC_THRESHOLD)
        asyncio.run(run(options["cluster"]))


async def run(cluster_id: str) -> None:
    cluster = await sync_to_async(lambda: Cluster.objects.filter(pk=cluster_id).first())()
    if cluster is None:
        raise CommandError(f"there is no cluster {cluster_id!r}: run manage.py bootstrap first")
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)  # type: ignore[union-attr]
    client = async_client()
    lease = Lease(client, cluster_id)
    try:
        while True:
            await lease.wait()
            log.info("owner of %s", cluster_id)
            known, rhythms = await predecessor(client, cluster_id), await kept_rhythms(client, cluster_id, now_ms())
            await _own(cluster, lease, ClusterState(cluster_id, known, rhythms))
            log.warning("the lease of %s is lost", cluster_id)
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        try:
            await lease.release()
        except (redis.RedisError, OSError):
            log.info("the lease ends by itself")
        await client.aclose()


async def _own(cluster: Cluster, lease: Lease, state: ClusterState) -> None:
    """Runs all tasks until the lease is lost or one of them fails."""
    owner = LiveOwner(cluster.pk, Publisher(state, lease), state, batches)
    store = open_store(cluster.zookeeper)
    view = ZooKeeperView(store, owner, lambda: owner.broker_defaults)
    open_sink = partial(SampleTopic, cluster.bootstrap_servers, SAMPLES_TOPIC, SAMPLES_PARTITIONS, SAMPLES_CONFIG)
    sampler = Sampler(owner.take_samples, open_sink, Spool(folder_of(settings.CONSOLE_DIR, cluster.pk)))
    work = [
        lease.keep(),
        view.run(),
        owner.run_ticks(),
        owner.publisher.run(),
        owner.publisher.run_events(),
        owner.publisher.run_comparisons(),
        owner.run_points(),
        owner.run_record_times(RecordTimes().ask),
        owner.run_defaults(connection_of(cluster), view.refresh_defaults),
    ]
    if cluster.is_local:
        work += [owner.run_processes(local.processes), run_endings(cluster.pk, local.process_events, owner.tell)]
    if cluster.pk == settings.LOCAL_CLUSTER:
        ours = partial(_clients, sampler)
        work += [sampler.run(), run_clients(cluster.pk, ours, owner.tell)]
    try:
        await until_lost(work)
    finally:
        await owner.close()
        await store.close()
        await asyncio.to_thread(sampler.close)


def _clients(sampler: Sampler) -> list[dict[str, Any]]:
    """The long-lived clients of this system that are watched."""
    return [sampler.watch.value(time.monotonic()), *admin_clients.watched(), *demo.clients()]
