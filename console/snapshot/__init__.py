"""The live snapshot in Redis: its keys, how it is read, and how it is written and announced."""
