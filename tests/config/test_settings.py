"""Settings by Kafka's names: read, refused, defaulted, changed while running."""

from __future__ import annotations

import pytest

from broker_core.config import (
    BROKER_KEYS,
    IDLE_KEYS,
    TOPIC_KEYS,
    BrokerConfig,
    ConfigHolder,
    TopicConfig,
    validate_dynamic,
    validate_topic_overrides,
)
from broker_core.errors import ConfigError
from broker_core.model import Endpoint


def test_a_name_gives_an_attribute_and_its_text_the_typed_value() -> None:
    config = BrokerConfig.load({"broker.id": "7", "log.cleanup.policy": "compact,delete", "auto.create.topics.enable": "FALSE"})
    assert (config.broker_id, config.log_cleanup_policy, config.auto_create_topics_enable) == (7, frozenset({"compact", "delete"}), False)


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"log.segment.byte": "1"}, "log.segment.byte"),
        ({"broker.id": "one"}, "broker.id"),
        ({"broker.id": "-1"}, "broker.id"),
        ({"message.max.bytes": str(2**31)}, "message.max.bytes"),
        ({"num.partitions": "9" * 5000}, "num.partitions"),
        ({"num.partitions": "1_000"}, "num.partitions"),
        ({"log.cleaner.min.cleanable.ratio": "0.1_5"}, "log.cleaner.min.cleanable.ratio"),
        ({"log.cleanup.policy": "shred"}, "compact"),
        ({"listeners": "127.0.0.1:9092"}, "listeners"),
        ({"listeners": "SSL://127.0.0.1:9092"}, "SSL"),
        ({"log.dirs": "/a,/b"}, "log.dirs"),
        ({"replica.fetch.wait.max.ms": "40000", "replica.socket.timeout.ms": "40000"}, "replica.lag.time.max.ms"),
        ({"replica.fetch.wait.max.ms": "200", "replica.socket.timeout.ms": "199"}, "replica.socket.timeout.ms"),
        ({"broker.id": "1001"}, "reserved.broker.max.id"),
        ({"log.retention.ms": "0"}, "log.retention.ms"),
        ({"log.retention.minutes": "0"}, "log.retention.ms"),
        ({"log.retention.hours": "0"}, "log.retention.ms"),
        ({"group.min.session.timeout.ms": "10", "group.max.session.timeout.ms": "9"}, "group.max.session.timeout.ms"),
        ({"log.dirs": ""}, "log.dirs"),
        ({"advertised.listeners": "here:9092"}, "advertised.listeners"),
        ({"listeners": "PLAINTEXT://127.0.0.1:65536"}, "listeners"),
        ({"listeners": "PLAINTEXT://:9092"}, "listeners"),
        ({"listeners": "://127.0.0.1:9092"}, "listeners"),
        ({"auto.create.topics.enable": "yes"}, "auto.create.topics.enable"),
        ({"log.cleaner.min.cleanable.ratio": "1.1"}, "log.cleaner.min.cleanable.ratio"),
        ({"min.insync.replicas": "0"}, "min.insync.replicas"),
        ({"num.partitions": "0"}, "num.partitions"),
        ({"log.retention.ms": "-2"}, "log.retention.ms"),
        ({"log.segment.bytes": "13"}, "log.segment.bytes"),
        ({"num.replica.fetchers": "0"}, "num.replica.fetchers"),
        ({"offsets.topic.num.partitions": "0"}, "offsets.topic.num.partitions"),
        ({"replica.lag.time.max.ms": "0"}, "replica.lag.time.max.ms"),
    ],
)
def test_a_wrong_setting_is_refused_and_named(properties: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named.replace(".", r"\.")):
        BrokerConfig.load(properties)


def test_kafkas_settings_without_effect_are_kept_and_nothing_else() -> None:
    """The files that come with Kafka start this broker as well."""
    stock = {
        "broker.id": "0", "num.network.threads": "3", "num.io.threads": "8", "socket.send.buffer.bytes": "102400",
        "socket.receive.buffer.bytes": "102400", "socket.request.max.bytes": "104857600", "log.dirs": "/tmp/kafka-logs",
        "num.partitions": "1", "num.recovery.threads.per.data.dir": "1", "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "log.retention.hours": "168",
        "log.retention.check.interval.ms": "300000", "zookeeper.connect": "localhost:2181", "zookeeper.connection.timeout.ms": "18000",
        "group.initial.rebalance.delay.ms": "0",
    }  # fmt: skip
    idle = ["num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir", "socket.receive.buffer.bytes"]
    assert sorted(BrokerConfig.load(stock).idle) == [*idle, "socket.send.buffer.bytes"]
    assert not IDLE_KEYS.keys() & BROKER_KEYS.keys()
    for refused in ({"log.dir": "/data"}, {"process.roles": "broker"}, {"no.such": "1"}, {"num.io.threads": "many"}):
        with pytest.raises(ConfigError):
            BrokerConfig.load(refused)


@pytest.mark.parametrize(
    "version",
    ["0.8.0", "0.10.0", "0.10.0.0", "0.10.0-IV1", "0.11.0-IV2.9", "1.0", "2.7-IV2", "2.8.1", "3.0-IV1", "3.9", "3.9-IV0", "4.0-IV1"],
)
def test_versions_that_kafka_knows(version: str) -> None:
    validate_topic_overrides({"message.format.version": version})
    assert BrokerConfig.load({"log.message.format.version": version}).log_message_format_version == version


@pytest.mark.parametrize("version", ["", "x", "9.9", "3", "0.10", "0.7.0", "2.8-IV2", "4.0", "3.9-IV1", "2.8.", "..", "-IV1", "0.9.0-IV0"])
def test_versions_that_kafka_does_not_know(version: str) -> None:
    with pytest.raises(ConfigError):
        validate_topic_overrides({"message.format.version": version})
    with pytest.raises(ConfigError):
        BrokerConfig.load({"log.message.format.version": version})


def test_a_wrong_value_is_not_shown_at_full_length() -> None:
    """It goes into logs and into answers to clients."""
    with pytest.raises(ConfigError) as told:
        BrokerConfig.load({"num.partitions": "x" * 5000})
    assert "x" * 100 in str(told.value)
    assert len(str(told.value)) < 200


def test_limits_that_just_hold() -> None:
    text = {"replica.fetch.wait.max.ms": "30000", "log.cleaner.min.cleanable.ratio": "1", "highwater.metrics.port": "65535"}
    config = BrokerConfig.load({**text, "listeners": "PLAINTEXT://127.0.0.1:65535", "group.max.session.timeout.ms": "6000"})
    assert (config.replica_fetch_wait_max_ms, config.highwater_metrics_port) == (30_000, 65_535)


def test_blanks_around_values_and_items_do_not_count() -> None:
    config = BrokerConfig.load({"broker.rack": " eu-1 ", "log.dirs": " /data ", "log.cleanup.policy": " compact , delete,"})
    assert (config.broker_rack, config.log_dirs, config.log_cleanup_policy) == ("eu-1", ("/data",), frozenset({"compact", "delete"}))


def test_listeners_are_endpoints_and_what_is_advertised_may_differ() -> None:
    own = BrokerConfig.load({"listeners": "plaintext://[::1]:9092"})
    assert own.endpoints() == own.advertised_endpoints() == (Endpoint("PLAINTEXT", "::1", 9092),)
    told = BrokerConfig.load({"listeners": "PLAINTEXT://127.0.0.1:9092", "advertised.listeners": "PLAINTEXT://kafka.example:19092"})
    assert told.endpoints() == (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)
    assert told.advertised_endpoints() == (Endpoint("PLAINTEXT", "kafka.example", 19092),)


def test_no_replica_selector_is_written_as_nothing() -> None:
    assert BrokerConfig.load({"replica.selector.class": ""}).replica_selector_class is None


@pytest.mark.spec("R3")
def test_the_old_lag_by_messages_is_refused_with_what_replaced_it() -> None:
    """`replica.lag.max.messages` is gone; the message points to the time-based setting."""
    with pytest.raises(ConfigError, match=r"replica\.lag\.time\.max\.ms"):
        BrokerConfig.load({"replica.lag.max.messages": "4000"})


def test_a_topic_takes_the_brokers_defaults_and_its_own_overrides() -> None:
    broker = BrokerConfig.load({"log.retention.hours": "2", "log.segment.bytes": "1000"})
    config = TopicConfig.from_overrides(broker, {"segment.bytes": "500"})
    assert (config.retention_ms, config.segment_bytes) == (2 * 3600 * 1000, 500)


def test_the_finer_unit_wins() -> None:
    """As in Kafka: ms over minutes over hours."""
    minutes = BrokerConfig.load({"log.retention.hours": "2", "log.retention.minutes": "3"})
    millis = BrokerConfig.load({"log.retention.minutes": "3", "log.retention.ms": "4"})
    assert TopicConfig.from_overrides(minutes, {}).retention_ms == 180_000
    assert TopicConfig.from_overrides(millis, {}).retention_ms == 4


def test_the_finer_unit_wins_for_rolling_too() -> None:
    hours = BrokerConfig.load({"log.roll.hours": "2", "log.roll.jitter.hours": "1"})
    millis = BrokerConfig.load({"log.roll.hours": "2", "log.roll.jitter.hours": "1", "log.roll.ms": "5", "log.roll.jitter.ms": "3"})
    for broker, wanted in ((hours, (7_200_000, 3_600_000)), (millis, (5, 3))):
        config = TopicConfig.from_overrides(broker, {})
        assert (config.segment_ms, config.segment_jitter_ms) == wanted


def test_logs_are_flushed_as_often_as_that_is_checked_where_no_interval_is_set() -> None:
    """As in Kafka: log.flush.interval.ms takes its value from log.flush.scheduler.interval.ms."""
    checked = {"log.flush.scheduler.interval.ms": "1000"}
    assert TopicConfig.from_overrides(BrokerConfig.load(checked), {}).flush_ms == 1000
    assert TopicConfig.from_overrides(BrokerConfig.load(checked | {"log.flush.interval.ms": "7"}), {}).flush_ms == 7


def test_a_brokers_none_is_a_topics_uncompressed() -> None:
    assert TopicConfig.from_overrides(BrokerConfig.load({"compression.type": "none"}), {}).compression_type == "uncompressed"


def test_retention_without_end_stays_without_end() -> None:
    assert TopicConfig.from_overrides(BrokerConfig.load({"log.retention.hours": "-1"}), {}).retention_ms == -1


def test_an_empty_cleanup_policy_keeps_everything() -> None:
    assert TopicConfig.from_overrides(BrokerConfig(), {"cleanup.policy": ""}).cleanup_policy == frozenset()


def test_settings_of_a_topic_may_not_contradict_each_other() -> None:
    validate_topic_overrides({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"})
    with pytest.raises(ConfigError, match=r"max\.compaction\.lag\.ms"):
        validate_topic_overrides({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"})


def test_the_older_limit_of_timestamps_counts_where_the_newer_is_not_set() -> None:
    older = {"message.timestamp.difference.max.ms": "7"}
    config = TopicConfig.from_overrides(BrokerConfig(), {**older, "message.timestamp.after.max.ms": "5"})
    assert (config.oldest_ms, config.newest_ms) == (7, 5)


@pytest.mark.spec("O1")
def test_a_dynamic_change_reaches_topics_and_listeners() -> None:
    """Parameters change while running."""
    holder = ConfigHolder(BrokerConfig())
    told: list[str] = []
    holder.on_topic_change(told.append)
    holder.set_topic("orders", {"retention.ms": "5"})
    holder.set_broker({"min.insync.replicas": "2"})
    assert (holder.topic("orders").retention_ms, holder.topic("orders").min_insync_replicas) == (5, 2)
    assert holder.topic("other").min_insync_replicas == 2
    assert told == ["orders", "orders"]


def test_what_is_taken_back_is_as_it_was() -> None:
    """A change names all overrides that are left: those it does not name are gone."""
    holder = ConfigHolder(BrokerConfig())
    assert holder.topic("orders").min_insync_replicas == 1
    holder.set_topic("orders", {"retention.ms": "5"})
    holder.set_broker({"min.insync.replicas": "2"})
    assert (holder.topic("other").min_insync_replicas, dict(holder.broker_overrides)) == (2, {"min.insync.replicas": "2"})
    holder.set_broker({"message.max.bytes": "100"})
    assert (holder.current.min_insync_replicas, holder.topic("orders").min_insync_replicas) == (1, 1)
    assert (holder.topic("other").min_insync_replicas, holder.topic("other").max_message_bytes) == (1, 100)
    holder.set_topic("orders", {})
    assert (holder.topic("orders").retention_ms, dict(holder.topic_overrides("orders"))) == (604_800_000, {})


def test_a_wrong_change_leaves_everything_as_it_was() -> None:
    holder = ConfigHolder(BrokerConfig())
    holder.set_topic("orders", {"retention.ms": "5"})
    with pytest.raises(ConfigError):
        holder.set_topic("orders", {"retention.ms": "soon"})
    with pytest.raises(ConfigError):
        holder.set_broker({"message.max.bytes": "-5"})
    assert holder.topic("orders").retention_ms == 5
    assert holder.current == BrokerConfig()


def test_what_needs_a_restart_cannot_be_changed_while_running() -> None:
    with pytest.raises(ConfigError, match="restart"):
        validate_dynamic({"zookeeper.connect": "127.0.0.1:1"})
    with pytest.raises(ConfigError, match="restart"):
        ConfigHolder(BrokerConfig()).set_broker({"log.dirs": "/elsewhere"})


def test_a_change_is_checked_before_it_is_written_down() -> None:
    with pytest.raises(ConfigError, match=r"message\.max\.bytes"):
        validate_dynamic({"message.max.bytes": "many"})
    with pytest.raises(ConfigError, match="Unknown"):
        validate_dynamic({"message.max.byte": "1"})


def test_every_setting_says_what_it_is_and_shows_its_default_as_it_would_be_written() -> None:
    for key in [*BROKER_KEYS.values(), *TOPIC_KEYS.values()]:
        assert key.doc.endswith("."), key.name
        text = key.show(key.default)
        if text:
            assert key.show(key.parse(text)) == text, key.name


def test_values_are_shown_as_kafka_writes_them() -> None:
    """What DescribeConfigs answers: tools compare these texts."""
    assert BROKER_KEYS["auto.create.topics.enable"].show(True) == "true"
    assert TOPIC_KEYS["preallocate"].show(False) == "false"
    assert TOPIC_KEYS["cleanup.policy"].show(frozenset({"delete", "compact"})) == "compact,delete"
    assert BROKER_KEYS["listeners"].show(("PLAINTEXT://b:2", "PLAINTEXT://a:1")) == "PLAINTEXT://b:2,PLAINTEXT://a:1"
    assert BROKER_KEYS["broker.rack"].show(None) is None


def test_every_topic_settings_synonyms_are_broker_settings() -> None:
    for key in TOPIC_KEYS.values():
        assert all(name in BROKER_KEYS for name in key.synonyms), key.name
