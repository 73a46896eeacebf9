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
    broker_key,
    check_dynamic,
    check_threads,
    keeps_no_password,
    usable,
    validate_topic_overrides,
)
from broker_core.config.departures import OF_BROKERS
from broker_core.config.idle import only_value, why_without_effect
from broker_core.config.key import DOUBLE_MAX
from broker_core.errors import ConfigError
from broker_core.model import Endpoint


def test_a_name_gives_an_attribute_and_its_text_the_typed_value() -> None:
    config = BrokerConfig.load({"broker.id": "7", "log.cleanup.policy": "compact,delete", "auto.create.topics.enable": "FALSE"})
    assert (config.broker_id, config.log_cleanup_policy, config.auto_create_topics_enable) == (7, ("compact", "delete"), False)


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"log.segment.byte": "1"}, "log.segment.byte"),
        ({"broker.id": "one"}, "broker.id"),
        ({"broker.id": "-2"}, "broker.id"),
        ({"broker.id": "-1", "broker.id.generation.enable": "false"}, "broker.id"),
        ({"control.plane.listener.name": "CONTROLLER"}, "control.plane.listener.name"),
        ({"control.plane.listener.name": "PLAINTEXT"}, "control.plane.listener.name"),
        ({"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"}, "inter.broker.listener.name"),
        ({"message.max.bytes": str(2**31)}, "message.max.bytes"),
        ({"num.partitions": "9" * 5000}, "num.partitions"),
        ({"num.partitions": "1_000"}, "num.partitions"),
        ({"log.cleaner.min.cleanable.ratio": "0.1_5"}, "log.cleaner.min.cleanable.ratio"),
        ({"log.cleanup.policy": "shred"}, "compact"),
        ({"listeners": "127.0.0.1:9092"}, "listeners"),
        ({"listeners": "SSL://127.0.0.1:9092"}, "SSL"),
        ({"log.dirs": "/a,/b,/a"}, "log.dirs"),
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
    config = BrokerConfig.load(stock)
    assert config.without_effect == ["num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir"]
    assert (config.socket_send_buffer_bytes, config.socket_receive_buffer_bytes) == (102_400, 102_400)
    assert not IDLE_KEYS.keys() & BROKER_KEYS.keys()
    for refused in ({"no.such": "1"}, {"num.io.threads": "many"}, {"num.io.threads": "0"}, {"listener.name.x.no.such": "1"}):
        with pytest.raises(ConfigError):
            BrokerConfig.load(refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("process.roles", "broker"),
        ("controller.listener.names", "CONTROLLER"),
        ("zookeeper.metadata.migration.enable", "true"),
        ("group.coordinator.rebalance.protocols", "classic,consumer"),
        ("remote.log.storage.system.enable", "true"),
        ("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer"),
        ("create.topic.policy.class.name", "org.example.Policy"),
        ("security.inter.broker.protocol", "SSL"),
        ("zookeeper.ssl.client.enable", "true"),
        ("zookeeper.set.acl", "true"),
    ],
)
def test_who_would_rely_on_what_is_not_there_is_told_at_once(name: str, value: str) -> None:
    only = only_value(name)
    assert only is not None and BrokerConfig.load({name: f" {only} "}).without_effect == [name]
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        BrokerConfig.load({name: value})


def test_a_broker_s_id_has_two_names() -> None:
    """As in Kafka, which describes both."""
    for given in ({"broker.id": "7"}, {"node.id": " 7 "}, {"broker.id": "7", "node.id": "7"}):
        config = BrokerConfig.load(given)
        assert (config.broker_id, config.idle["node.id"].strip(), config.without_effect) == (7, "7", [])
    with pytest.raises(ConfigError, match=r"node\.id"):
        BrokerConfig.load({"broker.id": "7", "node.id": "8"})


def test_the_older_name_of_the_folder_counts_where_the_newer_is_not_given() -> None:
    one, other = BrokerConfig.load({"log.dir": "/old"}), BrokerConfig.load({"log.dir": "/old", "log.dirs": "/new"})
    assert (one.log_dir, one.without_effect) == ("/old", [])
    assert (other.log_dir, other.without_effect) == ("/new", ["log.dir"])


def test_settings_of_one_listener_are_taken_without_effect() -> None:
    name = "listener.name.outside.ssl.keystore.password"
    config = BrokerConfig.load({name: "secret", "listener.name.outside.max.connections": "5"})
    assert config.without_effect == ["listener.name.outside.max.connections", name]
    key = broker_key(name)
    assert key is not None and key.sensitive
    assert broker_key("listener.name.outside.scram-sha-256.sasl.jaas.config") is not None
    with pytest.raises(ConfigError, match="many"):
        BrokerConfig.load({"listener.name.outside.max.connections": "many"})


def test_connections_of_single_addresses() -> None:
    config = BrokerConfig.load({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.1:5, ::1:7"})
    assert config.max_connections_per_ip_overrides == ("10.0.0.1:5", "::1:7")
    for wrong in (
        {"max.connections.per.ip": "0"},
        *({"max.connections.per.ip.overrides": text} for text in ("host:5", "10.0.0.1", "10.0.0.1:x")),
    ):
        with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip"):
            BrokerConfig.load(wrong)


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5"), (20.0, "20.0"), (1.5e7, "1.5E7"), (0.0001, "1.0E-4"), (DOUBLE_MAX, "1.7976931348623157E308")]
)
def test_numbers_are_written_as_java_does(value: float, text: str) -> None:
    assert BROKER_KEYS["log.cleaner.io.max.bytes.per.second"].show(value) == text


def test_every_setting_says_why_it_has_no_effect_or_where_it_differs() -> None:
    for name in IDLE_KEYS:
        assert why_without_effect(name), name
    assert set(OF_BROKERS) <= BROKER_KEYS.keys()


PER_BROKER_ONLY = {"sasl.kerberos.kinit.cmd": "/x"}
FOR_ALL = {"num.network.threads": "4", "listener.name.outside.max.connections": "5"}


def test_what_may_be_set_for_one_broker_and_for_all() -> None:
    check_dynamic(PER_BROKER_ONLY | FOR_ALL)
    check_dynamic(FOR_ALL, per_broker=False)
    for refused, named in (
        (PER_BROKER_ONLY, "broker id must be specified"),
        ({"listener.name.outside.ssl.keystore.location": "/x"}, "broker id must be specified"),
        ({"ssl.keystore.location": "/x"}, "listener prefix"),
        ({"num.partitions": "2"}, "dynamically"),
    ):
        with pytest.raises(ConfigError, match=named):
            check_dynamic(refused, per_broker=False)


def test_passwords_are_kept_nowhere() -> None:
    for name in ("sasl.jaas.config", "listener.name.outside.ssl.key.password"):
        check_dynamic({name: "secret"})
        with pytest.raises(ConfigError, match="ZooKeeper"):
            keeps_no_password([name])
        assert usable({name: "secret"}, per_broker=True)[0] == {}


def test_one_setting_that_cannot_be_taken_keeps_no_other_from_it() -> None:
    """Another kind of broker, or somebody by hand, may have written it into ZooKeeper."""
    kept, left = usable(
        {"message.max.bytes": "5", "listeners": "PLAINTEXT://a:1", "min.insync.replicas": "x", "no.such": "1"}, per_broker=True
    )
    assert kept == {"message.max.bytes": "5"}
    assert left.keys() == {"listeners", "min.insync.replicas", "no.such"}


def test_numbers_of_threads_change_by_half_or_double_at_most() -> None:
    for value in ("4", "8", "16"):
        check_threads({"num.io.threads": "8"}, {"num.io.threads": value})
    for value in ("3", "17"):
        with pytest.raises(ConfigError, match=r"num\.io\.threads"):
            check_threads({"num.io.threads": "8"}, {"num.io.threads": value})


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
    assert (config.broker_rack, config.log_dirs, config.log_cleanup_policy) == ("eu-1", ("/data",), ("compact", "delete"))


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
    assert TopicConfig.from_overrides(BrokerConfig(), {"cleanup.policy": ""}).cleanup_policy == ()


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
    with pytest.raises(ConfigError, match="dynamically"):
        check_dynamic({"zookeeper.connect": "127.0.0.1:1"})
    with pytest.raises(ConfigError, match="dynamically"):
        ConfigHolder(BrokerConfig()).set_broker({"log.dirs": "/elsewhere"})


def test_a_change_is_checked_before_it_is_written_down() -> None:
    with pytest.raises(ConfigError, match=r"message\.max\.bytes"):
        check_dynamic({"message.max.bytes": "many"})
    with pytest.raises(ConfigError, match="Unknown"):
        check_dynamic({"message.max.byte": "1"})


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
    assert TOPIC_KEYS["cleanup.policy"].show(("delete", "compact")) == "delete,compact"
    assert BROKER_KEYS["listeners"].show(("PLAINTEXT://b:2", "PLAINTEXT://a:1")) == "PLAINTEXT://b:2,PLAINTEXT://a:1"
    assert BROKER_KEYS["broker.rack"].show(None) is None


def test_every_topic_settings_synonyms_are_broker_settings() -> None:
    for key in TOPIC_KEYS.values():
        assert all(name in BROKER_KEYS for name in key.synonyms), key.name
