"""What a handler may use of its broker: a plain record that `server/broker.py` fills in once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from broker_core.admin.service import AdminService
    from broker_core.client.pool import ChannelPool
    from broker_core.config import ConfigHolder
    from broker_core.controller.loop import Controller
    from broker_core.groups.coordinator import GroupCoordinator
    from broker_core.handlers.encoded import EncodedCache
    from broker_core.handlers.registry import Registry
    from broker_core.metadata.cache import MetadataCache
    from broker_core.quotas.client_quotas import ClientQuotas
    from broker_core.replication.manager import ReplicaManager
    from broker_core.seams import Node
    from broker_core.storage.manager import LogManager
    from broker_core.telemetry.feed import StateFeed
    from broker_core.telemetry.log_looks import LogLooks
    from broker_core.telemetry.metrics import BrokerMetrics
    from broker_core.transactions.coordinator import TransactionCoordinator
    from broker_core.transactions.producer_ids import ProducerIds
    from broker_core.transactions.verifier import Verifier


class BrokerServices(Struct):
    """One broker's parts, by the names handlers know them by."""

    node: Node
    broker_id: int
    cluster_id: str
    config: ConfigHolder
    logs: LogManager
    metadata: MetadataCache
    replicas: ReplicaManager
    groups: GroupCoordinator
    producer_ids: ProducerIds
    transactions: TransactionCoordinator
    verifier: Verifier
    controller: Controller
    admin: AdminService
    channels: ChannelPool
    registry: Registry
    metadata_responses: EncodedCache
    feed: StateFeed
    log_looks: LogLooks
    metrics: BrokerMetrics
    broker_epoch: Callable[[], int]
    quotas: ClientQuotas
