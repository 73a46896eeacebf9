"""Alerts: which figures a rule may judge, how a rule stands over time, and what is said of it. Pure."""
