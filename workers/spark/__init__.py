"""Analytics on Spark: reads `__cluster_samples` with Spark's own Kafka source. No Django here; a driver is a process of its own."""
