"""What a broker knows of the cluster: live brokers, topics and who leads each partition."""
