"""The fixed znodes of a cluster, the paths of the others, and what exists before the first broker registers."""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from broker_core.coordination.store import ConnectionLoss, NodeExists, Store
from broker_core.coordination.znode_data import decode_cluster_id, encode_cluster_id
from broker_core.model import TopicPartition
from broker_core.seams import Entropy

T = TypeVar("T")

log = logging.getLogger(__name__)

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CONTROLLER_BROKERS = "/controller_brokers"
"""Highwater's own, Kafka has none: the broker epochs that the controllers have acted on."""
SUSPICIONS = "/broker_suspicions"
"""Highwater's own, Kafka has none: which broker sees which registered broker's port refuse (`suspicion_path`)."""
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CLUSTER = "/cluster"
CLUSTER_ID = "/cluster/id"
CONFIGS = "/config"
CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")
CONFIG_CHANGES = "/config/changes"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"

PERSISTENT = (
    "/brokers",
    BROKER_IDS,
    TOPICS,
    "/admin",
    DELETE_TOPICS,
    CONFIGS,
    *(f"{CONFIGS}/{kind}" for kind in CONFIG_TYPES),
    CONFIG_CHANGES,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    CLUSTER,
)
"""Parents before children."""

CLUSTER_ID_BYTES = 16
LOSSES_BORNE = 5
"""Broken connections that the start of a broker survives while it lays out the znodes."""


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def suspicion_path(broker_id: int, epoch: int, witness: int) -> str:
    """The witness's ephemeral word that the process which registered in that epoch is gone."""
    return f"{SUSPICIONS}/{broker_id}-{epoch}-{witness}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(tp: TopicPartition) -> str:
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}"


def state_path(tp: TopicPartition) -> str:
    return state_below(partition_path(tp))


def state_below(partition: str) -> str:
    """The state's path below a partition's."""
    return f"{partition}/state"


def config_path(kind: str, name: str) -> str:
    return f"{CONFIGS}/{kind}/{name}"


def deletion_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


async def ensure_layout(store: Store, paths: Sequence[str] = PERSISTENT) -> None:
    """Creates what is missing; any number of brokers may do so at once."""
    for path in paths:
        await _patiently(partial(_ensure, store, path))


async def ensure_cluster_id(store: Store, entropy: Entropy) -> str:
    """The id of the cluster, made by whichever broker comes first (22 characters of URL-safe base64)."""
    made = base64.urlsafe_b64encode(entropy.bytes(CLUSTER_ID_BYTES)).rstrip(b"=").decode()
    await _patiently(partial(_ensure, store, CLUSTER_ID, encode_cluster_id(made)))
    data, _ = await _patiently(partial(store.get, CLUSTER_ID))
    return decode_cluster_id(data)


async def _ensure(store: Store, path: str, data: bytes = b"") -> None:
    if await store.exists(path) is None:
        try:
            await store.create(path, data)
        except NodeExists:
            return


async def _patiently(operation: Callable[[], Awaitable[T]]) -> T:
    """Tries again where the connection broke: a new one is waited for by the store itself."""
    for _ in range(LOSSES_BORNE):
        try:
            return await operation()
        except ConnectionLoss as error:
            log.info("tried again: %s", error)
    return await operation()
