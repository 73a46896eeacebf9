"""Transactions as pages, REST and actions read them: asked of the brokers when somebody looks, never in the background."""
