"""One broker, put together: what it is made of, in which order it starts and stops.

Start: session, settings, logs, listeners, replication and groups, registration, controller. A request is answered from the
moment the listeners are open; the controller speaks to the broker once it is registered.
Stop: the controller moves the leaderships away, then listeners, groups, replication, controller, session and logs end, in
this order, so that the clean mark is the last thing the data folder gets.

Nothing here touches sockets, files or threads but through the node, so a simulator runs it as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from broker_core.admin.service import AdminService
from broker_core.client.pool import ChannelPool
from broker_core.config import BrokerConfig, ConfigHolder
from broker_core.contract.feed import LogDir
from broker_core.controller.channels.sender import ChannelSender
from broker_core.controller.loop import Controller
from broker_core.controller.snapshot import ControllerSnapshot
from broker_core.controller.vigil import Vigil
from broker_core.coordination.layout import PERSISTENT, SUSPICIONS, ensure_cluster_id, ensure_layout
from broker_core.coordination.registration import Registration
from broker_core.coordination.store import ConnectionLoss, SessionExpired
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.handlers.access import AllowAll
from broker_core.handlers.encoded import EncodedCache
from broker_core.handlers.registry import full_registry
from broker_core.handlers.services import BrokerServices
from broker_core.metadata.cache import MetadataCache
from broker_core.model import BrokerInfo, Endpoint
from broker_core.quotas.client_quotas import ClientQuotas
from broker_core.quotas.entities import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from broker_core.replication.flaws import NO_FLAWS, Flaws
from broker_core.replication.isr.alter_isr_manager import AlterIsrManager
from broker_core.replication.manager import ReplicaManager
from broker_core.seams import Listener, Node
from broker_core.server.connection import Connection
from broker_core.server.controlled_shutdown import hand_over
from broker_core.server.pipeline import Pipeline
from broker_core.server.strangers import Strangers
from broker_core.storage.manager import NOTHING_UNUSABLE, LogManager
from broker_core.telemetry.feed import StateFeed
from broker_core.telemetry.log_looks import LogLooks
from broker_core.telemetry.metrics import BrokerMetrics
from broker_core.telemetry.prometheus import Gauge
from broker_core.telemetry.source import BrokerStateSource
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.transactions.verifier import Verifier

log = logging.getLogger(__name__)

PLAINTEXT = "PLAINTEXT"
"""The listener that brokers use where no setting names one."""


class Broker:
    """`start` once, `shutdown` once. `on_failure` is called when the broker cannot go on and has to be stopped; `unusable` are data folders
    that could not be locked."""

    source: BrokerStateSource

    def __init__(
        self,
        node: Node,
        config: BrokerConfig | ConfigHolder,
        *,
        flaws: Flaws = NO_FLAWS,
        unusable: Mapping[str, OSError] = NOTHING_UNUSABLE,
        on_failure: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self.node = node
        self.config = config if isinstance(config, ConfigHolder) else ConfigHolder(config)
        static = self.config.static
        self.broker_id = static.broker_id
        self.metrics = BrokerMetrics()
        self._flaws = flaws
        self._unusable = unusable
        self._listeners: list[Listener] = []
        self._logs_are_open = False
        self._services: BrokerServices | None = None
        self._advertised = static.advertised_endpoints()
        self.vigil = Vigil(node, self.broker_id, self.config, self._doubt)
        self._registration = Registration(
            node,
            [folder for folder in static.log_dirs if folder not in unusable],
            self._describe,
            session_timeout_ms=static.zookeeper_session_timeout_ms,
            on_registered=self._registered_again,
            on_failure=on_failure,
        )

    @property
    def services(self) -> BrokerServices:
        """The broker's parts, from early in its start on."""
        assert self._services is not None, "the broker has not been started"
        return self._services

    @property
    def epoch(self) -> int:
        """The broker epoch of the present registration, -1 before the first."""
        return self._registration.epoch

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self._listeners[0].port

    async def start(self) -> None:
        """Returns once the broker is registered and serves; raises what kept it from that, with everything closed again."""
        try:
            await self._start()
        except BaseException:
            await self._close(clean=self._logs_are_open)
            raise

    async def _start(self) -> None:
        cluster_id = await self._cluster_id()
        self._services = self._assemble(cluster_id)
        self.services.admin.watcher.on_broker_change(self._settings_changed)
        self.services.admin.watcher.on_quota_change(self.services.quotas.changed)
        await self.services.admin.watcher.start()
        await self.services.logs.start()
        self._logs_are_open = True
        self.services.groups.start()
        self.services.transactions.start()
        self.services.replicas.start()
        await self._listen()
        await self._registration.start()
        await self.services.controller.start()
        if self.config.static.highwater_early_failover_enable:
            self.vigil.start()
        log.info("broker started", extra={"broker": self.broker_id, "port": self.port, "epoch": self.epoch, "cluster": cluster_id})

    async def _cluster_id(self) -> str:
        """Lays out the store and reads the cluster's id; `ConnectionLoss` when the store cannot do that in time."""
        limit_ms = self.config.static.store_connection_timeout_ms
        try:
            return await self.node.clock.wait_for(self._open_store(limit_ms), limit_ms)
        except TimeoutError:
            raise ConnectionLoss(f"the coordination store answered too little within {limit_ms} ms to start on") from None

    async def _open_store(self, limit_ms: float) -> str:
        store = self.node.store
        while True:
            try:
                await store.connect(limit_ms)
                await ensure_layout(store, self._layout())
                return await ensure_cluster_id(store, self.node.entropy)
            except SessionExpired as error:
                log.info("the start is tried again in another session: %s", error)

    def _layout(self) -> tuple[str, ...]:
        return (*PERSISTENT, SUSPICIONS) if self.config.static.highwater_early_failover_enable else PERSISTENT

    async def shutdown(self, controlled: bool = True) -> None:
        """Stops with clean logs; `controlled` gives the leaderships away first."""
        if controlled:
            await self.hand_over()
        await self._close(clean=True)
        log.info("broker stopped", extra={"broker": self.broker_id})

    async def hand_over(self) -> None:
        """Gives the leaderships away, if `controlled.shutdown.enable` says so; may be cancelled."""
        if self.config.current.controlled_shutdown_enable:
            await hand_over(self.services)

    async def _close(self, *, clean: bool) -> None:
        """Closes what is open. The session ends before the logs are flushed: others need not wait for that."""
        for listener in self._listeners:
            await listener.close()
        services = self._services
        if services is not None:
            services.feed.close()
            await services.admin.watcher.stop()
            await self.vigil.stop()
            await self._registration.stop()
            services.groups.close()
            services.transactions.close()
            await services.replicas.shutdown()
            await services.controller.stop()
            services.channels.close_all()
        await self.node.store.close()
        if services is not None:
            await services.logs.shutdown(clean=clean, broker_epoch=self.epoch)

    def gauges(self) -> list[Gauge]:
        """What the metrics page shows besides the counters; nothing before the start."""
        if not self._logs_are_open:
            return []
        row = self.source.broker()
        return [
            ("partitions", "Replicas hosted.", row.partitions),
            ("leaders", "Partitions led.", row.leaders),
            ("under_replicated_partitions", "Led partitions with fewer replicas in sync than wanted.", row.under_replicated),
            (
                "under_min_isr_partitions",
                "Led partitions that refuse acks=all: too few are in sync.",
                self.source.under_min_isr(),
            ),
            *_isr_changes(self.services.replicas.alter_isr),
            ("log_bytes", "Bytes of all logs.", row.log_bytes),
            *_folder_gauges((row.log_dir, *row.other_log_dirs)),
            ("active_controller", "1 on the controller.", int(row.is_controller)),
            ("produce_purgatory_size", "Produce requests that wait for replicas.", row.purgatory.produce),
            ("fetch_purgatory_size", "Fetch requests that wait for data.", row.purgatory.fetch),
            ("join_purgatory_size", "Group rebalances that wait for members to join or sync.", row.purgatory.join),
            ("heartbeat_purgatory_size", "Group members that are waited for to be heard of.", row.purgatory.heartbeat),
            ("produce_purgatory_expired_total", "Produce requests whose replicas were not in time.", row.purgatory_expired.produce),
            ("fetch_purgatory_expired_total", "Fetch requests that waited in vain.", row.purgatory_expired.fetch),
            *_throttles(self.services.quotas),
            ("join_purgatory_expired_total", "Group rebalances that waited for members until the time was up.", row.purgatory_expired.join),
            ("heartbeat_purgatory_expired_total", "Group members not heard of in time.", row.purgatory_expired.heartbeat),
            *(_controller_gauges(self.services.controller.snapshot()) if row.is_controller else ()),
        ]

    def _assemble(self, cluster_id: str) -> BrokerServices:
        node, config, broker_id = self.node, self.config, self.broker_id
        metadata = MetadataCache(cluster_id)
        channels = ChannelPool(node, f"broker-{broker_id}", connect_timeout_ms=config.static.socket_connection_setup_timeout_ms)
        logs = LogManager(node, config, broker_id, cluster_id, self._unusable)
        epoch = lambda: self._registration.epoch  # noqa: E731
        replicas = ReplicaManager(node, broker_id, config, logs, metadata, broker_epoch=epoch, channels=channels, flaws=self._flaws)
        groups = GroupCoordinator(node, config, replicas, metadata)
        producer_ids = ProducerIds(node, broker_id)
        transactions = TransactionCoordinator(node, config, replicas, metadata, channels=channels, producer_ids=producer_ids)
        controller = Controller(node, broker_id, config, ChannelSender(node, channels, config), flaws=self._flaws)
        self.source = BrokerStateSource(broker_id, replicas, groups, controller, logs, self.metrics, epoch)
        feed = StateFeed(node, self.source, epoch)
        replicas.on_refused = partial(feed.add_event, "control_refused")
        controller.tell_early = partial(feed.add_event, "early_failover")
        return BrokerServices(
            node=node,
            broker_id=broker_id,
            cluster_id=cluster_id,
            config=config,
            logs=logs,
            metadata=metadata,
            replicas=replicas,
            groups=groups,
            producer_ids=producer_ids,
            transactions=transactions,
            verifier=Verifier(config, metadata, channels, replicas=replicas, coordinator=transactions),
            controller=controller,
            admin=AdminService(node, config, metadata, broker_id),
            channels=channels,
            registry=full_registry(),
            metadata_responses=EncodedCache(),
            feed=feed,
            log_looks=LogLooks(node, broker_id, replicas, logs),
            metrics=self.metrics,
            broker_epoch=epoch,
            quotas=ClientQuotas(config, _protected(config.static)),
        )

    async def _listen(self) -> None:
        pipeline = Pipeline(self.services, AllowAll(), Strangers(self.node.clock))
        for endpoint in self.config.current.endpoints():
            accept = partial(Connection, pipeline, endpoint.listener)
            listener = await self.node.network.listen(endpoint.host, endpoint.port, accept)
            self._listeners.append(listener)
            self._advertised = tuple(_with_port(advertised, endpoint.listener, listener.port) for advertised in self._advertised)

    def _describe(self) -> BrokerInfo:
        early = self.config.static.highwater_early_failover_enable
        return BrokerInfo(self.broker_id, self._advertised, self.config.current.broker_rack, -1, early_failover=early)

    def _doubt(self, broker_id: int, is_doubted: bool) -> None:
        self.services.metadata.doubt(broker_id, is_doubted)

    def _settings_changed(self) -> None:
        self.services.replicas.fetchers.resize()
        if self.config.current.unclean_leader_election_enable:
            self.services.controller.enable_unclean_election(None)

    def _registered_again(self, epoch: int) -> None:
        log.warning("registered again after the session expired", extra={"broker": self.broker_id, "epoch": epoch})
        self.services.feed.add_event("registered", f"its session had ended, its epoch is {epoch} now")
        self.services.controller.session_renewed()
        self.vigil.look()


def _protected(config: BrokerConfig) -> str | None:
    """The brokers' own listener, where clients have another: their connections are not counted with those of clients."""
    endpoints = config.endpoints()
    name = config.inter_broker_listener_name or PLAINTEXT
    return name if len(endpoints) > 1 else None


def _folder_gauges(folders: Sequence[LogDir]) -> list[Gauge]:
    """Of the folder with the least room, where that is known: an offline folder has none, and one that does not fill has no end."""
    offline = [folder for folder in folders if folder.offline_since_ms is not None]
    served = next((folder for folder in folders if folder.offline_since_ms is None), LogDir(""))
    gauges: list[tuple[str, str, Any]] = [
        ("log_dir_free_bytes", "Bytes free on the data folder's disk, the fullest one's of several.", served.free_bytes),
        ("log_dir_total_bytes", "Bytes of that disk.", served.total_bytes),
        ("log_dir_full_in_seconds", "When that disk is full at the rate of the last ten minutes.", served.full_in_s),
    ]
    first = ("log_dir_offline", "Data folders that an I/O error has taken offline.", len(offline))
    return [first, *(gauge for gauge in gauges if gauge[2] is not None)]


def _isr_changes(isr: AlterIsrManager) -> list[Gauge]:
    return [
        ("isr_shrinks_total", "Times that an ISR of a partition led became smaller.", isr.shrinks),
        ("isr_expands_total", "Times that one became larger.", isr.expansions),
        ("isr_changes_refused_total", "Changes of ISRs that were refused.", isr.refusals),
    ]


def _throttles(quotas: ClientQuotas) -> list[Gauge]:
    """How often each quota made a client wait, and how long in all."""
    names = (
        (PRODUCER_BYTE_RATE, "produce_throttled_total", "Answers that told a client to wait as it had produced too many bytes."),
        (CONSUMER_BYTE_RATE, "fetch_throttled_total", "Answers that told a client to wait as it had fetched too many bytes."),
        (REQUEST_PERCENTAGE, "request_throttled_total", "Answers that told a client to wait as its requests had taken too long."),
        (CONTROLLER_MUTATION_RATE, "mutation_throttled_total", "Answers that told a client to wait as it had changed too many partitions."),
        (CONNECTION_CREATION_RATE, "connections_throttled_total", "Connections that were not taken as their address had opened too many."),
    )
    rows: list[Gauge] = [(name, text, quotas.throttled[key]) for key, name, text in names]
    return [*rows, ("throttle_seconds_total", "How long clients were told to wait for their quotas.", quotas.throttled_ms / 1000)]


def _controller_gauges(office: ControllerSnapshot) -> list[Gauge]:
    """Of the controller alone, named as Kafka's KafkaController metrics."""
    return [
        ("controller_event_queue_size", "Events that wait for the controller.", office.queue_size),
        ("controller_event_queue_time_max_seconds", "Longest wait of its last 256 events.", office.queue_time_max_ms / 1000),
        ("controller_requests_waiting", "Control requests queued for brokers or on their way.", sum(office.requests_waiting.values())),
        ("controller_partitions_to_create", "New partitions that have no leader yet.", office.partitions_to_create),
        ("global_topic_count", "Topics.", office.topics),
        ("global_partition_count", "Partitions.", office.partitions),
        ("offline_partitions_count", "Partitions without a leader.", office.offline_partitions),
        ("preferred_replica_imbalance_count", "Partitions not led by their preferred replica.", office.preferred_imbalance),
        ("reassigning_partitions", "Partitions being moved.", office.partitions_moving),
        ("topics_to_delete_count", "Topics queued for deletion.", office.topics_to_delete),
        ("topics_ineligible_to_delete_count", "Of these, topics whose deletion waits for a broker.", office.topics_ineligible_to_delete),
        ("unclean_leader_elections_total", "Unclean elections since this controller took office.", office.unclean_elections),
    ]


def _with_port(advertised: Endpoint, listener: str, port: int) -> Endpoint:
    """Port 0 asked for any free one: tell the one that was given."""
    return replace(advertised, port=port) if advertised.listener == listener and advertised.port == 0 else advertised
