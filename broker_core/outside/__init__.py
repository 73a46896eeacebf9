"""What other programs use of a running broker, beside Kafka's own clients: the state feed, and the times of single records."""
