"""Brokers, topics and groups, and what joins them: which broker leads or follows what, and who reads it."""
