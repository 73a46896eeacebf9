"""Fetch requests of followers and consumers: sessions, waiting, reading."""
