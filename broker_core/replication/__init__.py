"""Replicated partitions: leaders, followers, the in-sync set, the high watermark and what is cut after a change of leader."""
