"""Searches of records, as Redis keeps them between the console, which asks, and the reading process, which answers."""
