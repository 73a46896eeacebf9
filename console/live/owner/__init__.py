"""The one process that owns a cluster's live state: its lease, its tasks, and what it writes to Redis."""
