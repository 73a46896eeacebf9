"""What this broker replicates from others: fetchers, their sessions, and what they do to the log."""
