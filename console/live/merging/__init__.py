"""What brokers and ZooKeeper say, merged into one value a partition, group, topic and broker. Pure."""
