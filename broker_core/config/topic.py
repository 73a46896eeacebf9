"""A topic's settings: overrides over the broker's defaults (Kafka's LogConfig)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.config.key import LONG_MAX, Key, KeyType, setting
from broker_core.config.versions import is_version
from broker_core.errors import ConfigError

_B, _I, _L, _D, _S, _T = KeyType.BOOLEAN, KeyType.INT, KeyType.LONG, KeyType.DOUBLE, KeyType.STRING, KeyType.LIST
_DAY_MS = 24 * 60 * 60 * 1000
_REPLICA = re.compile(r"\d+:\d+")
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """All settings of one topic; read `config.segment_bytes` for `segment.bytes`."""

    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy",
        _T,
        ("delete",),
        "delete, compact, both; empty keeps all.",
        choices=("compact", "delete"),
        synonyms=("log.cleanup.policy",),
    )
    compression_type: str = setting(
        "compression.type", _S, "producer", "Codec of the stored batches.", choices=_CODECS, synonyms=("compression.type",)
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level", _I, -1, "Level of gzip; -1: its own.", low=-1, high=9, synonyms=("compression.gzip.level",)
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level", _I, 9, "Level of lz4.", low=1, high=17, synonyms=("compression.lz4.level",)
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level", _I, 3, "Level of zstd.", low=-131072, high=22, synonyms=("compression.zstd.level",)
    )
    delete_retention_ms: int = setting(
        "delete.retention.ms", _L, _DAY_MS, "How long tombstones stay.", low=0, synonyms=("log.cleaner.delete.retention.ms",)
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms", _L, 60000, "Wait before a file is removed.", low=0, synonyms=("log.segment.delete.delay.ms",)
    )
    flush_messages: int = setting(
        "flush.messages", _L, LONG_MAX, "Records between fsyncs.", low=1, synonyms=("log.flush.interval.messages",)
    )
    flush_ms: int = setting("flush.ms", _L, LONG_MAX, "Time between fsyncs.", low=0, synonyms=("log.flush.interval.ms",))
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        "follower.replication.throttled.replicas", _T, (), "partition:broker,… or * whose fetching is throttled."
    )
    index_interval_bytes: int = setting(
        "index.interval.bytes", _I, 4096, "Bytes between index entries.", low=0, synonyms=("log.index.interval.bytes",)
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        "leader.replication.throttled.replicas", _T, (), "partition:broker,… or * whose serving is throttled."
    )
    local_retention_bytes: int = setting(
        "local.retention.bytes", _L, -2, "For tiered storage; has no effect.", low=-2, synonyms=("log.local.retention.bytes",)
    )
    local_retention_ms: int = setting(
        "local.retention.ms", _L, -2, "For tiered storage; has no effect.", low=-2, synonyms=("log.local.retention.ms",)
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms", _L, LONG_MAX, "Oldest record left uncompacted.", low=1, synonyms=("log.cleaner.max.compaction.lag.ms",)
    )
    max_message_bytes: int = setting("max.message.bytes", _I, 1048588, "Largest record batch.", low=0, synonyms=("message.max.bytes",))
    message_downconversion_enable: bool = setting(
        "message.downconversion.enable", _B, True, "Convert for old consumers.", synonyms=("log.message.downconversion.enable",)
    )
    message_format_version: str = setting(
        "message.format.version", _S, "3.0-IV1", "Has no effect since Kafka 3.0.", synonyms=("log.message.format.version",)
    )
    message_timestamp_after_max_ms: int = setting(
        "message.timestamp.after.max.ms",
        _L,
        LONG_MAX,
        "Newest timestamp accepted, after now.",
        low=0,
        synonyms=("log.message.timestamp.after.max.ms",),
    )
    message_timestamp_before_max_ms: int = setting(
        "message.timestamp.before.max.ms",
        _L,
        LONG_MAX,
        "Oldest timestamp accepted, before now.",
        low=0,
        synonyms=("log.message.timestamp.before.max.ms",),
    )
    message_timestamp_difference_max_ms: int = setting(
        "message.timestamp.difference.max.ms",
        _L,
        LONG_MAX,
        "The older form of message.timestamp.before.max.ms and after.max.ms, where they are not set.",
        low=0,
        synonyms=("log.message.timestamp.difference.max.ms",),
    )
    message_timestamp_type: str = setting(
        "message.timestamp.type",
        _S,
        "CreateTime",
        "Whose clock.",
        choices=("CreateTime", "LogAppendTime"),
        synonyms=("log.message.timestamp.type",),
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio",
        _D,
        0.5,
        "Dirty share above which a log is compacted.",
        low=0,
        high=1,
        synonyms=("log.cleaner.min.cleanable.ratio",),
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms", _L, 0, "Youngest record compacted.", low=0, synonyms=("log.cleaner.min.compaction.lag.ms",)
    )
    min_insync_replicas: int = setting("min.insync.replicas", _I, 1, "Least ISR for acks=all.", low=1, synonyms=("min.insync.replicas",))
    preallocate: bool = setting("preallocate", _B, False, "Give a new segment its full size at once.", synonyms=("log.preallocate",))
    remote_log_copy_disable: bool = setting("remote.log.copy.disable", _B, False, "For tiered storage, which there is none of.")
    remote_log_delete_on_disable: bool = setting("remote.log.delete.on.disable", _B, False, "For tiered storage, which there is none of.")
    remote_storage_enable: bool = setting("remote.storage.enable", _B, False, "For tiered storage, which there is none of.")
    retention_bytes: int = setting(
        "retention.bytes", _L, -1, "Size above which old segments go.", low=-1, synonyms=("log.retention.bytes",)
    )
    retention_ms: int = setting(
        "retention.ms",
        _L,
        7 * _DAY_MS,
        "Age above which old segments go.",
        low=-1,
        synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    segment_bytes: int = setting(
        "segment.bytes", _I, 1073741824, "Size at which a segment is rolled.", low=14, synonyms=("log.segment.bytes",)
    )
    segment_index_bytes: int = setting(
        "segment.index.bytes", _I, 10485760, "Largest index file.", low=4, synonyms=("log.index.size.max.bytes",)
    )
    segment_jitter_ms: int = setting(
        "segment.jitter.ms", _L, 0, "Most jitter of segment.ms.", low=0, synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours")
    )
    segment_ms: int = setting(
        "segment.ms", _L, 7 * _DAY_MS, "Age at which a segment is rolled.", low=1, synonyms=("log.roll.ms", "log.roll.hours")
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        _B,
        False,
        "Let a replica outside the ISR lead; acknowledged records may be lost.",
        synonyms=("unclean.leader.election.enable",),
    )

    @classmethod
    def from_overrides(cls, broker: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
        """The broker's defaults with a topic's own settings on top; `ConfigError` as from `parse_overrides`."""
        return cls(**{**broker_defaults(broker), **parse_overrides(overrides)})

    def checked(self) -> TopicConfig:
        """This, or `ConfigError` where settings contradict each other."""
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise ConfigError(
                f"min.compaction.lag.ms ({self.min_compaction_lag_ms}) must not exceed max.compaction.lag.ms ({self.max_compaction_lag_ms})"
            )
        if self.remote_storage_enable or self.remote_log_copy_disable or self.remote_log_delete_on_disable:
            raise ConfigError("Tiered storage is not supported: remote.storage.enable and remote.log.… must be false")
        if self.compression_gzip_level == 0:
            raise ConfigError("compression.gzip.level must be -1 or lie between 1 and 9")
        for replicas in (self.leader_replication_throttled_replicas, self.follower_replication_throttled_replicas):
            if replicas != ("*",) and not all(_REPLICA.fullmatch(replica) for replica in replicas):
                raise ConfigError(f"throttled replicas are * or partition:broker,… and not {','.join(replicas)[:100]}")
        if not is_version(self.message_format_version):
            raise ConfigError(f"message.format.version {self.message_format_version!r} is no version of Kafka")
        return self

    @property
    def oldest_ms(self) -> int:
        """How old a record may be."""
        return _first_limit(self.message_timestamp_before_max_ms, self.message_timestamp_difference_max_ms)

    @property
    def newest_ms(self) -> int:
        """How far ahead of now a record may be."""
        return _first_limit(self.message_timestamp_after_max_ms, self.message_timestamp_difference_max_ms)


def _first_limit(value: int, older: int) -> int:
    return older if value == LONG_MAX else value


def broker_defaults(broker: BrokerConfig) -> dict[str, Any]:
    """What a topic without overrides gets, by attribute."""
    values = {key.attribute: getattr(broker, key.synonyms[0].replace(".", "_")) for key in TOPIC_KEYS.values() if key.synonyms}
    hour_ms = 60 * 60 * 1000
    values["retention_ms"] = broker.retention_ms
    if broker.log_roll_ms is None:
        values["segment_ms"] = broker.log_roll_hours * hour_ms
    if broker.log_roll_jitter_ms is None:
        values["segment_jitter_ms"] = broker.log_roll_jitter_hours * hour_ms
    if broker.log_flush_interval_ms is None:
        values["flush_ms"] = broker.log_flush_scheduler_interval_ms
    if broker.compression_type == "none":
        values["compression_type"] = "uncompressed"
    return values


def parse_overrides(overrides: Mapping[str, str]) -> dict[str, Any]:
    """A topic's own settings by attribute; `ConfigError` names the first unknown or wrong one."""
    values = {}
    for name, text in overrides.items():
        if name not in TOPIC_KEYS:
            raise ConfigError(f"Unknown topic config name: {name}")
        values[TOPIC_KEYS[name].attribute] = TOPIC_KEYS[name].parse(text)
    return values


def validate_topic_overrides(overrides: Mapping[str, str]) -> None:
    """Raises `ConfigError` unless every name and value is right, and none contradicts another."""
    TopicConfig(**parse_overrides(overrides)).checked()


TOPIC_KEYS: dict[str, Key] = {f.metadata["key"].name: f.metadata["key"] for f in fields(TopicConfig)}
