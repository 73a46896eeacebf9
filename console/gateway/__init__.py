"""The one way to a cluster: Kafka's protocol through an admin client, our brokers' state feed, ZooKeeper, and local processes."""
