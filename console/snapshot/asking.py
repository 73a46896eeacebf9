"""Has a cluster asked at once for what was just changed in it, so that whoever did it reads it back. State feeds tell by themselves."""

from __future__ import annotations

import logging

import redis

from broker_core.contract.live import Kind
from console.snapshot import keys
from console.snapshot.connect import sync_client

log = logging.getLogger(__name__)


def ask_now(cluster_id: str, kind: Kind, topic: str = "") -> None:
    """`topic` names whose settings changed. Nobody may be listening; without Redis it is asked for in its turn."""
    try:
        sync_client().publish(keys.named(cluster_id, "ask"), f"{kind} {topic}")
    except redis.RedisError as error:
        log.info("%s is not asked at once: %s", cluster_id, error)
