"""Delayed operations: watched by key, ended by a hierarchical timing wheel."""
