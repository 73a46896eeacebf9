"""Transactions: what brokers tell of them, which of them hang, and how all that is said. Pure."""
