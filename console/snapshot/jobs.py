"""Jobs on the live channel: their values lie beside the cluster's, newest kept."""

from __future__ import annotations

import logging
from typing import Any

import redis

from broker_core.contract.jobs import Job
from console.snapshot import keys, write
from console.snapshot.connect import sync_client

log = logging.getLogger(__name__)
KEPT = 50


def publish_job(cluster_id: str, value: Job) -> None:
    """Shows the job as it is now; without Redis pages show it when they are loaded."""
    name = keys.named(cluster_id, "jobs")
    try:
        client: Any = sync_client()
        pipe = client.pipeline(transaction=True)
        write.put(pipe, cluster_id, {keys.job(value.id): value})
        pipe.hkeys(name)
        ids = sorted((int(i) for i in pipe.execute()[-1]), reverse=True)
        if ids[KEPT:]:
            client.hdel(name, *map(str, ids[KEPT:]))
    except redis.RedisError as error:
        log.warning("job %s is not shown live: %s", value.id, error)
