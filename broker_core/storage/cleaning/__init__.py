"""Compaction: which log, which part of it, and what stays."""
