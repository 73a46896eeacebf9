"""Quotas of clients: how much of a broker a user, a client id or an address may have, and how long it waits for taking more."""
