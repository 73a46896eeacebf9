"""Partition logs on disk, byte for byte as Apache Kafka keeps them."""
