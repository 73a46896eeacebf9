"""Messages that kafka-python has no schema for, in its form, which is Apache Kafka's own."""
