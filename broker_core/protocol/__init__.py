"""Kafka's wire protocol without I/O: headers, the codec, and hand-made encoders for the hot paths."""
