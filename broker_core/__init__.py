"""Highwater's broker: Apache Kafka 3.9's protocol and replication in ZooKeeper mode."""
