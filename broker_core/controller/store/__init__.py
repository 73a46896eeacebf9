"""The controller at the store: its election, its fenced writes, its znodes and their watches."""
