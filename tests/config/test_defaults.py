"""Defaults are those of Apache Kafka 3.9: who knows Kafka need not look them up."""

from __future__ import annotations

import pytest

from broker_core.config import BROKER_KEYS, TOPIC_KEYS, BrokerConfig, TopicConfig

pytestmark = pytest.mark.spec("O1")

LONG_MAX = str(2**63 - 1)

OF_KAFKAS_BROKER = {
    "auto.create.topics.enable": "true",
    "auto.leader.rebalance.enable": "true",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "connections.max.idle.ms": "600000",
    "controlled.shutdown.enable": "true",
    "controlled.shutdown.max.retries": "3",
    "controlled.shutdown.retry.backoff.ms": "5000",
    "controller.quota.window.num": "11",
    "controller.quota.window.size.seconds": "1",
    "controller.socket.timeout.ms": "30000",
    "default.replication.factor": "1",
    "delete.topic.enable": "true",
    "fetch.max.bytes": "57671680",
    "fetch.purgatory.purge.interval.requests": "1000",
    "group.initial.rebalance.delay.ms": "3000",
    "group.max.session.timeout.ms": "1800000",
    "group.max.size": "2147483647",
    "group.min.session.timeout.ms": "6000",
    "leader.imbalance.check.interval.seconds": "300",
    "leader.imbalance.per.broker.percentage": "10",
    "log.cleaner.backoff.ms": "15000",
    "log.cleaner.dedupe.buffer.size": "134217728",
    "log.cleaner.delete.retention.ms": "86400000",
    "log.cleaner.enable": "true",
    "log.cleaner.max.compaction.lag.ms": LONG_MAX,
    "log.cleaner.min.cleanable.ratio": "0.5",
    "log.cleaner.min.compaction.lag.ms": "0",
    "log.cleanup.policy": "delete",
    "log.flush.interval.messages": LONG_MAX,
    "log.flush.offset.checkpoint.interval.ms": "60000",
    "log.flush.scheduler.interval.ms": LONG_MAX,
    "log.flush.start.offset.checkpoint.interval.ms": "60000",
    "log.index.interval.bytes": "4096",
    "log.index.size.max.bytes": "10485760",
    "log.local.retention.bytes": "-2",
    "log.local.retention.ms": "-2",
    "log.message.downconversion.enable": "true",
    "log.message.format.version": "3.0-IV1",
    "log.message.timestamp.after.max.ms": LONG_MAX,
    "log.message.timestamp.before.max.ms": LONG_MAX,
    "log.message.timestamp.difference.max.ms": LONG_MAX,
    "log.message.timestamp.type": "CreateTime",
    "log.preallocate": "false",
    "log.retention.bytes": "-1",
    "log.retention.check.interval.ms": "300000",
    "log.retention.hours": "168",
    "log.roll.hours": "168",
    "log.roll.jitter.hours": "0",
    "log.segment.bytes": "1073741824",
    "log.segment.delete.delay.ms": "60000",
    "max.connection.creation.rate": "2147483647",
    "max.connections.per.ip": "2147483647",
    "max.incremental.fetch.session.cache.slots": "1000",
    "message.max.bytes": "1048588",
    "min.insync.replicas": "1",
    "num.partitions": "1",
    "num.replica.fetchers": "1",
    "offset.metadata.max.bytes": "4096",
    "offsets.commit.timeout.ms": "5000",
    "offsets.load.buffer.size": "5242880",
    "offsets.retention.check.interval.ms": "600000",
    "offsets.retention.minutes": "10080",
    "offsets.topic.num.partitions": "50",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.segment.bytes": "104857600",
    "producer.id.expiration.ms": "86400000",
    "producer.purgatory.purge.interval.requests": "1000",
    "queued.max.requests": "500",
    "quota.window.num": "11",
    "quota.window.size.seconds": "1",
    "replica.fetch.backoff.ms": "1000",
    "replica.fetch.max.bytes": "1048576",
    "replica.fetch.min.bytes": "1",
    "replica.fetch.response.max.bytes": "10485760",
    "replica.fetch.wait.max.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "5000",
    "replica.lag.time.max.ms": "30000",
    "replica.socket.timeout.ms": "30000",
    "reserved.broker.max.id": "1000",
    "socket.request.max.bytes": "104857600",
    "transaction.max.timeout.ms": "900000",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "50",
    "transaction.state.log.replication.factor": "3",
    "unclean.leader.election.enable": "false",
    "zookeeper.session.timeout.ms": "18000",
}
OF_KAFKAS_TOPIC = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": LONG_MAX,
    "flush.ms": LONG_MAX,
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": LONG_MAX,
    "max.message.bytes": "1048588",
    "message.downconversion.enable": "true",
    "message.format.version": "3.0-IV1",
    "message.timestamp.after.max.ms": LONG_MAX,
    "message.timestamp.before.max.ms": LONG_MAX,
    "message.timestamp.difference.max.ms": LONG_MAX,
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


@pytest.mark.parametrize(("name", "text"), OF_KAFKAS_BROKER.items())
def test_a_brokers_default(name: str, text: str) -> None:
    key = BROKER_KEYS[name]
    assert key.show(getattr(BrokerConfig.load({}), key.attribute)) == text


def test_all_settings_of_a_topic_are_kafkas() -> None:
    assert TOPIC_KEYS.keys() == OF_KAFKAS_TOPIC.keys()


@pytest.mark.parametrize(("name", "text"), OF_KAFKAS_TOPIC.items())
def test_a_topics_default(name: str, text: str) -> None:
    """Of a topic without settings on a broker without settings, and what DescribeConfigs calls the default."""
    key = TOPIC_KEYS[name]
    config = TopicConfig.from_overrides(BrokerConfig.load({}), {})
    assert key.show(getattr(config, key.attribute)) == key.show(key.default) == text


@pytest.mark.spec("Z4")
def test_of_our_own_settings_one_makes_a_cluster_act_otherwise_than_kafkas() -> None:
    """Deaths are acted on before sessions end; a broker says so in its registration, and one of Kafka's never does."""
    assert BrokerConfig.load({}).highwater_early_failover_enable is True
