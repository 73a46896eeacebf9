"""The broker's settings, by Kafka's names; names that are not Kafka's are refused, those without effect here are kept (`idle.py`).

Defaults are Apache Kafka 3.9's unless the text says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from broker_core.config.idle import IDLE_KEYS, base_name, needs_nothing_missing, of_listener
from broker_core.config.inter_broker import InterBrokerProtocol, inter_broker_protocol
from broker_core.config.key import DOUBLE_MAX, INT_MAX, LONG_MAX, SHORT_MAX, Key, KeyType, setting
from broker_core.config.listeners import check_control_plane, check_listeners, check_overrides, parse_listeners
from broker_core.config.versions import is_version
from broker_core.errors import ConfigError
from broker_core.model import Endpoint

_B, _I, _L, _D, _S, _T = KeyType.BOOLEAN, KeyType.INT, KeyType.LONG, KeyType.DOUBLE, KeyType.STRING, KeyType.LIST
_SHORT = KeyType.SHORT
_DAY_MS = 24 * 60 * 60 * 1000
BROKER_ID, NODE_ID = "broker.id", "node.id"
LOG_DIRS, LOG_DIR = "log.dirs", "log.dir"
_CODECS = ("producer", "uncompressed", "none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """All settings of one broker; read `config.log_segment_bytes` for `log.segment.bytes`."""

    broker_id: int = setting("broker.id", _I, 0, "This broker's id in the cluster; -1: the one its folder has, or one is made.", low=-1)
    broker_id_generation_enable: bool = setting("broker.id.generation.enable", _B, True, "Make an id for a broker whose own is -1.")
    broker_rack: str | None = setting("broker.rack", _S, None, "The rack the broker stands in; used to spread replicas.")
    listeners: tuple[str, ...] = setting(
        "listeners", _T, ("PLAINTEXT://127.0.0.1:9092",), "Where the broker listens: NAME://host:port.", shown_as=_S
    )
    advertised_listeners: tuple[str, ...] | None = setting(
        "advertised.listeners", _T, None, "What clients are told; else the listeners.", shown_as=_S
    )
    listener_security_protocol_map: tuple[str, ...] = setting(
        "listener.security.protocol.map",
        _T,
        ("SASL_SSL:SASL_SSL", "PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT"),
        "The protocol of each listener's name, NAME:PROTOCOL; listeners may be of PLAINTEXT only.",
        shown_as=_S,
    )
    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name", _S, None, "The listener that brokers reach each other by; else the one of the name PLAINTEXT."
    )
    control_plane_listener_name: str | None = setting(
        "control.plane.listener.name", _S, None, "The listener that the controller reaches brokers by; else that of the other brokers."
    )
    inter_broker_protocol_version: str = setting(
        "inter.broker.protocol.version",
        _S,
        "3.9-IV0",
        "How brokers speak with each other; before 2.7-IV2 leaders write ISR changes into ZooKeeper, since then they ask the controller.",
    )
    zookeeper_connect: str = setting("zookeeper.connect", _S, "127.0.0.1:2181", "host:port[,host:port…][/chroot] of ZooKeeper.")
    zookeeper_session_timeout_ms: int = setting("zookeeper.session.timeout.ms", _I, 18000, "A broker silent for longer is dead.", low=100)
    zookeeper_connection_timeout_ms: int | None = setting(
        "zookeeper.connection.timeout.ms", _I, None, "Longest wait for ZooKeeper at start; else as long as a session lasts.", low=1
    )
    zookeeper_max_in_flight_requests: int = setting(
        "zookeeper.max.in.flight.requests", _I, 100, "Requests that ZooKeeper has at a time; the others wait here.", low=1
    )
    log_dirs: tuple[str, ...] = setting(
        "log.dirs", _T, ("/tmp/kafka-logs",), "The data folders; a new replica goes to the one with the fewest.", shown_as=_S
    )
    num_replica_alter_log_dirs_threads: int | None = setting(
        "num.replica.alter.log.dirs.threads",
        _I,
        None,
        "Replicas that move between data folders at once; else as many as there are folders.",
    )

    auto_create_topics_enable: bool = setting("auto.create.topics.enable", _B, True, "Create a topic that a client asks for.")
    delete_topic_enable: bool = setting("delete.topic.enable", _B, True, "Allow the deletion of topics.")
    num_partitions: int = setting("num.partitions", _I, 1, "Partitions of a topic created without a number.", low=1)
    default_replication_factor: int = setting("default.replication.factor", _I, 1, "Replicas of a topic created without a number.", low=1)
    min_insync_replicas: int = setting("min.insync.replicas", _I, 1, "Least ISR for acks=all.", low=1, dynamic=True)
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable", _B, False, "Let a replica outside the ISR lead; acknowledged records may be lost.", dynamic=True
    )
    auto_leader_rebalance_enable: bool = setting("auto.leader.rebalance.enable", _B, True, "Give leadership back to preferred replicas.")
    leader_imbalance_per_broker_percentage: int = setting(
        "leader.imbalance.per.broker.percentage", _I, 10, "Imbalance of a broker above which it is mended.", low=0
    )
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds", _L, 300, "How often imbalance is looked for.", low=1
    )
    controlled_shutdown_enable: bool = setting("controlled.shutdown.enable", _B, True, "Hand leadership over before stopping.")
    controlled_shutdown_max_retries: int = setting("controlled.shutdown.max.retries", _I, 3, "Attempts to hand over.", low=1)
    controlled_shutdown_retry_backoff_ms: int = setting("controlled.shutdown.retry.backoff.ms", _L, 5000, "Wait between them.", low=0)
    controller_socket_timeout_ms: int = setting("controller.socket.timeout.ms", _I, 30000, "Longest wait for a broker's answer.", low=1)
    reserved_broker_max_id: int = setting("reserved.broker.max.id", _I, 1000, "Highest id that may be given by hand.", low=0)

    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms", _L, 30000, "A follower not caught up for longer leaves the ISR.", low=1, dynamic=True
    )
    replica_fetch_wait_max_ms: int = setting("replica.fetch.wait.max.ms", _I, 500, "Longest a follower's fetch is held.", low=0)
    replica_fetch_min_bytes: int = setting("replica.fetch.min.bytes", _I, 1, "Least bytes a follower's fetch waits for.", low=0)
    replica_fetch_max_bytes: int = setting("replica.fetch.max.bytes", _I, 1048576, "Most bytes per partition in a follower's fetch.", low=0)
    replica_fetch_response_max_bytes: int = setting("replica.fetch.response.max.bytes", _I, 10485760, "Most bytes per fetch.", low=0)
    replica_fetch_backoff_ms: int = setting("replica.fetch.backoff.ms", _I, 1000, "Wait after a failed fetch.", low=0)
    replica_socket_timeout_ms: int = setting("replica.socket.timeout.ms", _I, 30000, "Longest wait for a leader's answer.", low=1)
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms", _L, 5000, "How often high watermarks are written to disk.", low=1
    )
    replica_selector_class: str | None = setting(
        "replica.selector.class",
        _S,
        None,
        "Who serves a consumer's fetch (KIP-392).",
        choices=(
            "",
            "org.apache.kafka.common.replica.LeaderSelector",
            "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            "highwater.RandomReplicaSelector",
        ),
    )
    num_replica_fetchers: int = setting("num.replica.fetchers", _I, 1, "Fetchers per source broker.", low=1, high=16, dynamic=True)

    message_max_bytes: int = setting("message.max.bytes", _I, 1048588, "Largest record batch.", low=0, dynamic=True)
    compression_type: str = setting("compression.type", _S, "producer", "Kept as the producer sent it.", choices=_CODECS, dynamic=True)
    compression_gzip_level: int = setting("compression.gzip.level", _I, -1, "Level of gzip; -1: its own.", low=-1, high=9, dynamic=True)
    compression_lz4_level: int = setting("compression.lz4.level", _I, 9, "Level of lz4.", low=1, high=17, dynamic=True)
    compression_zstd_level: int = setting("compression.zstd.level", _I, 3, "Level of zstd.", low=-131072, high=22, dynamic=True)
    log_segment_bytes: int = setting("log.segment.bytes", _I, 1073741824, "Size at which a segment is rolled.", low=14, dynamic=True)
    log_roll_ms: int | None = setting("log.roll.ms", _L, None, "Age at which a segment is rolled.", low=1, dynamic=True)
    log_roll_hours: int = setting("log.roll.hours", _I, 168, "The same in hours.", low=1)
    log_roll_jitter_ms: int | None = setting("log.roll.jitter.ms", _L, None, "Most jitter of that age.", low=0, dynamic=True)
    log_roll_jitter_hours: int = setting("log.roll.jitter.hours", _I, 0, "The same in hours.", low=0)
    log_retention_ms: int | None = setting("log.retention.ms", _L, None, "How long records are kept; -1: for ever.", low=-1, dynamic=True)
    log_retention_minutes: int | None = setting("log.retention.minutes", _I, None, "The same in minutes.", low=-1)
    log_retention_hours: int = setting("log.retention.hours", _I, 168, "The same in hours.", low=-1)
    log_retention_bytes: int = setting(
        "log.retention.bytes", _L, -1, "Size of a partition above which old segments go.", low=-1, dynamic=True
    )
    log_local_retention_ms: int = setting("log.local.retention.ms", _L, -2, "For tiered storage; has no effect.", low=-2, dynamic=True)
    log_local_retention_bytes: int = setting(
        "log.local.retention.bytes", _L, -2, "For tiered storage; has no effect.", low=-2, dynamic=True
    )
    log_retention_check_interval_ms: int = setting("log.retention.check.interval.ms", _L, 300000, "How often that is checked.", low=1)
    log_cleanup_policy: tuple[str, ...] = setting(
        "log.cleanup.policy",
        _T,
        ("delete",),
        "delete, compact, both; empty keeps all.",
        choices=("compact", "delete"),
        dynamic=True,
    )
    log_index_size_max_bytes: int = setting("log.index.size.max.bytes", _I, 10485760, "Largest index file.", low=4, dynamic=True)
    log_index_interval_bytes: int = setting("log.index.interval.bytes", _I, 4096, "Bytes between index entries.", low=0, dynamic=True)
    log_flush_interval_messages: int = setting("log.flush.interval.messages", _L, LONG_MAX, "Records between fsyncs.", low=1, dynamic=True)
    log_flush_interval_ms: int | None = setting("log.flush.interval.ms", _L, None, "Time between fsyncs.", low=0, dynamic=True)
    log_flush_scheduler_interval_ms: int = setting("log.flush.scheduler.interval.ms", _L, LONG_MAX, "How often that is checked.", low=1)
    log_flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms", _I, 60000, "How often recovery points are written.", low=0
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms", _I, 60000, "How often log start offsets are written.", low=0
    )
    log_preallocate: bool = setting("log.preallocate", _B, False, "Give a new segment its full size at once.", dynamic=True)
    log_segment_delete_delay_ms: int = setting(
        "log.segment.delete.delay.ms", _L, 60000, "Wait before a file is removed.", low=0, dynamic=True
    )
    log_message_timestamp_type: str = setting(
        "log.message.timestamp.type", _S, "CreateTime", "Whose clock.", choices=("CreateTime", "LogAppendTime"), dynamic=True
    )
    log_message_format_version: str = setting("log.message.format.version", _S, "3.0-IV1", "Has no effect since Kafka 3.0.")
    log_message_timestamp_difference_max_ms: int = setting(
        "log.message.timestamp.difference.max.ms",
        _L,
        LONG_MAX,
        "The older form of the next two, where not set.",
        low=0,
        dynamic=True,
    )
    log_message_timestamp_before_max_ms: int = setting(
        "log.message.timestamp.before.max.ms", _L, LONG_MAX, "Oldest timestamp accepted, before now.", low=0, dynamic=True
    )
    log_message_timestamp_after_max_ms: int = setting(
        "log.message.timestamp.after.max.ms", _L, LONG_MAX, "Newest timestamp accepted, after now.", low=0, dynamic=True
    )
    log_message_downconversion_enable: bool = setting(
        "log.message.downconversion.enable", _B, True, "Convert for old consumers.", dynamic=True
    )
    log_cleaner_enable: bool = setting("log.cleaner.enable", _B, True, "Run the compactor.")
    log_cleaner_backoff_ms: int = setting("log.cleaner.backoff.ms", _L, 15000, "Wait when nothing is to be compacted.", low=0, dynamic=True)
    log_cleaner_io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second", _D, DOUBLE_MAX, "Bytes that compaction reads and writes a second.", low=0, dynamic=True
    )
    log_cleaner_io_buffer_load_factor: float = setting(
        "log.cleaner.io.buffer.load.factor", _D, 0.9, "Share of the map's memory that is used.", low=0, high=1, dynamic=True
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size", _L, 134217728, "Memory for the map of keys.", low=1048576, dynamic=True
    )
    log_cleaner_min_cleanable_ratio: float = setting(
        "log.cleaner.min.cleanable.ratio", _D, 0.5, "Dirty share above which a log is compacted.", low=0, high=1, dynamic=True
    )
    log_cleaner_min_compaction_lag_ms: int = setting(
        "log.cleaner.min.compaction.lag.ms", _L, 0, "Youngest record compacted.", low=0, dynamic=True
    )
    log_cleaner_max_compaction_lag_ms: int = setting(
        "log.cleaner.max.compaction.lag.ms", _L, LONG_MAX, "Oldest record left uncompacted.", low=1, dynamic=True
    )
    log_cleaner_delete_retention_ms: int = setting(
        "log.cleaner.delete.retention.ms", _L, _DAY_MS, "How long tombstones stay.", low=0, dynamic=True
    )

    fetch_max_bytes: int = setting("fetch.max.bytes", _I, 57671680, "Most bytes in a fetch response.", low=1024)
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots", _I, 1000, "Fetch sessions kept (KIP-227).", low=0
    )
    delete_records_purgatory_purge_interval_requests: int = setting(
        "delete.records.purgatory.purge.interval.requests", _I, 1, "Completed left before a purge."
    )
    fetch_purgatory_purge_interval_requests: int = setting(
        "fetch.purgatory.purge.interval.requests", _I, 1000, "Completed left before a purge.", low=1
    )
    producer_purgatory_purge_interval_requests: int = setting(
        "producer.purgatory.purge.interval.requests", _I, 1000, "Completed left before a purge.", low=1
    )
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size", _I, 512, "Connections that wait to be accepted; after a start all clients come at once.", low=1
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes", _I, -1, "Of a client's socket; -1: the system's own, which grows by need.", low=-1
    )
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes", _I, -1, "Of a client's socket; -1: the system's own, which grows by need.", low=-1
    )
    socket_connection_setup_timeout_ms: int = setting(
        "socket.connection.setup.timeout.ms", _L, 10000, "Longest wait for a connection to another broker.", low=1
    )
    socket_request_max_bytes: int = setting("socket.request.max.bytes", _I, 104857600, "Largest request.", low=1)
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes", _L, 268435456, "Memory of all requests being read (Kafka's default has no limit).", low=-1
    )
    queued_max_requests: int = setting("queued.max.requests", _I, 500, "Requests read and not begun.", low=1)
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms", _L, 600000, "Idle time after which a connection is closed; -1: never.", low=-1
    )
    max_connections: int = setting(
        "max.connections", _I, 10000, "Connections of the broker (Kafka's default has no limit).", low=1, dynamic=True
    )
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate", _I, INT_MAX, "Connections that may be opened a second; the others wait.", low=1, dynamic=True
    )
    max_connections_per_ip: int = setting("max.connections.per.ip", _I, INT_MAX, "Connections of one address.", low=0, dynamic=True)

    max_connections_per_ip_overrides: tuple[str, ...] = setting(
        "max.connections.per.ip.overrides", _T, (), "The same of single addresses, as a list of address:count.", dynamic=True, shown_as=_S
    )
    quota_window_num: int = setting("quota.window.num", _I, 11, "Windows that clients' rates are told over.", low=1)
    quota_window_size_seconds: int = setting("quota.window.size.seconds", _I, 1, "How long each is.", low=1)
    controller_quota_window_num: int = setting(
        "controller.quota.window.num", _I, 11, "Windows whose partitions a client may make or delete at once.", low=1
    )
    controller_quota_window_size_seconds: int = setting("controller.quota.window.size.seconds", _I, 1, "How long each is.", low=1)

    offsets_topic_num_partitions: int = setting("offsets.topic.num.partitions", _I, 50, "Partitions of __consumer_offsets.", low=1)
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor", KeyType.SHORT, 3, "Its replicas.", low=1, high=SHORT_MAX
    )
    offsets_topic_segment_bytes: int = setting("offsets.topic.segment.bytes", _I, 104857600, "Its segments' size.", low=1)
    offsets_retention_minutes: int = setting("offsets.retention.minutes", _I, 10080, "How long offsets of an empty group stay.", low=1)
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms", _L, 600000, "How often that is checked.", low=1
    )
    offsets_commit_timeout_ms: int = setting("offsets.commit.timeout.ms", _I, 5000, "Longest wait for a commit's replicas.", low=1)
    offsets_load_buffer_size: int = setting("offsets.load.buffer.size", _I, 5242880, "Bytes read at a time while loading.", low=1)
    offset_metadata_max_bytes: int = setting("offset.metadata.max.bytes", _I, 4096, "Longest text kept with an offset.", low=0)
    group_min_session_timeout_ms: int = setting("group.min.session.timeout.ms", _I, 6000, "Shortest session of a member.", low=1)
    group_max_session_timeout_ms: int = setting("group.max.session.timeout.ms", _I, 1800000, "Longest session of a member.", low=1)
    group_initial_rebalance_delay_ms: int = setting("group.initial.rebalance.delay.ms", _I, 3000, "Wait for members of a new group.", low=0)
    group_max_size: int = setting("group.max.size", _I, INT_MAX, "Most members of a group.", low=1)
    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions", _I, 50, "Partitions of __transaction_state.", low=1
    )
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor", KeyType.SHORT, 3, "Its replicas.", low=1, high=SHORT_MAX
    )
    transaction_state_log_min_isr: int = setting("transaction.state.log.min.isr", _I, 2, "Its least ISR.", low=1)
    transaction_state_log_segment_bytes: int = setting("transaction.state.log.segment.bytes", _I, 104857600, "Its segments' size.", low=1)
    transaction_state_log_load_buffer_size: int = setting(
        "transaction.state.log.load.buffer.size", _I, 5242880, "Bytes of it read at a time while loading.", low=1
    )
    transaction_max_timeout_ms: int = setting("transaction.max.timeout.ms", _I, 900000, "Longest transaction.", low=1)
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, 10000, "How often late transactions are looked for.", low=1
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms", _I, 604800000, "How long an unused transactional id is remembered.", low=1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms", _I, 3600000, "How often that is checked.", low=1
    )
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable",
        _B,
        True,
        "Begin no transaction in a partition that its coordinator does not count in (KIP-890).",
        dynamic=True,
    )
    request_timeout_ms: int = setting("request.timeout.ms", _I, 30000, "Longest wait for a transaction's markers and records.", low=0)
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms", _I, 86400000, "How long an idle producer is remembered.", low=1, dynamic=True
    )
    replication_quota_window_num: int = setting(
        "replication.quota.window.num", _I, 11, "Samples that the rate of throttled replication is made of.", low=1
    )
    replication_quota_window_size_seconds: int = setting(
        "replication.quota.window.size.seconds", _I, 1, "How long each of them lasts.", low=1
    )
    leader_replication_throttled_rate: int = setting(
        "leader.replication.throttled.rate", _L, LONG_MAX, "Bytes per second sent to throttled replicas.", low=0, dynamic=True
    )
    follower_replication_throttled_rate: int = setting(
        "follower.replication.throttled.rate", _L, LONG_MAX, "Bytes per second fetched by throttled replicas.", low=0, dynamic=True
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        _L,
        LONG_MAX,
        "Bytes per second copied for replicas that move between data folders.",
        low=0,
        dynamic=True,
    )

    highwater_metrics_port: int = setting("highwater.metrics.port", _I, 0, "Port of the Prometheus metrics; 0: none.", low=0, high=65535)
    highwater_metrics_host: str = setting(
        "highwater.metrics.host", _S, "127.0.0.1", "Address the metrics are served on, to whoever reaches it."
    )
    highwater_decoding_max_bytes: int = setting(
        "highwater.decoding.max.bytes",
        _L,
        134217728,
        "Bytes that records may have when decompressed to be looked into: at a time, and in a request (and 16 times its size).",
        low=1,
        dynamic=True,
    )
    highwater_decoding_max_records: int = setting(
        "highwater.decoding.max.records",
        _I,
        2000000,
        "Records of a request that are looked into (and one for each 7 bytes of it).",
        low=1,
        dynamic=True,
    )
    highwater_decoding_max_ms: int = setting(
        "highwater.decoding.max.ms", _L, 30000, "Longest time for looking into a request's records.", low=1, dynamic=True
    )
    highwater_watch_max_clients: int = setting(
        "highwater.watch.max.clients", _I, 16, "Clients that may watch the state feed at once.", low=0
    )
    highwater_early_failover_enable: bool = setting(
        "highwater.early.failover.enable",
        KeyType.BOOLEAN,
        True,
        "Act on a broker's death once most brokers see its port refuse, before its session ends; only where all brokers have it on.",
    )

    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Names of the settings that the property file or the command line has, were it with their default."""

    idle: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """What the property file or the command line sets of Kafka's settings that have no effect here."""

    @classmethod
    def load(cls, properties: Mapping[str, str]) -> BrokerConfig:
        """The settings of a property file; `ConfigError` names the first one that is unknown or wrong."""
        needs_nothing_missing(properties)
        properties = _with_both_ids(properties)
        values = _values(
            properties if LOG_DIRS in properties or LOG_DIR not in properties else {**properties, LOG_DIRS: properties[LOG_DIR]}
        )
        idle = {name: text for name, text in properties.items() if name not in BROKER_KEYS}
        return cls(**values, given=frozenset(properties), idle=idle).checked()

    def with_overrides(self, properties: Mapping[str, str]) -> BrokerConfig:
        """A copy in which the given (dynamic) settings differ."""
        return replace(self, **_values(properties)).checked()

    def checked(self) -> BrokerConfig:
        """This, or `ConfigError` where settings contradict each other."""
        _check_log_dirs(self.log_dirs)
        if self.replica_fetch_wait_max_ms > self.replica_lag_time_max_ms:
            raise ConfigError(
                "replica.fetch.wait.max.ms must not exceed replica.lag.time.max.ms, or replicas would leave the ISR while waiting"
            )
        if self.replica_fetch_wait_max_ms > self.replica_socket_timeout_ms:
            raise ConfigError("replica.socket.timeout.ms must be at least replica.fetch.wait.max.ms, or a fetch would not be waited for")
        if self.broker_id < 0 and not self.broker_id_generation_enable:
            raise ConfigError("broker.id must be 0 or more where broker.id.generation.enable is false")
        if BROKER_ID in self.given and self.broker_id > self.reserved_broker_max_id:
            raise ConfigError(f"broker.id {self.broker_id} must not exceed reserved.broker.max.id ({self.reserved_broker_max_id})")
        if self.retention_ms == 0:
            raise ConfigError("log.retention.ms must be -1 (for ever) or at least 1; the same holds in minutes and hours")
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ConfigError("group.min.session.timeout.ms must not exceed group.max.session.timeout.ms")
        if not is_version(self.log_message_format_version):
            raise ConfigError(f"log.message.format.version {self.log_message_format_version!r} is no version of Kafka")
        inter_broker_protocol(self.inter_broker_protocol_version)
        check_overrides(self.max_connections_per_ip_overrides)
        if self.max_connections_per_ip == 0 and not self.max_connections_per_ip_overrides:
            raise ConfigError("max.connections.per.ip can be 0 only where max.connections.per.ip.overrides says who may connect")
        if "queued.max.request.bytes" in self.given and 0 < self.queued_max_request_bytes < self.socket_request_max_bytes:
            raise ConfigError("queued.max.request.bytes must be at least socket.request.max.bytes, or one request could not be read")
        check_listeners(self.endpoints(), self.advertised_endpoints(), self.inter_broker_listener_name)
        if self.inter_broker_listener_name and "security.inter.broker.protocol" in self.given:
            raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol should be set")
        if self.control_plane_listener_name is not None:
            check_control_plane(self.control_plane_listener_name, self.advertised_endpoints(), self.inter_broker_listener_name)
        return self

    @property
    def inter_broker_protocol(self) -> InterBrokerProtocol:
        return inter_broker_protocol(self.inter_broker_protocol_version)

    @property
    def without_effect(self) -> list[str]:
        """Names of the settings that were given and do nothing here; the older names of the broker's id and of its folder do."""
        return sorted(self.idle.keys() - {NODE_ID, *(() if LOG_DIRS in self.given else (LOG_DIR,))})

    @property
    def log_dir(self) -> str:
        """The first data folder."""
        return self.log_dirs[0]

    @property
    def controller_listener_name(self) -> str | None:
        """The listener that the controller reaches brokers by."""
        return self.control_plane_listener_name or self.inter_broker_listener_name

    @property
    def store_connection_timeout_ms(self) -> int:
        return self.zookeeper_connection_timeout_ms or self.zookeeper_session_timeout_ms

    @property
    def retention_ms(self) -> int:
        """How long records are kept, of the finest unit that is set; -1: for ever."""
        if self.log_retention_ms is not None:
            return self.log_retention_ms
        minutes = self.log_retention_hours * 60 if self.log_retention_minutes is None else self.log_retention_minutes
        return max(minutes * 60 * 1000, -1)

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the broker listens."""
        return parse_listeners("listeners", self.listeners, self.listener_security_protocol_map)

    def advertised_endpoints(self) -> tuple[Endpoint, ...]:
        """What clients and other brokers are told."""
        told, name = (self.advertised_listeners, "advertised.listeners") if self.advertised_listeners else (self.listeners, "listeners")
        return parse_listeners(name, told, self.listener_security_protocol_map)


def _values(properties: Mapping[str, str]) -> dict[str, Any]:
    """What the settings with an effect mean, by attribute; `ConfigError` for a name that is not a broker setting, or a wrong value."""
    values = {}
    for name, text in properties.items():
        if name == "replica.lag.max.messages":
            raise ConfigError(
                "replica.lag.max.messages was removed in Kafka 0.9 (KIP-16): a follower falls out of the ISR by time, "
                "see replica.lag.time.max.ms"
            )
        key = broker_key(name)
        if key is None:
            raise ConfigError(f"Unknown configuration {name!r}")
        value = key.parse(text)
        if name in BROKER_KEYS:
            values[key.attribute] = _shaped(key.attribute, value)
    return values


def _with_both_ids(properties: Mapping[str, str]) -> Mapping[str, str]:
    """As in Kafka `node.id` is another name of `broker.id`, and both are told; `ConfigError` where they differ."""
    given = {name: properties[name].strip() for name in (BROKER_ID, NODE_ID) if name in properties}
    if len(set(given.values())) > 1:
        raise ConfigError(f"{NODE_ID} ({given[NODE_ID][:20]}) must be the same as {BROKER_ID} ({given[BROKER_ID][:20]})")
    return {**properties, **dict.fromkeys((BROKER_ID, NODE_ID), *given.values())} if len(given) == 1 else properties


def broker_key(name: str) -> Key | None:
    """A setting of Kafka's brokers, or of one listener of theirs, be it without effect here."""
    key = BROKER_KEYS.get(name) or IDLE_KEYS.get(name)
    base = base_name(name)
    if key is None and base != name:
        known = BROKER_KEYS.get(base) or IDLE_KEYS.get(base)
        return None if known is None else of_listener(known, name)
    return key


def _shaped(attribute: str, value: Any) -> Any:
    return value or None if attribute == "replica_selector_class" else value


BROKER_KEYS: dict[str, Key] = {f.metadata["key"].name: f.metadata["key"] for f in fields(BrokerConfig) if "key" in f.metadata}


def _check_log_dirs(folders: tuple[str, ...]) -> None:
    if not folders or not all(folders):
        raise ConfigError("log.dirs must name at least one folder")
    if len(set(folders)) != len(folders):
        raise ConfigError(f"log.dirs names a folder twice: {', '.join(folders)}")
